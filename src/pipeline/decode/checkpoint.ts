/** The known part of a day's response: enough to hash a prefix, drop it, and continue reading after it. */
export interface Checkpoint {
  /** Bytes up to the end of the last record. */
  readonly bytes: number;
  /** Hash of those bytes. */
  readonly hash: bigint;
  /** The same for the first record, so that a response in another order is recognised at once. */
  readonly firstBytes: number;
  readonly firstHash: bigint;
  /** Records within. */
  readonly records: number;
  /** The envelope walker's state. */
  readonly place: string;
}

/** Changes whenever the same bytes would be read as other records. */
const VERSION = 1;

/** `reading` names what the reader's results depend on besides the bytes: the kind and the wire word. */
export function writeCheckpoint(checkpoint: Checkpoint, reading: string): string {
  const { bytes, hash, firstBytes, firstHash, records, place } = checkpoint;
  return JSON.stringify([
    VERSION,
    reading,
    bytes,
    hash.toString(16),
    firstBytes,
    firstHash.toString(16),
    records,
    place,
  ]);
}

/** Null if the text is not a checkpoint for this reader: the day is then read from its start. */
export function readCheckpoint(text: string, reading: string): Checkpoint | null {
  let parts: unknown;
  try {
    parts = JSON.parse(text);
  } catch {
    return null;
  }
  if (!Array.isArray(parts) || parts[0] !== VERSION || parts[1] !== reading) return null;
  const [, , bytes, hash, firstBytes, firstHash, records, place]: unknown[] = parts;
  if (!isCount(bytes) || !isCount(firstBytes) || !isCount(records)) return null;
  if (!isHex(hash) || !isHex(firstHash) || typeof place !== "string") return null;
  if (firstBytes > bytes) return null;
  return {
    bytes,
    hash: BigInt(`0x${hash}`),
    firstBytes,
    firstHash: BigInt(`0x${firstHash}`),
    records,
    place,
  };
}

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) > 0;
const isHex = (value: unknown): value is string =>
  typeof value === "string" && /^[0-9a-f]{1,16}$/.test(value);
