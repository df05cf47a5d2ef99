/** The alarm engine in its place: primed from the store, following what is stored, ticking, and open to people. */
import { AlarmEngine } from "../core/alarm/engine.ts";
import { type AlarmEvent, eventPayload, eventText } from "../core/alarm/event.ts";
import type { FollowedReading, FollowUp } from "../core/alarm/follow-up.ts";
import { currentEvent } from "../core/alarm/found-alarm.ts";
import type { AlarmStore } from "../core/alarm/ports.ts";
import type { AlarmCounts, BaselineView, LimitView } from "../core/alarm/shown.ts";
import { numberOf, type SignalPoint } from "../core/alarm/signal.ts";
import {
  type AlarmDesk,
  type AlarmLists,
  type AlarmOutcome,
  type AlarmRequest,
  type AlarmView,
  alarmView,
  baselineViews,
  limitViews,
} from "../core/alarm/view.ts";
import { FindingEngine, isFindingState } from "../core/diagnosis/engine.ts";
import { DiagnosisFollower } from "../core/diagnosis/follower.ts";
import {
  type FindingDesk,
  type MachineFindings,
  type MachineNow,
  type MachineView,
  machineFindings,
  machineView,
} from "../core/diagnosis/view.ts";
import type { Clock, Logger, SensorState, StoredReading } from "../core/ports.ts";
import type { Value } from "../core/reading.ts";
import { type Kind, readingKinds, type Site } from "../core/sensor.ts";
import type { SiteSource } from "../core/site-source.ts";
import type { Metrics } from "../lib/metrics.ts";

interface Ranges {
  latest(sensor: string, kind: Kind): StoredReading | null;
  range(query: {
    readonly sensor: string;
    readonly kind: Kind;
    readonly fromMs: number;
    readonly toMs: number;
    readonly order: "desc";
  }): Iterable<StoredReading>;
}

export interface AlarmParts {
  readonly site: SiteSource;
  readonly store: AlarmStore;
  readonly history: Ranges;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** The gateway's clock, ms. */
  readonly gatewayNow: () => number;
  readonly sensors: () => readonly SensorState[];
  readonly isGatewayUp: () => boolean;
}

const TICK_MS = 5000;
/** Readings of a signal that a new process looks back on: enough for the interval. */
const PRIMED_READINGS = 16;
/** How far back they are looked for, ms. */
const PRIMED_MS = 2 * 86_400_000;
/** A late reading looks for a signal this far before it, ms; three of its intervals decide. */
const EARLIER_MS = 6 * 3_600_000;
/** The longest shelf, ms: what is to be silent for ever is taken out of the site file. */
const SHELF_MAX_MS = 31 * 86_400_000;

type EventListener = (events: readonly AlarmEvent[]) => void;

export class Alarms implements AlarmDesk, FindingDesk {
  readonly engine: AlarmEngine;
  readonly findings: FindingEngine;
  readonly #parts: AlarmParts;
  readonly #listeners = new Set<EventListener>();
  #hasFailed = false;

  constructor(parts: AlarmParts) {
    this.#parts = parts;
    this.engine = new AlarmEngine(parts.site.current, {
      earlier: (sensor, kind, value, timeMs) => this.#earlier(sensor, kind, value, timeMs),
      onEvents: (events) => this.#announce(events),
    });
    this.findings = new FindingEngine(parts.site.current, {
      speedAt: (machine, timeMs) => this.engine.speedAt(machine, timeMs),
      stateAt: (sensor, timeMs) => this.engine.machineState(sensor, timeMs),
    });
  }

