/** The alarms as people see and change them, over HTTP, MQTT and the command line. */

import type {
  AlarmCounts,
  AlarmLists,
  BaselineView,
  LimitView,
  ShownAlarm,
  ShownEvent,
} from "../../core/alarm/shown.ts";
import { parsedJson } from "../../core/parsed-json.ts";
import type { Clock } from "../../core/ports.ts";
import type { SiteSource } from "../../core/site-source.ts";
import { DAY_MS } from "../../core/time-units.ts";
import type { AlarmLog } from "./alarm-log.ts";
import type { AlarmEngine } from "./rules/engine.ts";
import { FINDING_ALARM } from "./rules/finding-alarms.ts";
import type { FollowUp } from "./rules/follow-up.ts";
import { currentEvent, type FoundAlarm } from "./rules/found-alarm.ts";
import { sinceMs } from "./rules/since.ts";
import {
  type AlarmActions,
  type AlarmOutcome,
  type AlarmRequest,
  alarmView,
  baselineViews,
  limitViews,
  type StandingAlarm,
} from "./rules/view.ts";

interface AlarmActionsParts {
  readonly engine: AlarmEngine;
  readonly site: SiteSource;
  readonly log: AlarmLog;
  /** For the audit log, whose other entries are of our clock as well. */
  readonly clock: Clock;
  /** The gateway's clock, ms: the readings', by which alarms rise, clear and end their shelves. */
  readonly gatewayNow: () => number;
}

/** The longest shelving, ms: an alarm that should be silent forever is removed from the site file. */
const SHELF_MAX_MS = 31 * DAY_MS;

export class StoredAlarmActions implements AlarmActions {
  readonly #parts: AlarmActionsParts;

  constructor(parts: AlarmActionsParts) {
    this.#parts = parts;
  }

  lists({ limit, before }: { readonly limit: number; readonly before: number | null }): AlarmLists {
    const { engine, log } = this.#parts;
    const active: ShownAlarm[] = [];
    const acknowledged: ShownAlarm[] = [];
    const shelved: ShownAlarm[] = [];
    for (const found of engine.alarms()) {
      const { state } = found;
      const list =
        state.shelved !== null ? shelved : state.acknowledged === null ? active : acknowledged;
      list.push(withHint(shownNow(engine, found), engine.hint(found)));
    }
    const events = limit === 0 ? [] : log.events(before, limit);
    const history = events.flatMap(({ payload }) => parsedJson<ShownEvent>(payload) ?? []);
    const last = events.length < limit ? null : (events.at(-1)?.seq ?? null);
    return { active, acknowledged, shelved, history, before: last };
  }

  get revision(): number {
    return this.#parts.engine.revision;
  }

  changedSince(revision: number): ReadonlySet<string> | null {
    return this.#parts.engine.changedSince(revision);
  }

  marks(codes: ReadonlySet<string> | null): ReadonlyMap<string, string> {
    const marks = new Map<string, string>();
    for (const { code, key, state } of this.#parts.engine.alarms(codes)) {
      const { acknowledged, raised, shelved, since, watch } = state;
      if (raised === null) continue;
      const marked = `${acknowledged !== null}${shelved !== null}${watch.active?.rank}`;
      const own = `${key} ${raised.id} ${marked} ${since && sinceMs(since)}`;
      marks.set(code, `${marks.get(code) ?? ""}${own}/`);
    }
    return marks;
  }

  standing(codes: ReadonlySet<string> | null): readonly StandingAlarm[] {
    const { engine } = this.#parts;
    return [...engine.alarms(codes)].flatMap((found) => {
      const event = currentEvent(found);
      if (event === null) return [];
      const { id, sensor, alarm, value, severity, sinceMs } = event;
      const { acknowledged, raised, shelved } = found.state;
      const text = withWords(engine.newest(found)?.text ?? event.text, engine.hint(found));
      return [
        {
          id: raised?.id ?? id,
          sensor,
          alarm,
          value,
          severity,
          isAcknowledged: acknowledged !== null,
          isShelved: shelved !== null,
          sinceMs,
          text,
        },
      ];
    });
  }

