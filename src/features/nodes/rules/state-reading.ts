/** A node's state as a reading of kind `node`, and which states become one (plant section 14). */
import { createHash } from "node:crypto";
import type { Reading } from "../../../core/reading.ts";
import { canonicalJson } from "../../../core/record/identity.ts";
import type { Timestamp } from "../../../core/record.ts";
import { normalCode } from "../../../core/sensor.ts";
import { DAY_MS } from "../../../core/time-units.ts";
import { offsetText } from "../../../pipeline/convert/to-reading.ts";
import type { StateSample } from "./state-sample.ts";

/** An unchanged state gives one reading per this time. */
export const UNCHANGED_MS = DAY_MS;
/** A time farther in the future than this is not trusted (services section 3.2). */
const FUTURE_MS = DAY_MS;
/** How long readings are remembered, and how many: records of today and yesterday are compared with them. */
export const REMEMBERED_MS = 3 * DAY_MS;
const REMEMBERED_MAX = 4_096;
const ID_HEX_DIGITS = 32;

export type StateContent = Pick<StateSample, "values" | "units" | "quality">;

/** Equal for states with the same content. */
export function contentOf({ values, units, quality }: StateContent): string {
  return canonicalJson({ values, units, quality });
}

/**
 * @param gatewayNowMs the gateway's clock, otherwise ours, ms
 * @param others the last result of the sensor's other reads: not part of the identity, which is that of the sample
 */
export function stateReading(
  sensor: string,
  sample: StateSample,
  time: Timestamp,
  gatewayNowMs: number,
  others: readonly StateContent[] = [],
): Reading {
  const isFuture = time.ms > gatewayNowMs + FUTURE_MS;
  const offset = offsetText(time.offsetMinutes);
  const all = [...others, sample];
  return {
    id: stateId(sensor, time.ms, contentOf(sample)),
    sensor,
    kind: "node",
    timeMs: time.ms,
    offsetMinutes: time.offsetMinutes,
    values: Object.assign({}, ...all.map(({ values }) => values)),
    units: Object.assign({}, ...all.map(({ units }) => units)),
    quality: Object.assign({}, ...all.map(({ quality }) => quality)),
    attributes: {
      time_source: sample.time === null ? "answer" : "time_data",
      ...(offset === null ? {} : { utc_offset: offset }),
      ...(isFuture ? { flags: ["time_in_future"] } : {}),
    },
    raw: sample.raw,
    waveform: null,
  };
}

function stateId(sensor: string, timeMs: number, content: string): string {
  const text = `${JSON.stringify(normalCode(sensor))} node ${timeMs}\n${content}\n`;
  return createHash("sha256").update(text).digest("hex").slice(0, ID_HEX_DIGITS);
}

interface Remembered {
  readonly timeMs: number;
  readonly content: string;
}

/** The newest readings of one state read, by time: a new state is compared with them. */
export class StateSeries {
  #readings: Remembered[] = [];

  get newestMs(): number | null {
    return this.#readings.at(-1)?.timeMs ?? null;
  }

  copy(): StateSeries {
    const copy = new StateSeries();
    copy.#readings = [...this.#readings];
    return copy;
  }

  /** The known state at an instant; null before the first. */
  #before(timeMs: number): Remembered | null {
    // Every poll looks this up for every record of the day.
    let [low, high] = [0, this.#readings.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#readings[middle]?.timeMs ?? 0) <= timeMs) low = middle + 1;
      else high = middle;
    }
    return this.#readings[low - 1] ?? null;
  }

  /** True for a state that differs from the previous reading, or is at least a day newer. */
  isNews(timeMs: number, content: string): boolean {
    const before = this.#before(timeMs);
    if (before === null || before.content !== content) return true;
    return timeMs - before.timeMs >= UNCHANGED_MS;
  }

  add(timeMs: number, content: string): void {
    const at = this.#readings.findLastIndex((reading) => reading.timeMs <= timeMs) + 1;
    const same = this.#readings.some((one) => one.timeMs === timeMs && one.content === content);
    if (!same) this.#readings.splice(at, 0, { timeMs, content });
    const newestMs = this.#readings.at(-1)?.timeMs ?? timeMs;
    while (
      this.#readings.length > 1 &&
      (this.#readings.length > REMEMBERED_MAX ||
        (this.#readings[0]?.timeMs ?? newestMs) < newestMs - REMEMBERED_MS)
    )
      this.#readings.shift();
  }
}

/**
 * The time of a state whose response has none: the time of the response, rounded down to the poll interval. If the
 * sensor already has a reading in that interval, the exact second of the response, because it comes later.
 */
export function answerTimeMs(nowMs: number, stepMs: number, newestMs: number | null): number {
  const step = Math.floor(nowMs / stepMs) * stepMs;
  if (newestMs === null || step > newestMs) return step;
  return Math.max(Math.floor(nowMs / 1000) * 1000, newestMs + 1);
}

/** The members of a state that have these names. */
export function partOf(content: StateContent, names: ReadonlySet<string>): StateContent {
  const part = <T>(members: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(Object.entries(members).filter(([name]) => names.has(name)));
  return {
    values: part(content.values),
    units: part(content.units),
    quality: part(content.quality),
  };
}
