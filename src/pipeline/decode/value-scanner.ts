const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const COMMA = 0x2c;

/**
 * Finds the end of one JSON value, in bytes that arrive in pieces; it splits without validating.
 *
 * Arrays inside an object are skipped with one search for `]`. That is right for flat arrays of numbers, which is what
 * fills a waveform; the skipped part is checked to be flat, and anything else is scanned byte by byte.
 */
export class ValueScanner {
  /** Bytes of the value examined so far. */
  #offset = 0;
  #depth = 0;
  #deepest = 0;
  #inString = false;
  #isEscaped = false;
  /** Offset of the `[` being skipped; -1 if none. */
  #jump = -1;
  #jumps = true;

  /** Deepest nesting in this value. */
  get deepest(): number {
    return this.#deepest;
  }

  begin(): void {
    this.#offset = 0;
    this.#depth = 0;
    this.#deepest = 0;
    this.#inString = false;
    this.#isEscaped = false;
    this.#jump = -1;
    this.#jumps = true;
  }

  /**
   * Examines bytes[start..end), where `start` is the value's first byte in this buffer (it may have moved since the
   * last call). Returns the index just past the value, or -1 if it continues in bytes that are still to come.
   */
  scan(bytes: Buffer, start: number, end: number): number {
    for (;;) {
      if (this.#jump >= 0) {
        if (!this.#finishJump(bytes, start, end)) return -1;
      }
      const stop = this.#walk(bytes, start, end);
      if (stop >= 0 || this.#jump < 0) return stop;
    }
  }

  /** The caller drops the bytes given so far: the value's next byte is the first of the next call. */
  forget(bytes: Buffer, start: number, end: number): void {
    if (this.#jump >= 0) {
      this.#jumps = false;
      this.#offset = this.#jump;
      this.#jump = -1;
      this.#walk(bytes, start, end);
    }
    this.#jumps = false;
    this.#offset = 0;
  }

  /** True if the array was skipped, or must be scanned; false if its end has not arrived. */
  #finishJump(bytes: Buffer, start: number, end: number): boolean {
    const close = indexOf(bytes, CLOSE_ARRAY, start + this.#offset, end);
    // Checked as it arrives, so that a long array that is not flat is scanned piece by piece, too.
    const isFlat = !hasStructure(bytes.subarray(start + this.#offset, close < 0 ? end : close));
    if (isFlat && close < 0) {
      this.#offset = end - start;
      return false;
    }
    if (isFlat) this.#offset = close + 1 - start;
    else {
      this.#offset = this.#jump;
      this.#jumps = false; // Scanned from here on, so that no nesting makes the search quadratic.
    }
    this.#jump = -1;
    return true;
  }

  #walk(bytes: Buffer, start: number, end: number): number {
    let at = start + this.#offset;
    let depth = this.#depth;
    if (this.#offset === 0 && depth === 0 && !this.#inString && at < end) {
      const first = bytes[at];
      if (first !== QUOTE && first !== OPEN_ARRAY && first !== OPEN_OBJECT) {
        this.#depth = -1; // A bare word or number: it ends before the next delimiter.
        depth = -1;
      }
    }
    if (depth === -1) return this.#walkWord(bytes, start, end);
    while (at < end) {
      if (this.#inString) {
        at = this.#walkString(bytes, at, end);
        if (this.#inString) break;
        if (depth === 0) return this.#done(at, start);
        continue;
      }
      const byte = bytes[at];
      at += 1;
      if (byte === QUOTE) this.#inString = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        if (byte === OPEN_ARRAY && depth > 0 && this.#jumps) {
          this.#depth = depth;
          this.#jump = at - 1 - start;
          this.#offset = at - start;
          if (depth + 1 > this.#deepest) this.#deepest = depth + 1;
          return -1;
        }
        depth += 1;
        if (depth > this.#deepest) this.#deepest = depth;
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        depth -= 1;
        if (depth === 0) return this.#done(at, start);
      }
    }
    this.#depth = depth;
    this.#offset = at - start;
    return -1;
  }

  #walkString(bytes: Buffer, from: number, end: number): number {
    let at = from;
    if (this.#isEscaped && at < end) {
      this.#isEscaped = false;
      at += 1;
    }
    while (at < end) {
      const byte = bytes[at];
      at += 1;
      if (byte === QUOTE) {
        this.#inString = false;
        return at;
      }
      if (byte === BACKSLASH) {
        if (at < end) at += 1;
        else this.#isEscaped = true;
      }
    }
    return at;
  }

  #walkWord(bytes: Buffer, start: number, end: number): number {
    let at = start + this.#offset;
    while (at < end) {
      const byte = bytes[at] ?? 0;
      if (byte === COMMA || byte === CLOSE_ARRAY || byte === CLOSE_OBJECT || byte <= 0x20) {
        return this.#done(at, start);
      }
      at += 1;
    }
    this.#offset = at - start;
    return -1;
  }

  #done(at: number, start: number): number {
    this.#offset = at - start;
    return at;
  }
}

/** True if the array contains texts, arrays or objects. */
function hasStructure(inside: Buffer): boolean {
  return (
    inside.indexOf(QUOTE) >= 0 ||
    inside.indexOf(OPEN_ARRAY) >= 0 ||
    inside.indexOf(OPEN_OBJECT) >= 0
  );
}

/** Index of a byte in bytes[from..end), otherwise -1. */
function indexOf(bytes: Buffer, byte: number, from: number, end: number): number {
  if (end === bytes.length) return bytes.indexOf(byte, from);
  const found = bytes.subarray(from, end).indexOf(byte);
  return found < 0 ? -1 : from + found;
}
