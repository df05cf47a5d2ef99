/**
 * The stored form of an hour's or a day's sums: readings, lost, then for each series in ascending order
 *
 *   number − previous number, flags, [count], [uncertain], [bad], numbers
 *
 * as variable-length integers of 7 bits; numbers are little-endian floats: min, mean, max, or one where all are equal, of
 * four bytes where that loses nothing. A reader that wants one series skips the others by their flags.
 */

import { emptySum, type SeriesSum } from "../../core/query/series-sum.ts";
import { HourSums } from "./rules/hour-sums.ts";

/** One value in one unit. */
export interface Series {
  readonly value: string;
  readonly unit: string | null;
}

/** Sums of what was counted, and how many of these readings the store no longer knows. */
export interface CountedSums {
  readonly sums: HourSums;
  /**
   * Readings that were counted, and whose identities a damaged store lost: as many that arrive are taken for them, and
   * not counted again.
   */
  lost: number;
}

const HAS_UNCERTAIN = 1;
const HAS_BAD = 2;
/** Its count is that of the readings. */
const IS_IN_ALL = 4;
const HAS_NUMBERS = 8;
const ARE_EQUAL = 16;
const ARE_SINGLE = 32;

/** One number on its way into a body. */
const FLOAT = new DataView(new ArrayBuffer(8));

/** @param numberOf the number of a series */
export function encodeSums(
  { sums, lost }: CountedSums,
  numberOf: (series: Series) => number,
): Buffer {
  const bytes: number[] = [];
  pushInteger(bytes, sums.readings);
  pushInteger(bytes, lost);
  const ordered = [...sums.series]
    .map((sum) => ({ sum, number: numberOf(sum) }))
    .sort((a, b) => a.number - b.number);
  let previous = 0;
  for (const { sum, number } of ordered) {
    pushInteger(bytes, number - previous);
    previous = number;
    pushSum(bytes, sum, sums.readings);
  }
  return Buffer.from(bytes);
}

function pushSum(bytes: number[], sum: SeriesSum, readings: number): void {
  const { count, uncertain, bad } = sum;
  const areEqual = sum.min === sum.max && sum.min === sum.mean;
  const numbers = count === 0 ? [] : areEqual ? [sum.min] : [sum.min, sum.mean, sum.max];
  const areSingle = numbers.every((number) => Math.fround(number) === number);
  bytes.push(
    (uncertain > 0 ? HAS_UNCERTAIN : 0) |
      (bad > 0 ? HAS_BAD : 0) |
      (count === readings ? IS_IN_ALL : 0) |
      (count > 0 ? HAS_NUMBERS : 0) |
      (areEqual ? ARE_EQUAL : 0) |
      (areSingle ? ARE_SINGLE : 0),
  );
  if (count !== readings) pushInteger(bytes, count);
  if (uncertain > 0) pushInteger(bytes, uncertain);
  if (bad > 0) pushInteger(bytes, bad);
  for (const number of numbers) {
    if (areSingle) FLOAT.setFloat32(0, number, true);
    else FLOAT.setFloat64(0, number, true);
    for (let at = 0; at < (areSingle ? 4 : 8); at += 1) bytes.push(FLOAT.getUint8(at));
  }
}

function pushInteger(bytes: number[], integer: number): void {
  let rest = integer;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  bytes.push(rest);
}

/** Null for damaged bytes. @param series by number; those that it lacks are left out */
export function decodeSums(body: Buffer, series: ReadonlyMap<number, Series>): CountedSums | null {
  try {
    const reader = new BodyReader(body);
    const sums = new HourSums();
    sums.readings = reader.integer();
    const lost = reader.integer();
    for (let number = 0; !reader.isAtEnd; ) {
      number += reader.integer();
      const found = series.get(number);
      reader.sum(found === undefined ? null : sums.of(found.value, found.unit), sums.readings);
    }
    return { sums, lost };
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Its first two numbers; null for damaged bytes. */
export function countsOf(
  body: Buffer,
): { readonly readings: number; readonly lost: number; readonly end: number } | null {
  try {
    const reader = new BodyReader(body);
    return { readings: reader.integer(), lost: reader.integer(), end: reader.at };
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** The same body with another number of lost readings. */
export function withLost(body: Buffer, lost: number): Buffer {
  const counts = countsOf(body);
  if (counts === null) return body;
  const head: number[] = [];
  pushInteger(head, counts.readings);
  pushInteger(head, lost);
  return Buffer.concat([Buffer.from(head), body.subarray(counts.end)]);
}

class BodyReader {
  readonly #body: Buffer;
  #at = 0;

  constructor(body: Buffer) {
    this.#body = body;
  }

  get at(): number {
    return this.#at;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#body.length;
  }

  integer(): number {
    let [integer, scale] = [0, 1];
    for (;;) {
      const byte = this.#body.readUInt8(this.#at);
      this.#at += 1;
      integer += (byte & 127) * scale;
      if (byte < 128) return integer;
      scale *= 128;
    }
  }

  /** @param into null: it is skipped */
  sum(into: SeriesSum | null, readings: number): void {
    const flags = this.integer();
    const sum = into ?? emptySum("", null);
    sum.count = flags & IS_IN_ALL ? readings : this.integer();
    sum.uncertain = flags & HAS_UNCERTAIN ? this.integer() : 0;
    sum.bad = flags & HAS_BAD ? this.integer() : 0;
    if ((flags & HAS_NUMBERS) === 0) return;
    const isSingle = (flags & ARE_SINGLE) !== 0;
    if (into === null) {
      this.#at += (flags & ARE_EQUAL ? 1 : 3) * (isSingle ? 4 : 8);
      return;
    }
    sum.min = this.#float(isSingle);
    sum.mean = flags & ARE_EQUAL ? sum.min : this.#float(isSingle);
    sum.max = flags & ARE_EQUAL ? sum.min : this.#float(isSingle);
  }

  #float(isSingle: boolean): number {
    const at = this.#at;
    this.#at += isSingle ? 4 : 8;
    return isSingle ? this.#body.readFloatLE(at) : this.#body.readDoubleLE(at);
  }
}
