/** Numbers by index, all of them doubles. */
export interface Doubles {
  readonly length: number;
  [index: number]: number;
  fill(value: number, start?: number, end?: number): unknown;
}

/** Longer ones are outside the JavaScript heap, whose size the packages limit; no sensor's record needs them. */
const PLAIN_MAX = 1 << 18;
/** Makes V8 keep plain doubles from the first element on. */
const NOT_INTEGER = 0.5;

/**
 * Memory for the inner loops of transforms. A plain array of doubles, not a Float64Array: once anything in the process
 * has grown a WebAssembly memory (the HTTP client does, the hashes do), V8 checks at every access of a typed array
 * whether its memory still exists, and a transform takes a third longer. The initial content is undefined.
 */
export function doubles(length: number): Doubles {
  if (length > PLAIN_MAX) return new Float64Array(length);
  const grown: number[] = [];
  for (let n = 0; n < length; n++) grown.push(NOT_INTEGER);
  grown.fill(0);
  // Without the spare capacity left by growing.
  return grown.slice();
}
