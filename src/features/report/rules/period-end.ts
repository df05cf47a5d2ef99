/** The state of a machine at the end of a period that is over, by the events of its alarms. */
import type { ShownAlarm, ShownEvent } from "../../../core/alarm/shown.ts";

export interface StateThen {
  readonly condition: "alarm" | "warning" | "no alarm";
  readonly reason: string;
  /** The alarm that is the reason; null if none is. */
  readonly worst: ShownAlarm | null;
  readonly sinceMs: number | null;
}

const sinceOf = ({ since, raised, time }: ShownAlarm) => Date.parse(since ?? raised ?? time ?? "");

/**
 * @param events in any order
 * @param open alarms that stand now: one raised before the end stood then, also where its events are not among those given
 */
export function stateThen(
  events: readonly ShownEvent[],
  open: readonly ShownAlarm[],
  toMs: number,
): StateThen {
  const standing = standingThen(events, open, toMs).sort(
    (a, b) =>
      Number(b.severity === "alarm") - Number(a.severity === "alarm") || sinceOf(a) - sinceOf(b),
  );
  const [worst] = standing;
  if (worst === undefined)
    return { condition: "no alarm", reason: "No alarm stood.", worst: null, sinceMs: null };
  const more = standing.length === 1 ? "" : ` (and ${standing.length - 1} more)`;
  return {
    condition: worst.severity ?? "warning",
    reason: `${worst.text ?? worst.alarm}${more}`,
    worst,
    sinceMs: sinceOf(worst),
  };
}

function standingThen(
  events: readonly ShownEvent[],
  open: readonly ShownAlarm[],
  toMs: number,
): ShownAlarm[] {
  const before = new Map<string, ShownEvent>();
  const after = new Map<string, ShownAlarm>();
  for (const event of events) {
    const timeMs = Date.parse(event.time);
    const known = before.get(event.id);
    if (timeMs >= toMs) after.set(event.id, event);
    else if (known === undefined || timeMs >= Date.parse(known.time)) before.set(event.id, event);
  }
  for (const alarm of open) if (alarm.state === "active") after.set(alarm.id, alarm);
  // What ended, or stands, later was there already if it was raised before.
  const unseen = [...after.values()].filter(
    ({ id, raised }) => !before.has(id) && raised !== undefined && Date.parse(raised) < toMs,
  );
  return [...[...before.values()].filter(({ state }) => state === "active"), ...unseen];
}
