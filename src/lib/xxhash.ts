import createXxhash from "xxhash-wasm";
import type { ByteHashing, Hasher } from "../pipeline/decode/hashing.ts";

/** The wasm memory holds the largest piece ever hashed, so pieces are kept small, also for the CPU cache. */
const PIECE_BYTES = 65_536;

/** xxhash64 in WebAssembly. Load once, at start. */
export async function loadByteHashing(): Promise<ByteHashing> {
  const xxhash = await createXxhash();
  const createHasher = (): Hasher => {
    const state = xxhash.create64();
    return {
      update(bytes) {
        if (bytes.length <= PIECE_BYTES) state.update(bytes);
        else {
          for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
            state.update(bytes.subarray(start, start + PIECE_BYTES));
          }
        }
      },
      digest: () => state.digest(),
    };
  };
  return {
    createHasher,
    hash(bytes) {
      if (bytes.length <= PIECE_BYTES) return xxhash.h64Raw(bytes);
      const hasher = createHasher();
      hasher.update(bytes);
      return hasher.digest();
    },
  };
}
