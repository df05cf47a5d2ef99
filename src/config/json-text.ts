/**
 * Strict JSON with the position of an error. JSON.parse gives no line (and for short texts no position), and accepts a
 * duplicate key; people write this file by hand.
 */
import type { ConfigurationFault } from "../core/configuration/configuration-fault.ts";

interface JsonFault {
  readonly line: number;
  readonly column: number;
  readonly problem: string;
}
export type ParsedJson =
  | {
      readonly value: unknown;
      readonly doubles: readonly JsonFault[];
      /** The first character that could not be decoded; it is part of the value as U+FFFD. */
      readonly undecoded: JsonFault | null;
    }
  | { readonly fault: JsonFault & { readonly remedy: string } };

const SAVE_AS_UTF8 = "save the file as UTF-8";

/** A site file is never nested deeper; the limit bounds the recursion. */
const DEPTH_MAX = 64;

export function parseJsonText(text: string): ParsedJson {
  const value = faultless(text);
  if (value !== undefined) return { value, doubles: [], undecoded: undecodedIn(text) };
  const scanner = new Scanner(text);
  const mistake = scanner.scan();
  if (mistake) {
    // Some editors save UTF-16, or another encoding, whose characters look right there.
    return /^\uFFFD|^.?\0/.test(text)
      ? { fault: { ...placeOf(text, 0, "is not UTF-8 text"), remedy: SAVE_AS_UTF8 } }
      : {
          fault: { ...placeOf(text, mistake.at, mistake.problem), remedy: mistake.remedy },
        };
  }
  return {
    undecoded: undecodedIn(text),
    value: JSON.parse(text),
    doubles: scanner.doubles.map(({ at, problem }) => placeOf(text, at, problem)),
  };
}

/** What a text without a fault says, in a tenth of the scanner's time; undefined if the scanner has something to tell. */
function faultless(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  // Of members with the same name the last one stays.
  const written = text.replace(/"[^"\\]*(?:\\.[^"\\]*)*"/g, "").split(":").length - 1;
  return written === membersOf(value, 0) ? value : undefined;
}

/** How many there are at all depths; not a number if it is nested too deeply. */
function membersOf(value: unknown, depth: number): number {
  if (depth > DEPTH_MAX) return Number.NaN;
  if (typeof value !== "object" || value === null) return 0;
  let count = Array.isArray(value) ? 0 : Object.keys(value).length;
  for (const one of Object.values(value)) count += membersOf(one, depth + 1);
  return count;
}

function undecodedIn(text: string): JsonFault | null {
  const at = text.indexOf("\uFFFD");
  return at === -1 ? null : placeOf(text, at, "has a character that is not UTF-8");
}

/** A name with such a character would be published with a wrong letter. `path` is shown before the position. */
export function undecodedWarnings(undecoded: JsonFault | null, path: string): ConfigurationFault[] {
  if (undecoded === null) return [];
  const { line, column, problem } = undecoded;
  return [{ place: `${path}:${line}:${column}`, problem, remedy: SAVE_AS_UTF8 }];
}

function placeOf(text: string, at: number, problem: string): JsonFault {
  const before = text.slice(0, at).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1, problem };
}

class Mistake extends Error {
  readonly at: number;
  readonly problem: string;
  readonly remedy: string;
  constructor(at: number, problem: string, remedy: string) {
    super(problem);
    this.at = at;
    this.problem = problem;
    this.remedy = remedy;
  }
}

/** The most common mistake in hand-written JSON. */
const ENDS_IN_COMMA = "there is a comma after the last item, before this";

class Scanner {
  readonly doubles: { at: number; problem: string }[] = [];
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  scan(): Mistake | null {
    try {
      this.#value(0);
      this.#blanks();
      if (this.#at < this.#text.length) this.#fail("more text after the end");
      return null;
    } catch (error) {
      if (error instanceof Mistake) return error;
      throw error;
    }
  }

  #fail(problem: string, remedy = "write it as strict JSON"): never {
    throw new Mistake(this.#at, problem, remedy);
  }

  #blanks(): void {
    while (/[ \t\r\n]/.test(this.#text[this.#at] ?? "")) this.#at += 1;
  }

  #seen(): string {
    const next = this.#text[this.#at];
    if (next === undefined) return "the end of the file";
    const isComment = /^\/[/*]/.test(this.#text.slice(this.#at, this.#at + 2));
    return isComment ? "a comment, which JSON does not allow" : JSON.stringify(next);
  }

  #value(depth: number): void {
    if (depth > DEPTH_MAX) this.#fail(`nested deeper than ${DEPTH_MAX}`);
    this.#blanks();
    const next = this.#text[this.#at];
    if (next === "{") this.#object(depth);
    else if (next === "[") this.#array(depth);
    else if (next === '"') this.#string();
    else {
      const literal = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.])/y;
      literal.lastIndex = this.#at;
      const match = literal.exec(this.#text);
      if (!match) this.#fail(`expected a value but found ${this.#seen()}`);
      this.#at += match[0].length;
    }
  }

  #object(depth: number): void {
    const keys = new Set<string>();
    this.#at += 1;
    this.#blanks();
    if (this.#take("}")) return;
    for (;;) {
      this.#blanks();
      const at = this.#at;
      if (keys.size > 0 && this.#text[at] === "}") this.#fail(ENDS_IN_COMMA);
      if (/\d,$/.test(this.#text.slice(0, at)) && /\d/.test(this.#text[at] ?? ""))
        this.#fail("a number with a comma", "write a decimal point: 10.5, not 10,5");
      if (this.#text[at] !== '"') this.#fail(`expected a key in quotes but found ${this.#seen()}`);
      const key = this.#string();
      if (keys.has(key)) this.doubles.push({ at, problem: `duplicate key ${JSON.stringify(key)}` });
      keys.add(key);
      this.#blanks();
      if (!this.#take(":")) this.#fail(`expected ":" but found ${this.#seen()}`);
      this.#value(depth + 1);
      this.#blanks();
      if (this.#take("}")) return;
      if (!this.#take(",")) this.#fail(`expected "," or "}" but found ${this.#seen()}`);
    }
  }

  #array(depth: number): void {
    this.#at += 1;
    this.#blanks();
    if (this.#take("]")) return;
    for (;;) {
      this.#value(depth + 1);
      this.#blanks();
      if (this.#take("]")) return;
      if (!this.#take(",")) this.#fail(`expected "," or "]" but found ${this.#seen()}`);
      this.#blanks();
      if (this.#text[this.#at] === "]") this.#fail(ENDS_IN_COMMA);
    }
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #failInString(): never {
    const sound = /"(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*/uy;
    sound.lastIndex = this.#at;
    const start = this.#at;
    this.#at += sound.exec(this.#text)?.[0].length ?? 0;
    const next = this.#text[this.#at];
    if (next === "\t") this.#fail("a tab inside a string", "write a space, or \\t");
    if (next === "\\")
      this.#fail("a backslash that begins no known escape", "write two for one backslash: \\\\");
    if (next !== undefined && !/[\r\n]/.test(next))
      this.#fail("a control character inside a string", "remove it");
    this.#at = start;
    this.#fail("a string that does not end on its line", 'close it with a "');
  }

  #string(): string {
    const whole = /"(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/uy;
    whole.lastIndex = this.#at;
    const match = whole.exec(this.#text);
    if (!match) this.#failInString();
    this.#at += match[0].length;
    return String(JSON.parse(match[0]));
  }
}
