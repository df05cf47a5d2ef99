/** 32-bit FNV-1a: spreads short texts evenly, and is the same in every process and version. */
const OFFSET_BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

/**
 * Which of a cluster's addresses a client begins at, by its client id, so that boxes and collectors spread over the
 * cluster. @param count number of addresses
 */
export function ownAddress(clientId: string, count: number): number {
  let hash = OFFSET_BASIS;
  for (const byte of new TextEncoder().encode(clientId)) {
    hash = Math.imul(hash ^ byte, PRIME) >>> 0;
  }
  // FNV mixes its low bits least.
  return ((hash ^ (hash >>> 16)) >>> 0) % count;
}
