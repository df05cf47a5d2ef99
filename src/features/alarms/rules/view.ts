/** Alarms and baselines in the form shown to people and programs. */

import { type AlarmEvent, eventText, shelvedMember } from "../../../core/alarm/event.ts";
import type {
  AlarmAction,
  AlarmActionName,
  AlarmCounts,
  AlarmLists,
  BaselineView,
  LimitView,
  ShownAlarm,
  ShownEvent,
} from "../../../core/alarm/shown.ts";
import { intactJson } from "../../../core/parsed-json.ts";
import { baselineBounds, baselineOf, baselineStatus } from "./baseline.ts";
import type { AlarmEngine } from "./engine.ts";
import { currentEvent, type FoundAlarm, shelfId } from "./found-alarm.ts";

export interface AlarmRequest {
  readonly id: string;
  readonly word: AlarmActionName;
  readonly by: string;
  readonly note: string | null;
  /** shelve: when it ends, ms. */
  readonly untilMs: number | null;
  readonly source: "http" | "mqtt" | "cli";
}

export type AlarmOutcome =
  | { readonly ok: true; readonly alarm: ShownAlarm }
  | {
      readonly ok: false;
      readonly reason: "unknown" | "invalid" | "conflict";
      readonly detail: string;
    };

/** An active alarm as its newest reading says it; events and topics keep the words of their moment. */
export interface StandingAlarm
  extends Pick<AlarmEvent, "id" | "sensor" | "alarm" | "value" | "severity" | "text"> {
  readonly isAcknowledged: boolean;
  readonly isShelved: boolean;
  readonly sinceMs: number;
}

/** What HTTP, the command line and MQTT need of the alarms. */
export interface AlarmActions {
  lists(history: { readonly limit: number; readonly before: number | null }): AlarmLists;
  counts(): AlarmCounts;
  /** Another number after any change of an alarm or of the site file. */
  readonly revision: number;
  /** Normalised codes of the sensors with such a change since a revision; null: any may have one. */
  changedSince(revision: number): ReadonlySet<string> | null;
  /** What stands, without its words: another text after any other change. By normalised code of those with some. */
  marks(codes: ReadonlySet<string> | null): ReadonlyMap<string, string>;
  /** @param codes normalised, of the sensors; null: of all */
  standing(codes: ReadonlySet<string> | null): readonly StandingAlarm[];
  limits(sensor: string): readonly LimitView[];
  /** Never rejects because of an operator's mistake; rejects with StoreFailure. */
  act(request: AlarmRequest): Promise<AlarmOutcome>;
  baselines(sensor: string | null): readonly BaselineView[];
  relearn(
    of: { readonly sensor: string; readonly alarm: string; readonly value: string },
    by: string,
    source: AlarmRequest["source"],
  ): Promise<{ readonly ok: boolean; readonly detail: string }>;
  /** The audit, newest first. */
  actions(max: number): readonly AlarmAction[];
  /** Severities as the query service counts them: 4 alarm, 3 warning, 1 watched and neither, null not watched. */
  severity(sensor: string, isSelected: (value: string) => boolean): 1 | 3 | 4 | null;
}

export function alarmView(found: FoundAlarm): ShownAlarm {
  const { state, sensor, written } = found;
  const event = currentEvent(found);
  const name = sensor?.name === undefined ? {} : { name: sensor.name };
  if (event !== null) {
    const members = intactJson<ShownEvent>(eventText(event));
    const { alarm, value } = event;
    const id = state.raised?.id ?? event.id;
    return {
      shelved: null,
      ...members,
      id,
      sensor: event.sensor,
      alarm,
      value,
      ...name,
      eventId: event.id,
    };
  }
  const { alarm, kind, value, unit, shelved } = state;
  return {
    id: shelfId(found),
    sensor: written,
    ...name,
    kind,
    value,
    alarm,
    state: "normal",
    unit,
    acknowledged: null,
    shelved: shelvedMember(shelved),
  };
}

export function baselineViews(engine: AlarmEngine, sensor: string): BaselineView[] {
  const watches = new Map(engine.watches(sensor).map((watch) => [watch.key, watch]));
  return [...engine.baselines(sensor)].flatMap(([key, state]): BaselineView[] => {
    const of = baselineOf(key);
    const watch = watches.get(of.watch);
    if (watch?.test.type !== "baseline") return [];
    const { high = null, low = null } = baselineBounds(state, watch.test)?.limits ?? {};
    return [
      {
        sensor: watch.sensor,
        alarm: watch.alarm,
        value: watch.value,
        unit: watch.unit,
        machineState: of.machine,
        record: of.shape,
        status: baselineStatus(state),
        learned: state.count,
        wanted: watch.test.readings,
        median: state.first?.median ?? null,
        mad: state.first?.mad ?? null,
        slow: state.slow,
        high,
        low,
      },
    ];
  });
}

export function limitViews(engine: AlarmEngine, sensor: string): LimitView[] {
  return engine.watches(sensor).flatMap(({ alarm, kind, value, unit, test }): LimitView[] => {
    if (test.type === "baseline") return [];
    const { highHigh = null, high = null, low = null, lowLow = null } = test.limits;
    return [{ alarm, kind, value, unit, highHigh, high, low, lowLow }];
  });
}