  /** Takes over what the store remembers, and follows it from now on. */
  open(): void {
    const { history, logger, site, store } = this.#parts;
    const saved = store.saved();
    const states = saved.states.filter(({ sensor }) => !isFindingState(sensor));
    const damaged = [
      ...this.engine.load({ ...saved, states }),
      ...this.findings.load(saved.states),
    ];
    if (damaged.length > 0) {
      logger.error(
        { sensors: damaged },
        "alarm states are damaged; alarms that persist will be raised again",
      );
    }
    for (const sensor of site.current.sensors) {
      const { code } = sensor;
      for (const kind of readingKinds(sensor)) {
        const newest = history.latest(code, kind);
        if (newest === null) continue;
        this.engine.prime(code, kind, newest);
        if (kind === "accel") this.findings.prime(code, newest.timeMs);
      }
    }
    this.#primeSignals();
    store.follower = new DiagnosisFollower(this.engine, this.findings, {
      onFindings: (events) => this.#announce(events),
      onFailure: (err, sensor) => {
        if (!this.#hasFailed) logger.error({ err, sensor }, "diagnosis failed");
        this.#hasFailed = true;
      },
    });
    this.#count();
    site.onChange((next) => {
      this.engine.setSite(next);
      this.findings.setSite(next);
      this.#primeSignals();
      void this.#reconcile();
    });
  }

  #announce(events: readonly AlarmEvent[]): void {
    this.#count();
    for (const listener of this.#listeners) listener(events);
  }

  #primeSignals(): void {
    const { history } = this.#parts;
    for (const { sensor, kind } of this.engine.signals) {
      const newest = history.latest(sensor, kind);
      if (newest === null) continue;
      const readings: FollowedReading[] = [];
      const fromMs = newest.timeMs - PRIMED_MS;
      const range = { sensor, kind, fromMs, toMs: newest.timeMs + 1, order: "desc" as const };
      for (const reading of history.range(range)) {
        if (readings.length >= PRIMED_READINGS) break;
        readings.push(followed(reading));
      }
      this.engine.primeSignal(sensor, kind, readings);
    }
  }

