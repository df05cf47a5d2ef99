/** What a request body shows without building anything from it. */
export interface BodyOutline {
  /** False if the text is not a JSON object by its outline: braces, names, commas. */
  readonly isObject: boolean;
  /** The text of the requested member; null if there is none, or it is not a text. */
  readonly text: string | null;
}

const NO_OBJECT: BodyOutline = { isObject: false, text: null };

/** Requests have at most a dozen members; one with more is refused. */
const MEMBERS_MAX = 256;
/** A letter takes at most six characters, however it is escaped. */
const ESCAPE_CHARACTERS = 6;

/**
 * Finds one text member of the outermost object, in any letter case but preferably as spelled, without parsing the
 * rest: the body of an unauthenticated client may cost one pass over its characters and no more. The last of several
 * counts, as for JSON.parse.
 */
export function outlineOf(body: string, name: string): BodyOutline {
  const wanted = name.toLowerCase();
  let exact: string | null | undefined;
  let folded: string | null | undefined;
  let at = spaceEnd(body, 0);
  if (body[at] !== "{") return NO_OBJECT;
  at = spaceEnd(body, at + 1);
  for (let members = 0; body[at] !== "}"; members += 1) {
    if (members > 0) {
      if (body[at] !== "," || members >= MEMBERS_MAX) return NO_OBJECT;
      at = spaceEnd(body, at + 1);
    }
    const keyEnd = stringEnd(body, at);
    const colon = spaceEnd(body, keyEnd);
    const start = spaceEnd(body, colon + 1);
    const end = valueEnd(body, start);
    if (keyEnd === NONE || body[colon] !== ":" || end === NONE) return NO_OBJECT;
    const member = nameIn(body, at, keyEnd, name.length);
    if (member === name) exact = textOf(body.slice(start, end));
    else if (member?.toLowerCase() === wanted) folded = textOf(body.slice(start, end));
    at = spaceEnd(body, end);
  }
  if (spaceEnd(body, at + 1) < body.length) return NO_OBJECT;
  return { isObject: true, text: exact ?? folded ?? null };
}

/** A member's name; null if it cannot have this many letters. */
function nameIn(text: string, from: number, end: number, letters: number): string | null {
  const written = end - from - 2;
  if (written === letters) return text.slice(from + 1, end - 1);
  if (written < letters || written > letters * ESCAPE_CHARACTERS) return null;
  return textOf(text.slice(from, end));
}

/** Null if it is not a JSON string. */
function textOf(json: string): string | null {
  if (!json.startsWith('"')) return null;
  try {
    return String(JSON.parse(json));
  } catch {
    return null;
  }
}

/** Nothing begins here, or it does not end. */
const NONE = -1;

function spaceEnd(text: string, from: number): number {
  let at = from;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
    at += 1;
  }
}

/** Position after the string that begins at `from`. */
function stringEnd(text: string, from: number): number {
  if (text[from] !== '"') return NONE;
  for (let quote = from; ; ) {
    quote = text.indexOf('"', quote + 1);
    if (quote < 0) return NONE;
    // Only these backslashes can belong to this quote: each character is examined at most once more.
    let escape = quote - 1;
    while (text[escape] === "\\") escape -= 1;
    if ((quote - escape) % 2 === 1) return quote + 1;
  }
}

/** Position after the value that begins at `from`, by its outline alone: only its end is checked. */
function valueEnd(text: string, from: number): number {
  let depth = 0;
  let at = from;
  while (at < text.length) {
    const mark = text[at];
    if (mark === '"') {
      at = stringEnd(text, at);
      if (at === NONE) return NONE;
    } else {
      const isOpening = mark === "{" || mark === "[";
      const isClosing = mark === "}" || mark === "]";
      // The character after a number or a word is not part of it.
      if (depth === 0 && (isClosing || mark === ",")) return at > from ? at : NONE;
      if (isOpening) depth += 1;
      else if (isClosing) depth -= 1;
      at += 1;
      if (depth > 0 || !isClosing) continue;
    }
    if (depth === 0) return at;
  }
  return NONE;
}
