/** A running hash over bytes that arrive in pieces. */
export interface Hasher {
  update(bytes: Uint8Array): void;
  /** Hash of all bytes so far; more may follow. */
  digest(): bigint;
}

/** A fast 64-bit hash, passed in because core imports no packages (lib/xxhash.ts). */
export interface ByteHashing {
  createHasher(): Hasher;
  hash(bytes: Uint8Array): bigint;
}