  #earlier(sensor: string, kind: Kind, value: string, timeMs: number): SignalPoint | null {
    const range = { sensor, kind, fromMs: timeMs - EARLIER_MS, toMs: timeMs + 1 };
    for (const reading of this.#parts.history.range({ ...range, order: "desc" })) {
      const { values, quality } = followed(reading);
      const isBad = quality[value]?.quality === "bad";
      return { timeMs: reading.timeMs, value: isBad ? null : numberOf(values[value]) };
    }
    return null;
  }

  /** The store began anew with what could be read of a damaged one: what is remembered here is written again. */
  async rewrite(): Promise<void> {
    await this.#quietly("states of alarms", () =>
      this.#parts.store.apply(
        "write the states of alarms again",
        () => {
          const up = this.engine.saved();
          return { ...up, states: [...up.states, ...this.findings.saved()] };
        },
        true,
      ),
    );
  }

  onEvents(listener: EventListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** What time alone brings, until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    await this.#reconcile();
    while (!signal.aborted) {
      await this.tick();
      await clock.sleep(TICK_MS, signal);
    }
  }

  async tick(): Promise<void> {
    const { gatewayNow, isGatewayUp, sensors, store } = this.#parts;
    const now = gatewayNow();
    if (!this.engine.hasNews(now, sensors())) return;
    await this.#quietly("alarms of silent sensors", () =>
      store.apply(
        "publish alarms that time alone changes",
        () => this.engine.tick(now, sensors(), isGatewayUp()),
        false,
      ),
    );
  }

  async #reconcile(): Promise<void> {
    const { gatewayNow, store } = this.#parts;
    await this.#quietly("alarms that are no longer configured", () =>
      store.apply("end alarms", () => this.engine.reconcile(gatewayNow()), true),
    );
    await this.#quietly("findings of sensors that have left", () =>
      store.apply(
        "forget findings",
        () => {
          const states = this.findings.reconcile();
          return states.length === 0 ? null : { events: [], states, samples: [], forgotten: [] };
        },
        false,
      ),
    );
  }

  /** The store's faults heal; the next tick tries again. */
  async #quietly(what: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (err) {
      this.#parts.logger.warn({ err }, `${what} could not be stored yet`);
    }
  }

  #count(): void {
    const counts = { warning: 0, alarm: 0 };
    for (const { state } of this.engine.alarms()) {
      if (state.raised === null || state.shelved !== null) continue;
      counts[state.watch.active?.rank === 2 ? "alarm" : "warning"] += 1;
    }
    const { alarmsActive } = this.#parts.metrics;
    for (const severity of ["warning", "alarm"] as const) {
      alarmsActive.set({ severity }, counts[severity]);
    }
  }

  /** Payloads of the alarms that are active, as their newest events said them. */
  activePayloads(): readonly string[] {
    return payloadsOf(this.engine);
  }

  /** Whether an event, by its payload, is the newest of its alarm. */
  isNewest(payload: string): boolean {
    const event: Told = JSON.parse(payload);
    const active = this.engine
      .active(event.sensor)
      .find(({ alarm, value }) => alarm === event.alarm && value === event.value);
    return active === undefined ? event.state === "cleared" : active.raised?.eventId === event.id;
  }

  /* ---------- machines ---------- */

  readonly #machineNow: MachineNow = (machine) => {
    const now = this.#parts.gatewayNow();
    const [sensor] = this.findings.sensorsOf(machine.id);
    const state = sensor === undefined ? null : this.engine.machineState(sensor.code, now);
    return { state, speedRpm: this.engine.speedAt(machine.id, now) };
  };

  machines(): readonly MachineView[] {
    return this.findings.machines.map((machine) =>
      machineView(this.findings, machine, this.#machineNow),
    );
  }

  findingsOf(id: number): MachineFindings | null {
    const machine = this.findings.machines.find((candidate) => candidate.id === id);
    return machine === undefined ? null : machineFindings(this.findings, machine, this.#machineNow);
  }

  /* ---------- people ---------- */

  lists({ limit, before }: { readonly limit: number; readonly before: number | null }): AlarmLists {
    const active: AlarmView[] = [];
    const acknowledged: AlarmView[] = [];
    const shelved: AlarmView[] = [];
    for (const found of this.engine.alarms()) {
      const view = alarmView(found);
      const { state } = found;
      (state.shelved !== null ? shelved : state.acknowledged === null ? active : acknowledged).push(
        view,
      );
    }
    const events = limit === 0 ? [] : this.#parts.store.events(before, limit);
    const history = events.map(({ payload }): unknown => JSON.parse(payload));
    const last = events.length < limit ? null : (events.at(-1)?.seq ?? null);
    return { active, acknowledged, shelved, history, before: last };
  }

  async act(request: AlarmRequest): Promise<AlarmOutcome> {
    const { clock, store } = this.#parts;
    const { id, word, by, note, untilMs, source } = request;
    const found = this.engine.find(id);
    const outcome = await this.#act(request);
    store.audit({
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

  async #act({ id, word, by, note, untilMs }: AlarmRequest): Promise<AlarmOutcome> {
    const invalid = (detail: string): AlarmOutcome => ({ ok: false, reason: "invalid", detail });
    const nowMs = this.#parts.clock.now();
    if (word === "shelve") {
      if (untilMs === null || untilMs <= nowMs) return invalid("until must be a time to come");
      if (untilMs > nowMs + SHELF_MAX_MS) return invalid("until is more than 31 days ahead");
    }
    if (word === "note" && note === null) return invalid("note is missing");
    let changed: AlarmView | null = null;
    let fault: string | null = null;
    await this.#parts.store.apply(
      `${word} an alarm`,
      (): FollowUp | null => {
        const found = this.engine.find(id);
        if (found === null) return null;
        const { state } = found;
        if (word === "acknowledge" && state.raised === null) fault = "the alarm is not active";
        if (word === "unshelve" && state.shelved === null) fault = "the alarm is not shelved";
        if (fault !== null) return null;
        const said = { by, timeMs: nowMs, note };
        const up = this.engine.change(found, nextOf(word, found.state, said, untilMs), word, nowMs);
        changed = alarmView(this.engine.refreshed(found));
        return up;
      },
      true,
    );
    if (fault !== null) return invalid(fault);
    if (changed !== null) {
      this.#count();
      return { ok: true, alarm: changed };
    }
    return { ok: false, reason: "unknown", detail: `${id} is not an active or shelved alarm` };
  }

  counts(): AlarmCounts {
    const counts = { alarm: 0, warning: 0, acknowledged: 0, shelved: 0 };
    for (const { state } of this.engine.alarms()) {
      if (state.shelved !== null) counts.shelved += 1;
      else if (state.acknowledged !== null) counts.acknowledged += 1;
      else counts[state.watch.active?.rank === 2 ? "alarm" : "warning"] += 1;
    }
    return counts;
  }

  limits(sensor: string): readonly LimitView[] {
    return limitViews(this.engine, sensor);
  }

  baselines(sensor: string | null): readonly BaselineView[] {
    const codes =
      sensor === null ? this.#parts.site.current.sensors.map(({ code }) => code) : [sensor];
    return codes.flatMap((code) => baselineViews(this.engine, code));
  }

  async relearn(
    of: { readonly sensor: string; readonly alarm: string; readonly value: string },
    by: string,
    source: AlarmRequest["source"],
  ): Promise<{ readonly ok: boolean; readonly detail: string }> {
    const { clock, store } = this.#parts;
    const nowMs = clock.now();
    const subject = `${of.sensor}/${of.alarm}/${of.value}`;
    const ok = await store.apply(
      "learn a baseline anew",
      () => this.engine.relearn(of.sensor, of.alarm, of.value, nowMs),
      true,
    );
    const detail = ok ? "the baseline is learned anew" : `${subject} has no baseline`;
    const outcome = ok ? "done" : detail;
    store.audit({
      timeMs: nowMs,
      who: by,
      source,
      what: "relearn",
      subject,
      detail: "{}",
      outcome,
    });
    return { ok, detail };
  }

  actions(max: number): ReturnType<AlarmStore["actions"]> {
    return this.#parts.store.actions(max);
  }

  severity(sensor: string, isMeant: (value: string) => boolean): 1 | 3 | 4 | null {
    let rank = 0;
    for (const { value, watch } of this.engine.active(sensor)) {
      if (isMeant(value)) rank = Math.max(rank, watch.active?.rank ?? 0);
    }
    if (rank > 0) return rank === 2 ? 4 : 3;
    return this.engine.watches(sensor).some(({ value }) => isMeant(value)) ? 1 : null;
  }
}

/** Members of an event's payload. */
interface Told {
  readonly id: string;
  readonly sensor: string;
  readonly alarm: string;
  readonly value: string;
  readonly state: "active" | "cleared";
}

function payloadsOf(engine: AlarmEngine): string[] {
  return [...engine.alarms()].flatMap((found) => {
    const event = currentEvent(found);
    return event === null ? [] : [eventPayload(event.id, engine.site.site, eventText(event))];
  });
}

/** Payloads of the alarms that were active when alarms were last on. */
export function activeBefore(site: Site, store: Pick<AlarmStore, "saved">): readonly string[] {
  const engine = new AlarmEngine(site);
  const states = store.saved().states.filter(({ sensor }) => !isFindingState(sensor));
  engine.load({ states, samples: [] });
  return payloadsOf(engine);
}

function nextOf(
  word: AlarmRequest["word"],
  { acknowledged, shelved, note }: ReturnType<AlarmEngine["active"]>[number],
  said: { readonly by: string; readonly timeMs: number; readonly note: string | null },
  untilMs: number | null,
) {
  switch (word) {
    case "acknowledge":
      return { acknowledged: said, shelved, note };
    case "shelve":
      return { acknowledged, shelved: { ...said, untilMs: untilMs ?? said.timeMs }, note };
    case "unshelve":
      return { acknowledged, shelved: null, note };
    case "note":
      return { acknowledged, shelved, note: said };
  }
}

const iso = (ms: number) => new Date(ms).toISOString();

function followed({ id, timeMs, values, quality }: StoredReading): FollowedReading {
  return {
    id,
    timeMs,
    isFuture: false,
    values: JSON.parse(values) as Readonly<Record<string, Value>>,
    quality: JSON.parse(quality) as FollowedReading["quality"],
  };
}
