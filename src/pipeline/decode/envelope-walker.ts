import type { JsonValue } from "../../core/record.ts";
import { ENVELOPE } from "../wire/names.ts";
import { type Frame, frameFrom, markOf, newFrame } from "./envelope-frame.ts";
import { errorOf, memberOf, readStatus } from "./envelope-members.ts";
import { isSpace, JsonText, NESTING_MAX } from "./json-text.ts";
import type { Oddities } from "./scalars.ts";
import { ValueScanner } from "./value-scanner.ts";

/*
 * Walks the outer structure of a response while it arrives: an array of envelopes, one envelope, or either of them
 * wrapped in a member named for the operation (services 2, rule 2). Every element of a Value array is passed on as a
 * whole.
 *
 * Between two calls it holds only its state, its stack of open containers and, inside a value, the scanner's
 * position. The first two fit into a checkpoint, so a day can be resumed in the middle.
 *
 * In one file: it is one state machine, and its steps share the frames.
 */

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const BOM = [0xef, 0xbb, 0xbf];
/** Envelopes within wrappers within envelopes: no server writes more levels. */
const FRAMES_MAX = 8;

const STATES = [
  "start",
  "firstElement",
  "element",
  "afterElement",
  "firstMember",
  "member",
  "colon",
  "memberValue",
  "afterMember",
  "firstItem",
  "item",
  "afterItem",
  "end",
] as const;
type WalkState = (typeof STATES)[number];

type MemberRole = "key" | "value" | "wrapper" | "status" | "description" | "error" | "other";
type Token = "name" | "member" | "item";

export type WalkVerdict =
  | { readonly outcome: "not_json" }
  | { readonly outcome: "malformed"; readonly detail: string }
  | {
      readonly outcome: "service_status";
      readonly statusNumber: number;
      readonly description: string;
    };

/** Receives the elements of Value arrays: bytes[start..end), nested `depth` deep inside the response. */
type ItemSink = (bytes: Buffer, start: number, end: number, nesting: number) => void;

export interface WalkerOptions {
  readonly onItem: ItemSink;
  readonly oddities: Oddities;
  /** Names of the member that may wrap the whole response, in lower case. */
  readonly wrapperNames: readonly string[];
}

export class EnvelopeWalker {
  readonly #options: WalkerOptions;
  readonly #scanner = new ValueScanner();
  #state: WalkState = "start";
  #frames: Frame[] = [];
  #token: Token | null = null;
  #role: MemberRole = "other";
  #bomBytes = 0;
  #verdict: WalkVerdict | null = null;

  constructor(options: WalkerOptions) {
    this.#options = options;
  }

  /** Why the walk ended early; null while it has not. */
  get verdict(): WalkVerdict | null {
    return this.#verdict;
  }
  /** True once the response has ended normally; only white space may follow. */
  get isComplete(): boolean {
    return this.#state === "end" && this.#verdict === null;
  }
  /** True while the bytes kept are those of an item, not of the structure. */
  get isInsideItem(): boolean {
    return this.#token === "item";
  }