  counts(): AlarmCounts {
    const counts = { alarm: 0, warning: 0, acknowledged: 0, shelved: 0 };
    for (const { state } of this.#parts.engine.alarms()) {
      if (state.shelved !== null) counts.shelved += 1;
      else if (state.acknowledged !== null) counts.acknowledged += 1;
      else counts[state.watch.active?.rank === 2 ? "alarm" : "warning"] += 1;
    }
    return counts;
  }

  limits(sensor: string): readonly LimitView[] {
    return limitViews(this.#parts.engine, sensor);
  }

  baselines(sensor: string | null): readonly BaselineView[] {
    const { engine, site } = this.#parts;
    const codes = sensor === null ? site.current.sensors.map(({ code }) => code) : [sensor];
    return codes.flatMap((code) => baselineViews(engine, code));
  }

  severity(sensor: string, isSelected: (value: string) => boolean): 1 | 3 | 4 | null {
    const { engine } = this.#parts;
    let rank = 0;
    for (const { value, watch } of engine.active(sensor)) {
      if (isSelected(value)) rank = Math.max(rank, watch.active?.rank ?? 0);
    }
    if (rank > 0) return rank === 2 ? 4 : 3;
    return engine.watches(sensor).some(({ value }) => isSelected(value)) ? 1 : null;
  }

  actions(max: number): ReturnType<AlarmLog["actions"]> {
    return this.#parts.log.actions(max);
  }

  async act(request: AlarmRequest): Promise<AlarmOutcome> {
    const { clock, engine, log } = this.#parts;
    const { id, word, by, note, untilMs, source } = request;
    const found = engine.find(id);
    const outcome = await this.#act(request);
    await log.audit({
      timeMs: clock.now(),
      who: by,
      source,
      what: word,
      subject: found === null ? id : `${found.sensor?.code ?? found.code}/${found.key}`,
      detail: JSON.stringify({ id, note, until: untilMs === null ? null : iso(untilMs) }),
      outcome: outcome.ok ? "done" : outcome.detail,
    });
    return outcome;
  }

  async #act(request: AlarmRequest): Promise<AlarmOutcome> {
    const { engine, gatewayNow, log } = this.#parts;
    const { id, word, by, note, untilMs } = request;
    const nowMs = gatewayNow();
    const problem = requestProblem(request, nowMs);
    if (problem !== null) return { ok: false, reason: "invalid", detail: problem };
    let changed: ShownAlarm | null = null;
    let refusal: AlarmOutcome | null = null;
    await log.apply(
      `${word} an alarm`,
      (tx): FollowUp | null => {
        const found = engine.find(id);
        if (found === null) return null;
        const { state } = found;
        refusal = refusalBy(state, request);
        if (refusal !== null) return null;
        if (isRepetition(state, request)) {
          changed = alarmView(found);
          return null;
        }
        const mark = { by, timeMs: nowMs, note };
        const up = engine.change(tx, found, nextOf(word, state, mark, untilMs), word, nowMs, by);
        changed = alarmView(engine.refreshed(found));
        return up;
      },
      true,
    );
    if (refusal !== null) return refusal;
    if (changed !== null) return { ok: true, alarm: changed };
    return { ok: false, reason: "unknown", detail: `${id} is not an active or shelved alarm` };
  }

