/** What the trial of a changed configuration asks of the reads: whether records are found, soon after the change. */
import type { StreamFound } from "../../core/ports.ts";
import { addDays, dayOf } from "../../core/time/time-zone.ts";
import { type PolledStream, PRIORITY, type Task } from "./task.ts";

/** Days whose records count in a trial: just after midnight today is empty. */
export function countsInTrial(day: string, gatewayNowMs: number, zone: string): boolean {
  return day >= addDays(dayOf(gatewayNowMs, zone), -1);
}

export function streamsFound(
  streams: readonly PolledStream[],
  gatewayNowMs: number,
  zone: string,
): StreamFound[] {
  return streams.map(({ sensor, kind, cadence: { newestMs }, failure, foundAt }) => ({
    sensor: sensor.code,
    kind,
    hadRecords:
      newestMs !== null &&
      failure === null &&
      countsInTrial(dayOf(newestMs, zone), gatewayNowMs, zone),
    foundAt,
  }));
}

/** The days to read now for a stream whose records are awaited: today, and the day before while today has none. */
export function awaitedDays(stream: PolledStream, gatewayNowMs: number, zone: string): Task[] {
  const tasks = [...stream.days.values()].filter(
    ({ day, isRunning }) => !isRunning && countsInTrial(day, gatewayNowMs, zone),
  );
  const today = tasks.filter(({ priority }) => priority === PRIORITY.today);
  return today.some(({ hasRecords }) => hasRecords) ? today : tasks;
}
