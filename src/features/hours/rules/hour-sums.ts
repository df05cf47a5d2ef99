/** What hourly values keep of the readings of an hour or a day (plant section 19). */

import {
  addNumber,
  addSum,
  emptySum,
  numberOf,
  type SeriesSum,
} from "../../../core/query/series-sum.ts";
import type { Reading } from "../../../core/reading.ts";
import { intactMembers, type ReadingTexts, storedUnits } from "../../../core/stored-reading.ts";

export const HOURS_PER_DAY = 24;

export const seriesKey = (value: string, unit: string | null) => `${value}\n${unit ?? ""}`;

/** The sums of one sensor and kind. */
export class HourSums {
  /** Readings counted. */
  readings = 0;
  readonly #series = new Map<string, SeriesSum>();
  /** By the text of the units, then the name. */
  readonly #named = new Map<string, Map<string, SeriesSum>>();

  get series(): Iterable<SeriesSum> {
    return this.#series.values();
  }

  /**
   * A reading whose text is damaged counts, without values: it must not keep the others from being counted. False for
   * such a one.
   */
  add(reading: ReadingTexts): boolean {
    this.readings += 1;
    const members = intactMembers(reading);
    if (members !== null) this.#addValues(reading, members);
    return members !== null;
  }

  #addValues(
    reading: ReadingTexts,
    { values, quality: doubts }: Pick<Reading, "values" | "quality">,
  ): void {
    let named = this.#named.get(reading.units);
    if (named === undefined) {
      named = new Map();
      this.#named.set(reading.units, named);
    }
    for (const [name, value] of Object.entries(values)) {
      const doubt = Object.hasOwn(doubts, name) ? doubts[name]?.quality : null;
      const number = doubt === "bad" ? null : numberOf(name, value);
      if (number === null && doubt !== "bad") continue;
      let sum = named.get(name);
      if (sum === undefined) {
        const unit = storedUnits(reading)[name] ?? null;
        sum = this.of(name, unit);
        named.set(name, sum);
      }
      if (number === null) sum.bad += 1;
      else {
        addNumber(sum, number);
        if (doubt !== null) sum.uncertain += 1;
      }
    }
  }

  merge(other: HourSums): void {
    this.readings += other.readings;
    for (const sum of other.series) addSum(this.of(sum.value, sum.unit), sum);
  }

  of(value: string, unit: string | null): SeriesSum {
    const key = seriesKey(value, unit);
    let sum = this.#series.get(key);
    if (sum === undefined) {
      sum = emptySum(value, unit);
      this.#series.set(key, sum);
    }
    return sum;
  }
}