  /** State and stack, for a checkpoint taken right after an item. */
  snapshot(): string {
    return [this.#state, ...this.#frames.map(markOf)].join(" ");
  }

  /** Continues at a snapshot; false if the text is not one. */
  restore(snapshot: string): boolean {
    const [state, ...marks] = snapshot.split(" ");
    if (state !== "afterItem" && state !== "afterMember") return false;
    const frames = marks.map(frameFrom);
    if (frames.length === 0 || frames.length > FRAMES_MAX) return false;
    if (frames.some((frame) => frame === null)) return false;
    this.#state = state;
    this.#frames = frames.filter((frame) => frame !== null);
    return true;
  }

  /**
   * Continues at bytes[from], up to `end`. Returns the index of the first byte that must be present again, at `from`,
   * in the next call: the start of an unfinished value, or `end`.
   */
  walk(bytes: Buffer, from: number, end: number): number {
    let at = from;
    while (this.#verdict === null) {
      if (this.#token !== null) {
        const stop = this.#scanner.scan(bytes, at, end);
        if (stop < 0) return at;
        this.#finishToken(this.#token, bytes, at, stop);
        at = stop;
        continue;
      }
      while (at < end && isSpace(bytes[at] ?? 0)) at += 1;
      if (at >= end) return at;
      if (this.#step(bytes[at] ?? 0)) at += 1;
    }
    return at;
  }

  /** The unfinished item is too large to keep: it is only skipped from here. */
  forgetItem(bytes: Buffer, from: number, end: number): void {
    this.#scanner.forget(bytes, from, end);
  }

  /** Takes one structural byte; true if it is consumed, false if a value begins with it (or the walk is over). */
  #step(byte: number): boolean {
    switch (this.#state) {
      case "start":
        return this.#start(byte);
      case "firstElement":
      case "element":
        if (byte === OPEN_OBJECT) return this.#push("envelope", "firstMember");
        if (byte === CLOSE_ARRAY && this.#state === "firstElement") return this.#pop();
        return this.#unexpected(byte, "an envelope");
      case "afterElement":
        if (byte === COMMA) return this.#to("element");
        if (byte === CLOSE_ARRAY) return this.#pop();
        return this.#unexpected(byte, "the next envelope");
      case "firstMember":
      case "member":
        if (byte === QUOTE) return this.#begin("name");
        if (byte === CLOSE_OBJECT && this.#state === "firstMember") return this.#closeEnvelope();
        return this.#unexpected(byte, "a member");
      case "colon":
        return byte === COLON ? this.#to("memberValue") : this.#unexpected(byte, "a colon");
      case "memberValue":
        return this.#memberValue(byte);
      case "afterMember":
        if (byte === COMMA) return this.#to("member");
        if (byte === CLOSE_OBJECT) return this.#closeEnvelope();
        return this.#unexpected(byte, "the next member");
      case "firstItem":
      case "item":
        if (byte === CLOSE_ARRAY && this.#state === "firstItem") return this.#pop();
        return this.#begin("item");
      case "afterItem":
        if (byte === COMMA) return this.#to("item");
        if (byte === CLOSE_ARRAY) return this.#pop();
        return this.#unexpected(byte, "the next record");
      case "end":
        return this.#unexpected(byte, "nothing more");
    }
  }

  #start(byte: number): boolean {
    if (byte === BOM[this.#bomBytes]) {
      this.#bomBytes += 1;
      if (this.#bomBytes === BOM.length) this.#options.oddities.add("bom");
      return true;
    }
    const isBomWhole = this.#bomBytes === 0 || this.#bomBytes === BOM.length;
    if (isBomWhole && byte === OPEN_ARRAY) return this.#push("envelopes", "firstElement");
    if (isBomWhole && byte === OPEN_OBJECT) {
      this.#options.oddities.add("bare_object");
      return this.#push("envelope", "firstMember");
    }
    return this.#end({ outcome: "not_json" });
  }

  #memberValue(byte: number): boolean {
    const frame = this.#top();
    if (this.#role === "value" && byte === OPEN_ARRAY) {
      frame.hasValue = true;
      return this.#push("items", "firstItem");
    }
    if (this.#role === "value" && byte === OPEN_OBJECT) {
      // An object where an array is expected is a list of one.
      frame.hasValue = true;
      this.#options.oddities.add("value_object");
      return this.#begin("item");
    }
    if (this.#role === "wrapper" && (byte === OPEN_ARRAY || byte === OPEN_OBJECT)) {
      frame.isWrapper = true;
      this.#options.oddities.add("wrapped_answer");
      return byte === OPEN_ARRAY
        ? this.#push("envelopes", "firstElement")
        : this.#push("envelope", "firstMember");
    }
    return this.#begin("member");
  }

  #finishToken(token: Token, bytes: Buffer, start: number, end: number): void {
    this.#token = null;
    if (start === end) {
      this.#unexpected(bytes[start] ?? 0, "a value");
      return;
    }
    if (token === "item") {
      // The state advances first: the sink may take a snapshot.
      this.#state = this.#top().type === "items" ? "afterItem" : "afterMember";
      this.#options.onItem(bytes, start, end, this.#frames.length + this.#scanner.deepest);
      return;
    }
    const value = this.#parse(bytes, start, end);
    if (value === undefined) return;
    if (token === "name") {
      this.#role = this.#roleOf(typeof value === "string" ? value : "");
      this.#state = "colon";
    } else {
      this.#state = "afterMember";
      this.#readMember(value);
    }
  }

  #parse(bytes: Buffer, start: number, end: number): JsonValue | undefined {
    try {
      if (this.#frames.length + this.#scanner.deepest > NESTING_MAX) {
        throw new SyntaxError(`nested deeper than ${NESTING_MAX}`);
      }
      return JsonText.parse(bytes, start, end);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      this.#end({ outcome: "malformed", detail: error.message });
      return undefined;
    }
  }

  #readMember(value: JsonValue): void {
    const frame = this.#top();
    if (this.#role === "key" && value !== null) return this.#readKey(value);
    if (this.#role === "value" && value !== null) {
      this.#end({ outcome: "malformed", detail: "Value is neither a list nor an object" });
    } else if (this.#role === "status") {
      frame.bareStatus = readStatus(value, this.#options.oddities);
    } else if (this.#role === "description" && typeof value === "string") {
      frame.bareDescription = value;
    } else if (this.#role === "error") {
      const isMessage = typeof value === "string";
      frame.error = isMessage
        ? (frame.error ?? errorOf({ Message: value }))
        : (errorOf(value) ?? frame.error);
    }
  }

  #readKey(value: JsonValue): void {
    const { oddities } = this.#options;
    const status = readStatus(memberOf(value, ENVELOPE.statusNumber), oddities);
    if (status === null) {
      this.#end({ outcome: "malformed", detail: "Key contains no status number" });
      return;
    }
    this.#top().hasKey = true;
    if (status === 0) return;
    const description = memberOf(value, ENVELOPE.description);
    this.#end({
      outcome: "service_status",
      statusNumber: status,
      description: typeof description === "string" ? description : "",
    });
  }

