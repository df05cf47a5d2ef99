/** Packed series: 32-bit little-endian floats as base64 (services 4.2). */

/** Floats packed at a time; a multiple of 3 so that the pieces' base64 can be joined. */
const PIECE = 12 * 1024;

/** The base64 text in pieces, so that the whole text of a long record is never in memory. */
export function* packFloats(values: ArrayLike<number>): Generator<string> {
  const bytes = Buffer.alloc(Math.min(PIECE, values.length) * 4);
  for (let from = 0; from < values.length; from += PIECE) {
    const count = Math.min(PIECE, values.length - from);
    for (let i = 0; i < count; i++) bytes.writeFloatLE(values[from + i] ?? 0, i * 4);
    yield bytes.toString("base64", 0, count * 4);
  }
}
