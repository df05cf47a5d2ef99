/**
 * Identities of readings of one hour and stream in one row: 22 bits of the time within the hour, ms, and 26 of the
 * id. Six bytes are a quarter of the size of a row for each. Two records of the same millisecond are mistaken for one
 * with a probability of 1 in 67 million.
 */
import { HOUR_MS } from "../../../core/time-units.ts";

const IDENTITY_BYTES = 6;
const HASH_BITS = 2 ** 26;
/** A row stays below the part of a key that fits on a page. */
export const PACKED_BYTES_MAX = 128 * IDENTITY_BYTES;

/** `hash` as of `hashOf`, 48 bits. */
export function bytesOf(timeMs: number, hash: number): Buffer {
  // Before 1970 the remainder is negative.
  const offsetMs = ((timeMs % HOUR_MS) + HOUR_MS) % HOUR_MS;
  const bytes = Buffer.allocUnsafe(IDENTITY_BYTES);
  bytes.writeUIntBE(offsetMs * HASH_BITS + (hash % HASH_BITS), 0, IDENTITY_BYTES);
  return bytes;
}

export function holds(pack: Buffer, identity: Buffer): boolean {
  for (let at = pack.indexOf(identity); at >= 0; at = pack.indexOf(identity, at + 1)) {
    if (at % IDENTITY_BYTES === 0) return true;
  }
  return false;
}

export const plus = (pack: Buffer, identity: Buffer): Buffer => Buffer.concat([pack, identity]);

/** The times of its readings, ms; `hour` as of `hourOf`, from 1970 on. */
export function timesIn(pack: Buffer, hour: number): number[] {
  const times: number[] = [];
  for (let at = 0; at < pack.length; at += IDENTITY_BYTES) {
    const offsetMs = Math.floor(pack.readUIntBE(at, IDENTITY_BYTES) / HASH_BITS);
    times.push(hour * HOUR_MS + offsetMs);
  }
  return times;
}