  #closeEnvelope(): boolean {
    const frame = this.#top();
    if (!frame.hasKey && !frame.isWrapper) {
      if (frame.bareStatus !== null && frame.bareStatus !== 0) {
        return this.#end({
          outcome: "service_status",
          statusNumber: frame.bareStatus,
          description: frame.bareDescription,
        });
      }
      if (!frame.hasValue) {
        return this.#end({
          outcome: "malformed",
          detail:
            frame.error === null
              ? "an envelope with neither Key nor Value"
              : `the service answers with an error: ${frame.error}`,
        });
      }
      this.#options.oddities.add("key_missing");
    }
    return this.#pop();
  }

  #roleOf(name: string): MemberRole {
    const folded = name.toLowerCase();
    if (folded === ENVELOPE.key.toLowerCase()) return "key";
    if (folded === ENVELOPE.value.toLowerCase()) return "value";
    if (folded === ENVELOPE.statusNumber.toLowerCase()) return "status";
    if (folded === ENVELOPE.description.toLowerCase()) return "description";
    if (folded === "message" || folded === "exceptiondetail") return "error";
    return this.#options.wrapperNames.includes(folded) ? "wrapper" : "other";
  }

  #top(): Frame {
    const frame = this.#frames.at(-1);
    if (!frame) throw new Error("no container is open");
    return frame;
  }

  #begin(token: Token): false {
    this.#token = token;
    this.#scanner.begin();
    return false;
  }

  #to(state: WalkState): true {
    this.#state = state;
    return true;
  }

  #push(type: Frame["type"], state: WalkState): boolean {
    if (this.#frames.length === FRAMES_MAX) {
      return this.#end({ outcome: "malformed", detail: "too many nested envelopes" });
    }
    this.#frames.push(newFrame(type));
    return this.#to(state);
  }

  #pop(): true {
    this.#frames.pop();
    const parent = this.#frames.at(-1)?.type;
    if (parent === undefined) return this.#to("end");
    return this.#to(parent === "envelopes" ? "afterElement" : "afterMember");
  }

  #unexpected(byte: number, wanted: string): false {
    // A zero byte between structural characters indicates 16-bit text.
    if (byte === 0) return this.#end({ outcome: "not_json" });
    return this.#end({ outcome: "malformed", detail: `byte ${byte} where ${wanted} should be` });
  }

  #end(verdict: WalkVerdict): false {
    this.#verdict ??= verdict;
    return false;
  }
}
