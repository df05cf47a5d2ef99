/** How an unexplained line goes through the engine of findings: a step of each reading, its alarm, a change of sensor. */
import { type AlarmEvent, takenOverId } from "../../../core/alarm/event.ts";
import { type Judgement, UNEXPLAINED } from "../../../core/diagnosis/finding.ts";
import type { Machine } from "../../../core/machine.ts";
import type { Sensor } from "../../../core/sensor.ts";
import { shaftAt } from "../../../core/shaft.ts";
import { FINDING_ALARM } from "../../alarms/api.ts";
import { possibleAlarms } from "./possible.ts";
import type { SensorFindings } from "./sensor-findings.ts";
import type { StandingLine } from "./unexplained.ts";
import { followUnexplained, isTold, NONE_UNEXPLAINED } from "./unexplained-state.ts";
import { cannotExplain, unexplainedEvent, unexplainedHint } from "./unexplained-text.ts";
import type { Watched } from "./watched.ts";

/** Lines of the findings that stand on sensors of a machine. */
export function standingLines(
  machine: Machine,
  sensors: readonly Sensor[],
  of: (code: string) => SensorFindings,
): StandingLine[] {
  return sensors.flatMap(({ code, location }) => {
    const shaft = shaftAt(machine, location);
    return [...of(code).states.values()].flatMap(({ finding, stands, last }) =>
      stands === null
        ? []
        : last.verdict.lines
            .flatMap((line) => [line, ...line.sideBands])
            .map(({ hz, order }) => ({ shaft, isOfMains: finding === "electrical", hz, order })),
    );
  });
}

/** @param after the reading, with what its findings say */
export function withUnexplained(
  after: SensorFindings,
  { unexplained }: Judgement,
  { lines: context, sensor }: Watched,
  reading: { readonly id: string; readonly timeMs: number },
  newId: () => string,
): { readonly next: SensorFindings; readonly events: readonly AlarmEvent[] } {
  if (!unexplained || after.seen === null) return { next: after, events: [] };
  const { id, timeMs } = reading;
  const before = after.unexplained ?? NONE_UNEXPLAINED;
  const mayRaise = possibleAlarms(context.machine, sensor).includes(UNEXPLAINED);
  const { next: state, changes } = followUnexplained(before, reading, unexplained, mayRaise, newId);
  const own = (state.recent[0] ?? []).filter(
    (line) => line.readingId === id && isTold(state, line),
  );
  const cannot = own.map((line) => cannotExplain(line, state, context));
  const seen = { ...after.seen, cannot: [...after.seen.cannot, ...cannot] };
  return {
    next: { ...after, unexplained: state, seen },
    events: changes.map((change) => unexplainedEvent(change, state, context, id, timeMs)),
  };
}

/** The standing alarm by its newest reading; null while there is none. */
export function standingUnexplained(
  { unexplained }: SensorFindings,
  { lines: context }: Watched,
): AlarmEvent | null {
  const alarm = unexplained?.stands ?? null;
  if (unexplained === undefined || alarm === null) return null;
  const { readingId, timeMs } = alarm.line;
  const change = { change: "stands", alarm } as const;
  return unexplainedEvent(change, unexplained, context, readingId, timeMs);
}

/** What the last judged reading adds to a zone alarm of a channel; null: nothing. */
export function hintOf(
  { unexplained }: SensorFindings,
  { lines: context }: Watched,
  channel: number,
): string | null {
  const line = unexplained?.recent[0]?.find((one) => one.channel === channel);
  if (unexplained === undefined || line === undefined || !isTold(unexplained, line)) return null;
  return unexplainedHint(line, unexplained, context);
}

/** The lines of a former sensor go on under the one in its place, unless that has an alarm of its own. */
export function takenOver(
  own: SensorFindings,
  former: SensorFindings,
  { lines: { machine, sensor } }: Watched,
  formerCode: string,
): Pick<SensorFindings, "unexplained"> {
  if (!possibleAlarms(machine, sensor).includes(UNEXPLAINED)) return {};
  const state = own.unexplained?.stands ? own.unexplained : former.unexplained;
  if (state === undefined) return {};
  const { stands } = state;
  if (stands === null || state === own.unexplained) return { unexplained: state };
  const of = { alarm: FINDING_ALARM, value: UNEXPLAINED };
  const id = takenOverId(of, sensor.code, formerCode, stands.raisedMs);
  return { unexplained: { ...state, stands: { ...stands, id } } };
}