  async relearn(
    of: { readonly sensor: string; readonly alarm: string; readonly value: string },
    by: string,
    source: AlarmRequest["source"],
  ): Promise<{ readonly ok: boolean; readonly detail: string }> {
    const { clock, engine, gatewayNow, log } = this.#parts;
    const subject = `${of.sensor}/${of.alarm}/${of.value}`;
    const ok = await log.apply(
      "relearn a baseline",
      (tx) => engine.relearn(tx, of.sensor, of.alarm, of.value, gatewayNow()),
      true,
    );
    const learned =
      of.alarm === FINDING_ALARM ? "the normal state of its findings" : "the baseline";
    const detail = ok ? `${learned} is being learned again` : `${subject} has no baseline`;
    const outcome = ok ? "done" : detail;
    const what = "relearn";
    const timeMs = clock.now();
    await log.audit({ timeMs, who: by, source, what, subject, detail: "{}", outcome });
    return { ok, detail };
  }
}

function shownNow(engine: AlarmEngine, found: FoundAlarm): ShownAlarm {
  const newest = engine.newest(found);
  return { ...alarmView(found), ...(newest === null ? {} : { newest }) };
}

/** Its event and topic keep their words. */
function withHint(shown: ShownAlarm, hint: string | null): ShownAlarm {
  if (hint === null) return shown;
  const added = (text: string) => withWords(text, hint);
  const { text, newest } = shown;
  return {
    ...shown,
    ...(text === undefined ? {} : { text: added(text) }),
    ...(newest === undefined ? {} : { newest: { ...newest, text: added(newest.text) } }),
  };
}

const withWords = (text: string, hint: string | null) => (hint === null ? text : `${text} ${hint}`);

/** What is wrong with a request in any state of the alarm; null if nothing is. */
function requestProblem({ word, note, untilMs }: AlarmRequest, nowMs: number): string | null {
  if (word === "shelve") {
    if (untilMs === null) return "minutes or until is missing: a shelf needs an end";
    if (untilMs <= nowMs) return "the end of a shelf must be in the future";
    if (untilMs > nowMs + SHELF_MAX_MS) return "the end of a shelf is more than 31 days ahead";
  }
  return word === "note" && note === null ? "note is missing" : null;
}

type ActiveState = ReturnType<AlarmEngine["active"]>[number];

/** Why the alarm's state does not allow the action; null if it does. */
function refusalBy(state: ActiveState, request: AlarmRequest): AlarmOutcome | null {
  const { acknowledged, raised, shelved } = state;
  const refuse = (reason: "invalid" | "conflict", detail: string): AlarmOutcome => ({
    ok: false,
    reason,
    detail,
  });
  if (request.word === "unshelve" && shelved === null)
    return refuse("invalid", "the alarm is not shelved");
  if (request.word !== "acknowledge") return null;
  if (raised === null) return refuse("invalid", "the alarm is not active");
  if (request.id === shelved?.alarmId && request.id !== raised.id)
    return refuse("invalid", "the alarm has ended and risen again; acknowledge it by its new id");
  if (acknowledged === null || isRepetition(state, request)) return null;
  const { by, timeMs } = acknowledged;
  return refuse(
    "conflict",
    `${by} already acknowledged the alarm at ${iso(timeMs)}; add a note instead`,
  );
}

/** A request that was sent again, because its response was lost or the broker delivered it twice. */
function isRepetition({ acknowledged }: ActiveState, { word, by, note }: AlarmRequest): boolean {
  return word === "acknowledge" && acknowledged?.by === by && acknowledged.note === note;
}

function nextOf(
  word: AlarmRequest["word"],
  { acknowledged, raised, shelved, note }: ActiveState,
  mark: { readonly by: string; readonly timeMs: number; readonly note: string | null },
  untilMs: number | null,
) {
  switch (word) {
    case "acknowledge":
      return { acknowledged: mark, shelved, note };
    case "shelve": {
      const alarmId = raised?.id ?? shelved?.alarmId;
      const of = alarmId === undefined ? {} : { alarmId };
      return { acknowledged, shelved: { ...mark, untilMs: untilMs ?? mark.timeMs, ...of }, note };
    }
    case "unshelve":
      return { acknowledged, shelved: null, note };
    case "note":
      return { acknowledged, shelved, note: mark };
  }
}

const iso = (ms: number) => new Date(ms).toISOString();
