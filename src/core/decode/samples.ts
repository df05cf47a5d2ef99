import { createHash } from "node:crypto";
import { canonicalJson } from "../identity.ts";
import type { ChannelSamples, JsonValue } from "../record.ts";
import { isSpace, type JsonText } from "./json-text.ts";
import { Oddities, readNumber } from "./scalars.ts";

/** Longest channel that is read; a sensor's own memory is far smaller. */
export const SAMPLES_MAX = 4_000_000;

const MINUS = 0x2d;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const DIGEST_HEX_DIGITS = 32;

/** Reads channel arrays from text straight into 16-bit integers. Keeps one scratch array, so use one per answer. */
export class SampleReader {
  readonly #samplesMax: number;
  #scratch = new Int16Array(4_096);
  /** Index after the array that was read last. */
  #end = 0;

  constructor(samplesMax: number = SAMPLES_MAX) {
    this.#samplesMax = samplesMax;
  }

  /** The channel whose value starts at text.at; moves past it. Throws SyntaxError where the text is no JSON. */
  read(bytes: Buffer, end: number, text: JsonText): ChannelSamples {
    if (bytes[text.at] === OPEN_ARRAY) {
      const count = this.#readPlain(bytes, text.at + 1, end);
      if (count >= 0) {
        text.at = this.#end;
        return { state: "ok", samples: this.#scratch.slice(0, count) };
      }
    }
    const value = text.value(1);
    return value === null ? { state: "absent" } : this.#readAny(value);
  }

  /**
   * The fast way: nothing but integers that fit, commas and spaces. Returns how many, or -1 to leave it to the slow way,
   * which reads everything that this one refuses and says what is wrong with it.
   */
  #readPlain(bytes: Buffer, from: number, end: number): number {
    const close = bytes.indexOf(CLOSE_ARRAY, from);
    if (close < 0 || close >= end) return -1;
    // Every sample but the first takes two bytes at least, so nothing below runs over the scratch array.
    const capacity = ((close - from) >> 1) + 1;
    if (this.#scratch.length < capacity) this.#scratch = new Int16Array(capacity);
    const out: Int16Array = this.#scratch;
    let count = 0;
    let at = skipSpace(bytes, from);
    if (at === close) {
      this.#end = close + 1;
      return 0;
    }
    // One sample per turn, `byte` being its first. No index is checked: at the latest `]` at `close` ends the loop.
    let byte = bytes[at++]!;
    for (;;) {
      const isNegative = byte === MINUS;
      if (isNegative) byte = bytes[at++]!;
      let value = byte - 0x30;
      if (!(value >= 0 && value <= 9)) return -1;
      byte = bytes[at++]!;
      let digit = byte - 0x30;
      if (digit >= 0 && digit <= 9) {
        if (value === 0) return -1;
        const second = at;
        do {
          value = (value * 10 + digit) | 0;
          byte = bytes[at++]!;
          digit = byte - 0x30;
        } while (digit >= 0 && digit <= 9);
        // More than five digits may have wrapped around.
        if (at - second > 4 || value > 32_768 || (value === 32_768 && !isNegative)) return -1;
      }
      out[count++] = isNegative ? 0 - value : value;
      if (byte !== COMMA) {
        at = skipSpace(bytes, at - 1);
        byte = bytes[at++]!;
        if (byte === CLOSE_ARRAY) break;
        if (byte !== COMMA) return -1;
      }
      byte = bytes[at++]!;
      if (byte <= 0x20) {
        at = skipSpace(bytes, at - 1);
        byte = bytes[at++]!;
      }
    }
    this.#end = at;
    return count > this.#samplesMax ? -1 : count;
  }

  #readAny(value: JsonValue): ChannelSamples {
    if (!Array.isArray(value)) return damaged("not_an_array", value);
    if (value.length > this.#samplesMax) return damaged("too_many_samples", value);
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

function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && isSpace(bytes[at] ?? 0)) at += 1;
  return at;
}

function damaged(
  reason: (ChannelSamples & { state: "damaged" })["reason"],
  value: JsonValue,
): ChannelSamples {
  const digest = createHash("sha256").update(canonicalJson(value)).digest("hex");
  return { state: "damaged", reason, digest: digest.slice(0, DIGEST_HEX_DIGITS) };
}
