/** What changed on a machine, as a sentence: its worst value now against that of a month ago (plant section 20). */

import type { Change } from "../../../core/condition/words.ts";
import type { Sensor } from "../../../core/sensor.ts";
import { DAY_MS } from "../../../core/time-units.ts";
import { amount, valueLabel } from "../../alarms/api.ts";

interface ChangeInput {
  readonly sensor: Sensor;
  readonly value: string;
  readonly unit: string | null;
  readonly now: number | null;
  /** Median of the seven days around the thirtieth before today. */
  readonly month: number | null;
  /** Of the newest pinned measurement. */
  readonly pin: { readonly timeMs: number; readonly number: number } | null;
  readonly baseline: number | null;
  /** First day that counts, since 1970-01-01 UTC; null without any. */
  readonly firstDay: number | null;
}

/** Days before today around which the seven days lie, and how far they reach to both sides. */
export const MONTH_BACK = 30;
export const MONTH_REACH = 3;

export function changeOf(input: ChangeInput): Change {
  const { sensor, value, unit, now, month, pin, baseline, firstDay } = input;
  const of = (number: number | null) => amount(number === null ? null : rounded(number), unit);
  const [before, against, words]: [number | null, Change["against"], string] =
    month !== null
      ? [month, "month", `${of(month)} a month ago`]
      : pin !== null
        ? [
            pin.number,
            "pin",
            `${of(pin.number)} in the pinned measurement of ${dayText(pin.timeMs)}`,
          ]
        : baseline !== null
          ? [baseline, "baseline", `${of(baseline)} is usual (its baseline)`]
          : [null, null, nothingWords(firstDay)];
  const shown = now === null ? "none of the running machine" : of(now);
  const text = `${valueLabel(sensor, value)}: ${shown} in the last day, ${words}.`;
  return { sensor: sensor.code, value, unit, now, before, against, text };
}

/** Once the first day lies that far back, it is one of the seven. */
function nothingWords(firstDay: number | null): string {
  if (firstDay === null) return "nothing to compare with yet";
  const day = firstDay + MONTH_BACK - MONTH_REACH;
  return `nothing to compare with before ${dayText(day * DAY_MS)}`;
}

const rounded = (number: number) => Number(number.toPrecision(3));

const DAY_WORDS = new Intl.DateTimeFormat("en-GB", {
  timeZone: "UTC",
  day: "numeric",
  month: "short",
});
const dayText = (ms: number) => DAY_WORDS.format(ms);

/** Zone of a day, from the medians of the running machine. */
export interface ZoneDay {
  /** Since 1970-01-01 UTC. */
  readonly day: number;
  readonly zone: string;
}

/** The newest zone, from the day on from which it holds without a break, and the one before. */
export interface ZoneChange extends ZoneDay {
  readonly before: string;
}

/** @param days ascending @returns null where it never was another one */
export function zoneChange(days: readonly ZoneDay[]): ZoneChange | null {
  const newest = days.at(-1)?.zone;
  const at = days.findLastIndex(({ zone }) => zone !== newest);
  const [other, first] = [days[at], days[at + 1]];
  return other === undefined || first === undefined ? null : { ...first, before: other.zone };
}
