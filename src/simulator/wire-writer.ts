/**
 * Writes JSON as a .NET data contract serialiser does: members in ordinal order of their wire names, `\/` for every
 * slash inside strings, /Date(ms+hhmm)/ times, null members written. It shares nothing with the reader it is used to
 * test.
 */
import {
  isTime,
  type PlainRecord,
  type PlainTime,
  type PlainValue,
  UNKNOWN_MEMBERS,
} from "./plain-record.ts";

/** Deviations in the spelling of values; none of them changes the content of the record. */
export interface Spelling {
  readonly numbersAsStrings?: boolean;
  readonly decimalCommas?: boolean;
  readonly isoTimes?: boolean;
  readonly oddCase?: boolean;
  readonly whiteSpace?: boolean;
  readonly plainSlashes?: boolean;
  readonly quotedTokens?: boolean;
}

/** Replaces `sensor` by the vendor's word, keeping letter case. */
export function wireName(neutral: string, word: string): string {
  if (word === "sensor") return neutral;
  const capital = word.charAt(0).toUpperCase() + word.slice(1);
  return neutral.replace(/^sensor(?=[_A-Z])/, word).replace(/^Sensor(?=[_A-Z])/, capital);
}

export class WireWriter {
  readonly #word: string;
  readonly #spelling: Spelling;
  /** Fields of a kind come in the same set each time, so their order is computed once. */
  readonly #orders = new Map<string, readonly { readonly name: string; readonly key: string }[]>();
  readonly #samples: WeakMap<Int16Array, string>;

  constructor(word: string, spelling: Spelling = {}, samples = new WeakMap<Int16Array, string>()) {
    this.#word = word;
    this.#spelling = spelling;
    this.#samples = samples;
  }

  /** The same writer with other spelling; the text of samples is shared. */
  spelling(spelling: Spelling): WireWriter {
    return new WireWriter(this.#word, spelling, this.#samples);
  }

  record(record: PlainRecord): string {
    const glue = this.#spelling.whiteSpace ? ",\r\n   " : ",";
    let text = "";
    for (const { name, key } of this.#order(Object.keys(record))) {
      text += (text === "" ? "" : glue) + key + this.#member(name, record[name] ?? null);
    }
    return `{${text}}`;
  }

  #order(names: readonly string[]) {
    const shape = names.join();
    const known = this.#orders.get(shape);
    if (known) return known;
    const colon = this.#spelling.whiteSpace ? '" : ' : '":';
    const order = names
      .map((name) => ({ name, wire: this.#name(name) }))
      .sort((a, b) => (a.wire < b.wire ? -1 : 1))
      .map(({ name, wire }) => ({ name, key: `"${wire}${colon}` }));
    if (this.#orders.size < 1000) this.#orders.set(shape, order);
    return order;
  }

  #member(name: string, value: PlainValue): string {
    const isUnknown = typeof value === "number" && UNKNOWN_MEMBERS.has(name);
    return isUnknown ? netNumber(value) : this.#value(value);
  }

  #name(neutral: string): string {
    if (UNKNOWN_MEMBERS.has(neutral)) return neutral;
    const name = wireName(neutral, this.#word);
    if (!this.#spelling.oddCase) return name;
    return name.charAt(0) === name.charAt(0).toUpperCase()
      ? name.toLowerCase()
      : name.charAt(0).toUpperCase() + name.slice(1);
  }

  #value(value: PlainValue): string {
    if (value === null) return "null";
    if (typeof value === "boolean") return value ? "true" : "false";
    if (typeof value === "number") return this.#number(value);
    if (typeof value === "string") return this.#string(value);
    if (value instanceof Int16Array) return this.#int16(value);
    if (isTime(value))
      return this.#string(this.#spelling.isoTimes ? isoTime(value) : netTime(value));
    return `[${value.map((sample) => this.#number(sample)).join()}]`;
  }

  #int16(samples: Int16Array): string {
    const known = this.#samples.get(samples);
    if (known !== undefined) return known;
    const text = `[${samples.join()}]`;
    this.#samples.set(samples, text);
    return text;
  }

  #number(value: number): string {
    const { numbersAsStrings, decimalCommas, quotedTokens } = this.#spelling;
    if (!Number.isFinite(value)) {
      const token = Number.isNaN(value) ? "NaN" : value > 0 ? "INF" : "-INF";
      return quotedTokens ? `"${token}"` : token;
    }
    const text = netNumber(value);
    if (decimalCommas && text.includes(".")) return `"${text.replace(".", ",")}"`;
    return numbersAsStrings ? `"${text}"` : text;
  }

  #string(value: string): string {
    return writeString(value, !this.#spelling.plainSlashes);
  }
}

/** 1E-07 where JavaScript writes 1e-7. */
function netNumber(value: number): string {
  const text = String(value);
  return text.includes("e")
    ? text.replace(/e([+-])(\d+)/, (_, sign: string, digits: string) => {
        return `E${sign}${digits.padStart(2, "0")}`;
      })
    : text;
}

export function writeString(value: string, escapesSlashes = true): string {
  const text = JSON.stringify(value);
  return escapesSlashes ? text.replaceAll("/", "\\/") : text;
}

function netTime({ ms, offsetMinutes }: PlainTime): string {
  return `/Date(${ms}${offsetMinutes === null ? "" : offsetText(offsetMinutes, "")})/`;
}

function isoTime({ ms, offsetMinutes }: PlainTime): string {
  if (offsetMinutes === null) return new Date(ms).toISOString();
  return `${new Date(ms + offsetMinutes * 60_000).toISOString().slice(0, -1)}${offsetText(offsetMinutes, ":")}`;
}

function offsetText(minutes: number, colon: string): string {
  const absolute = Math.abs(minutes);
  const two = (n: number) => String(n).padStart(2, "0");
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(absolute / 60))}${colon}${two(absolute % 60)}`;
}
