/**
 * Some servers send the answer as a text: a JSON string, alone or in the member `…Result`, or WCF's `<string>`. This takes the
 * bytes of a response as they arrive and returns those of the answer; any other response passes as it is.
 */
import { asBuffer } from "./byte-window.ts";

const BOM = String.raw`^(?:\xef\xbb\xbf)?\s*`;
const TEXT_SPACE = String.raw`(?:\s|\\[rnt])*`;
const JSON_ENTRY = new RegExp(
  String.raw`(${BOM}(?:\{\s*"[^"\\]*Result"\s*:\s*)?")${TEXT_SPACE}[[{]`,
  "i",
);
const XML_ENTRY = new RegExp(
  String.raw`(${BOM}(?:<\?xml[^>]*>\s*)?<string(?:\s[^>]*)?>)(?:\s|&#x[ad];|&#1[03];)*[[{]`,
  "i",
);
/** It is known to be none of the two. */
const OTHER = new RegExp(
  String.raw`${BOM}(?:[^\s\xef{"<]|\{\s*(?:[^\s"]|"[^"]*"\s*(?:[^\s:]|:\s*(?:[^\s"]|"${TEXT_SPACE}(?:[^\s\\]|\\[^rnt]))))|"${TEXT_SPACE}(?:[^\s\\]|\\[^rnt]))`,
);
/** Where the entry of a text ends at the latest, bytes. */
const HEAD_MAX = 1024;
/** The longest escape of either form, bytes. */
const ESCAPE_MAX = 12;

type Form = "unknown" | "plain" | "json" | "xml" | "over";

export class AnswerText {
  #form: Form = "unknown";
  /** Bytes that say nothing yet: the head, or an escape that is not whole. */
  #held = Buffer.alloc(0);
  /** The first half of a character that JSON writes as two escapes. */
  #half = "";

  /** True if the answer is inside a text. */
  get isText(): boolean {
    return this.#form !== "unknown" && this.#form !== "plain";
  }

  push(piece: Uint8Array): Uint8Array {
    if (this.#form === "plain") return piece;
    if (this.#form === "over") return Buffer.alloc(0);
    const bytes = this.#held.length === 0 ? asBuffer(piece) : Buffer.concat([this.#held, piece]);
    this.#held = Buffer.alloc(0);
    if (this.#form !== "unknown") return this.#inner(bytes);
    const head = bytes.toString("latin1", 0, HEAD_MAX);
    const json = JSON_ENTRY.exec(head);
    const entry = json ?? XML_ENTRY.exec(head);
    if (entry !== null) {
      this.#form = json === null ? "xml" : "json";
      return this.#inner(bytes.subarray(entry[1]?.length ?? 0));
    }
    if (bytes.length < HEAD_MAX && !OTHER.test(head)) {
      this.#held = Buffer.from(bytes);
      return Buffer.alloc(0);
    }
    this.#form = "plain";
    return bytes;
  }

  /** What was held when the response ended. */
  rest(): Uint8Array {
    return this.#form === "unknown" ? this.#held : Buffer.alloc(0);
  }

  #inner(bytes: Buffer): Buffer {
    const isJson = this.#form === "json";
    const escape = isJson ? BACKSLASH : AMPERSAND;
    const last = isJson ? QUOTE : LESS;
    const parts: Buffer[] = [];
    let from = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at];
      if (byte !== escape && byte !== last) continue;
      parts.push(bytes.subarray(from, at));
      if (byte === last) {
        this.#form = "over";
        return Buffer.concat(parts);
      }
      const escaped = (isJson ? JSON_ESCAPE : XML_ESCAPE).exec(
        bytes.toString("latin1", at, at + ESCAPE_MAX),
      );
      if (escaped === null && bytes.length - at < ESCAPE_MAX) {
        this.#held = Buffer.from(bytes.subarray(at));
        return Buffer.concat(parts);
      }
      // What is no escape stays, for the reader behind to refuse.
      const written = escaped?.[0] ?? String.fromCharCode(escape);
      parts.push(this.#decoded(isJson ? jsonCharacter(written) : xmlCharacter(written)));
      at += written.length - 1;
      from = at + 1;
    }
    parts.push(bytes.subarray(from));
    return Buffer.concat(parts);
  }

  #decoded(character: string): Buffer {
    const whole = this.#half + character;
    this.#half = /^[\ud800-\udbff]$/.test(whole) ? whole : "";
    return Buffer.from(this.#half === "" ? whole : "");
  }
}

/** Of a response that is held as a whole. */
export function answerIn(response: Uint8Array): Uint8Array {
  const text = new AnswerText();
  const answer = text.push(response);
  return text.isText ? answer : response;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const AMPERSAND = 0x26;
const LESS = 0x3c;
const JSON_ESCAPE = /^\\(?:u[0-9a-f]{4}|["\\/bfnrt])/i;
const XML_ESCAPE = /^&(?:quot|apos|amp|lt|gt|#x[0-9a-f]{1,6}|#\d{1,7});/i;
const ENTITIES: Readonly<Record<string, string>> = {
  quot: '"',
  apos: "'",
  amp: "&",
  lt: "<",
  gt: ">",
};

function jsonCharacter(escaped: string): string {
  try {
    return String(JSON.parse(`"${escaped}"`));
  } catch {
    return escaped;
  }
}

function xmlCharacter(escaped: string): string {
  const name = escaped.slice(1, -1).toLowerCase();
  if (!name.startsWith("#")) return ENTITIES[name] ?? escaped;
  const code = name[1] === "x" ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
  return code <= 0x10ffff ? String.fromCodePoint(code) : escaped;
}
