import { createHash } from "node:crypto";
import { canonicalJson } from "../../core/record/identity.ts";
import type { ChannelSamples, JsonValue } from "../../core/record.ts";
import { isSpace, type JsonText } from "./json-text.ts";
import { BoundExceeded, ODD_SAMPLES_MAX } from "./record-bounds.ts";
import { Oddities, readNumber } from "./scalars.ts";

const MINUS = 0x2d;
const ZERO = 0x30;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const QUOTE = 0x22;
const DIGEST_HEX_DIGITS = 32;
/** Samples. */
const SCRATCH_MIN = 4_096;

/** Reads channel arrays from text directly into 16-bit integers. Keeps one scratch array, so use one per response. */
export class SampleReader {
  readonly #samplesMax: number;
  /** Allocated with the first channel: most reads of a day find nothing new. */
  #scratch = new Int16Array(0);
  /** Index after the array that was read last. */
  #end = 0;

  constructor(samplesMax: number) {
    this.#samplesMax = samplesMax;
  }

  /**
   * The channel whose value starts at text.at; advances past it. Throws SyntaxError if the text is not JSON,
   * BoundExceeded if it has more samples than a channel may.
   */
  read(bytes: Buffer, end: number, text: JsonText): ChannelSamples {
    if (bytes[text.at] === OPEN_ARRAY) {
      const count = this.#readPlain(bytes, text.at + 1, end);
      if (count >= 0) {
        text.at = this.#end;
        return { state: "ok", samples: this.#scratch.slice(0, count) };
      }
    }
    const numbers = this.#readNumbers(bytes, text.at, end);
    if (numbers !== null) {
      text.at = this.#end;
      return this.#readAny(numbers);
    }
    const value = text.value(1);
    return value === null ? { state: "absent" } : this.#readAny(value);
  }

  #readPlain(bytes: Buffer, from: number, end: number): number {
    const close = bytes.indexOf(CLOSE_ARRAY, from);
    if (close < 0 || close >= end) return -1;
    // Every sample but the first takes at least two bytes; those beyond the limit are counted and not kept.
    const capacity = Math.min(((close - from) >> 1) + 1, this.#samplesMax);
    if (this.#scratch.length < capacity)
      this.#scratch = new Int16Array(Math.max(capacity, SCRATCH_MIN));
    const count = readIntegers(bytes, from, close, this.#scratch);
    this.#end = close + 1;
    if (count > this.#samplesMax) throw tooManySamples(this.#samplesMax);
    return count;
  }

  /**
   * A flat array of JSON numbers, parsed by the engine: value by value a long one would block the loop. Null for any
   * other.
   */
  #readNumbers(bytes: Buffer, from: number, end: number): number[] | null {
    if (bytes[from] !== OPEN_ARRAY) return null;
    const close = bytes.indexOf(CLOSE_ARRAY, from);
    if (close < 0 || close >= end) return null;
    let commas = 0;
    for (let at = from + 1; at < close; at += 1) {
      const byte = bytes[at];
      if (byte === COMMA) commas += 1;
      else if (byte === QUOTE || byte === OPEN_ARRAY || byte === OPEN_OBJECT) return null;
    }
    const oddMax = Math.min(this.#samplesMax, ODD_SAMPLES_MAX);
    if (commas >= oddMax) throw tooManySamples(oddMax);
    let values: unknown;
    try {
      values = JSON.parse(bytes.toString("latin1", from, close + 1));
    } catch {
      return null; // Bare NaN and the like: for the tolerant reader.
    }
    if (!Array.isArray(values) || !values.every((value) => typeof value === "number")) return null;
    this.#end = close + 1;
    return values;
  }

  #readAny(value: JsonValue): ChannelSamples {
    if (!Array.isArray(value)) return damaged("not_an_array", value);
    if (value.length > this.#samplesMax) throw tooManySamples(this.#samplesMax);
    const oddities = new Oddities();
    const samples = new Int16Array(value.length);
    for (let index = 0; index < value.length; index += 1) {
      const sample = readNumber(value[index], oddities);
      if (sample === undefined || !Number.isInteger(sample)) {
        return damaged("sample_not_integer", value);
      }
      if (sample < -32_768 || sample > 32_767) return damaged("sample_out_of_range", value);
      samples[index] = sample;
    }
    return { state: "ok", samples };
  }
}

/**
 * The fast path: only integers that fit, commas and spaces, up to the `]` at `close`. Returns how many, or -1 to leave
 * it to the slow path, which reads everything that this one rejects and names the fault. The digits are unrolled,
 * because a loop over them costs a third more. No index is checked: a byte is read only after one that is not `]`.
 */
function readIntegers(bytes: Buffer, from: number, close: number, out: Int16Array): number {
  let count = 0;
  let at = skipSpace(bytes, from);
  if (at === close) return 0;
  for (;;) {
    let byte = bytes[at]!;
    // Two's complement: all bits of a negative sample are inverted, and one is added.
    let sign = 0;
    if (byte === MINUS) {
      sign = -1;
      byte = bytes[++at]!;
    }
    let value = byte - ZERO;
    if (value < 0 || value > 9) return -1;
    let digit = bytes[++at]! - ZERO;
    if (digit >= 0 && digit <= 9) {
      if (value === 0) return -1;
      value = value * 10 + digit;
      digit = bytes[++at]! - ZERO;
      if (digit >= 0 && digit <= 9) {
        value = value * 10 + digit;
        digit = bytes[++at]! - ZERO;
        if (digit >= 0 && digit <= 9) {
          value = value * 10 + digit;
          digit = bytes[++at]! - ZERO;
          if (digit >= 0 && digit <= 9) {
            value = value * 10 + digit;
            if (value > 32_767 - sign) return -1;
            digit = bytes[++at]! - ZERO;
            if (digit >= 0 && digit <= 9) return -1;
          }
        }
      }
    }
    out[count++] = (value ^ sign) - sign;
    if (digit !== COMMA - ZERO) {
      at = skipSpace(bytes, at);
      if (at === close) return count;
      if (bytes[at] !== COMMA) return -1;
    }
    if (bytes[++at]! <= 0x20) at = skipSpace(bytes, at);
  }
}

function tooManySamples(limit: number): BoundExceeded {
  const what = limit === ODD_SAMPLES_MAX ? "samples that are not 16-bit integers" : "samples";
  return new BoundExceeded("too_many_samples", limit, `${what} in a channel`);
}

function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && isSpace(bytes[at] ?? 0)) at += 1;
  return at;
}

function damaged(
  reason: (ChannelSamples & { state: "damaged" })["reason"],
  value: JsonValue,
): ChannelSamples {
  // For numbers the engine writes the same text, a hundred times faster.
  const isFlat = Array.isArray(value) && value.every((item) => Number.isFinite(item));
  const canonical = isFlat ? JSON.stringify(value) : canonicalJson(value);
  const digest = createHash("sha256").update(canonical).digest("hex");
  return { state: "damaged", reason, digest: digest.slice(0, DIGEST_HEX_DIGITS) };
}
