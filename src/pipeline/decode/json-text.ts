import type { JsonValue } from "../../core/record.ts";
import { NODES_PER_OBJECT, type RecordBudget } from "./record-bounds.ts";

/** Deeper nesting is malformed (services section 2, rule 11). */
export const NESTING_MAX = 32;

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
/** Words that some servers write bare if a number has no value (services section 2, rule 7). */
const NOT_A_NUMBER = new Set(["NaN", "-NaN", "INF", "-INF", "Infinity", "-Infinity"]);

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Reads JSON from bytes, as strictly as JSON.parse except for the bare words that mean "not a number", which become
 * NaN. Objects have no prototype. Throws SyntaxError, as JSON.parse does.
 */
export class JsonText {
  readonly #bytes: Buffer;
  readonly #end: number;
  readonly #budget: RecordBudget | null;
  /** Index of the next byte; a reader of special values advances it. */
  at: number;

  /** With a budget, throws BoundExceeded as soon as the text exceeds it. */
  constructor(bytes: Buffer, start: number, end: number, budget: RecordBudget | null = null) {
    this.#bytes = bytes;
    this.at = start;
    this.#end = end;
    this.#budget = budget;
  }

  static parse(bytes: Buffer, start = 0, end = bytes.length): JsonValue {
    const text = new JsonText(bytes, start, end);
    const value = text.value(0);
    text.expectEnd();
    return value;
  }

  expectEnd(): void {
    this.#skipSpace();
    if (this.at < this.#end) throw this.#unexpected();
  }

  value(depth: number): JsonValue {
    this.#skipSpace();
    const first = this.at < this.#end ? this.#bytes[this.at] : undefined;
    this.#budget?.node(first === OPEN_OBJECT ? NODES_PER_OBJECT : 1);
    if (first === QUOTE) return this.#string();
    if (first === OPEN_OBJECT) return this.object(depth);
    if (first === OPEN_ARRAY) return this.#array(depth);
    return this.#word();
  }

  /** `special` may read a member's value itself, from the value's first byte; undefined leaves it to this reader. */
  object<T = never>(
    depth: number,
    special?: (name: string, text: JsonText) => T | undefined,
  ): { [name: string]: JsonValue | T } {
    this.#descend(depth);
    const members: { [name: string]: JsonValue | T } = Object.create(null);
    this.#skipSpace();
    if (this.#take(CLOSE_OBJECT)) return members;
    for (;;) {
      this.#skipSpace();
      if (this.#bytes[this.at] !== QUOTE || this.at >= this.#end) throw this.#unexpected();
      this.#budget?.member();
      const name = this.#string();
      this.#skipSpace();
      if (!this.#take(COLON)) throw this.#unexpected();
      this.#skipSpace();
      members[name] = special?.(name, this) ?? this.value(depth + 1);
      this.#skipSpace();
      if (this.#take(CLOSE_OBJECT)) return members;
      if (!this.#take(COMMA)) throw this.#unexpected();
    }
  }

  #array(depth: number): JsonValue[] {
    this.#descend(depth);
    const items: JsonValue[] = [];
    this.#skipSpace();
    if (this.#take(CLOSE_ARRAY)) return items;
    for (;;) {
      items.push(this.value(depth + 1));
      this.#skipSpace();
      if (this.#take(CLOSE_ARRAY)) return items;
      if (!this.#take(COMMA)) throw this.#unexpected();
    }
  }

  #string(): string {
    const start = this.at;
    let isPlain = true;
    // A text that is too long is abandoned as soon as that is known.
    const limit = start + (this.#budget?.textLeft ?? this.#end) + 2;
    for (let at = start + 1; at < this.#end; at += 1) {
      if (at > limit) this.#budget?.text(at - start);
      const byte = this.#bytes[at] ?? 0;
      if (byte === QUOTE) {
        this.at = at + 1;
        this.#budget?.text(at - start);
        if (isPlain) return this.#bytes.toString("utf8", start + 1, at);
        const text: unknown = JSON.parse(this.#bytes.toString("utf8", start, at + 1));
        return String(text);
      }
      if (byte === BACKSLASH) {
        isPlain = false;
        at += 1;
      } else if (byte < 0x20) {
        this.at = at;
        throw this.#unexpected();
      }
    }
    throw new SyntaxError("a string is not terminated");
  }

  #word(): JsonValue {
    const start = this.at;
    let at = start;
    while (at < this.#end && !isDelimiter(this.#bytes[at] ?? 0)) at += 1;
    const word = this.#bytes.toString("latin1", start, at);
    if (word === "true" || word === "false" || word === "null") {
      this.at = at;
      return word === "null" ? null : word === "true";
    }
    if (!NUMBER.test(word) && !NOT_A_NUMBER.has(word)) throw this.#unexpected();
    this.at = at;
    return NOT_A_NUMBER.has(word) ? Number.NaN : Number(word);
  }

  #descend(depth: number): void {
    if (depth >= NESTING_MAX) throw new SyntaxError(`nested deeper than ${NESTING_MAX}`);
    this.at += 1;
  }

  #take(byte: number): boolean {
    if (this.at >= this.#end || this.#bytes[this.at] !== byte) return false;
    this.at += 1;
    return true;
  }

  #skipSpace(): void {
    while (this.at < this.#end && isSpace(this.#bytes[this.at] ?? 0)) this.at += 1;
  }

  #unexpected(): SyntaxError {
    return new SyntaxError(`unexpected byte ${this.#bytes[this.at] ?? "after the end"}`);
  }
}

/** JSON white space. */
export function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function isDelimiter(byte: number): boolean {
  return byte === COMMA || byte === CLOSE_ARRAY || byte === CLOSE_OBJECT || isSpace(byte);
}
