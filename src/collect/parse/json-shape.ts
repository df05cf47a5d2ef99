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
const OPENING = [0x5b, 0x7b];
const CLOSING = [0x5d, 0x7d];

/** Reads bytes only: it must not depend on what a parser does with a text of a million brackets. */
export function jsonShape(json: Buffer): JsonShape {
  let depth = 0;
  let deepest = 0;
  let elements = 0;
  let isText = false;
  for (let at = 0; at < json.length && deepest <= DEPTH_MAX; at++) {
    const byte = json[at] ?? 0;
    if (isText) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) isText = true;
    else if (byte === COMMA) elements += 1;
    else if (byte === OPENING[0] || byte === OPENING[1]) {
      elements += 1;
      depth += 1;
      if (depth > deepest) deepest = depth;
    } else if (byte === CLOSING[0] || byte === CLOSING[1]) depth -= 1;
  }
  return { depth: deepest, elements };
}
