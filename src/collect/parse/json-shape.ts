/** What a JSON text costs to hold once it is parsed, read from its bytes alone. */
export interface JsonShape {
  /** Levels of objects and arrays; not counted beyond the first that is too deep. */
  readonly depth: number;
  /** Objects, arrays, and members and elements after the first of each. */
  readonly elements: number;
}

/** No message of ours has more than five levels; writers recurse level by level. */
export const DEPTH_MAX = 32;
/** Of a message. 2,000 values with units, quality and raw values have 15,000. Parsed, an empty object takes 20 times its bytes. */
export const ELEMENTS_MAX = 100_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/**
 * Reads bytes only: it must not depend on what a parser does with a text of a million brackets. Every message passes
 * here, and most of its bytes are in texts and numbers.
 */
export function jsonShape(json: Buffer): JsonShape {
  const { length } = json;
  let depth = 0;
  let deepest = 0;
  let elements = 0;
  for (let at = 0; at < length && deepest <= DEPTH_MAX; at++) {
    switch (json[at] ?? 0) {
      case QUOTE:
        at = endOfText(json, at + 1);
        break;
      case COMMA:
        elements += 1;
        break;
      case OPENING_BRACKET:
      case OPENING_BRACE:
        elements += 1;
        depth += 1;
        if (depth > deepest) deepest = depth;
        break;
      case CLOSING_BRACKET:
      case CLOSING_BRACE:
        depth -= 1;
    }
  }
  return { depth: deepest, elements };
}

/** Where its closing quote is, or beyond the end if it has none. */
function endOfText(json: Buffer, start: number): number {
  let at = start;
  for (; at < json.length && json[at] !== QUOTE; at++) if (json[at] === BACKSLASH) at += 1;
  return at;
}
