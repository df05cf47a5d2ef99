import { setFlagsFromString } from "node:v8";

/**
 * How often code must have run before V8 optimises it: some fifteen times V8's own threshold. With that one, seven
 * hundred functions were optimised in the first poll rounds, for a third of the CPU these used; functions that really
 * run often are optimised all the same. The flag depends on V8's version (11 in Node 20, 12 in Node 22, 13 in Node 24);
 * with another one nothing is changed.
 */
const FLAG_BY_VERSION: Readonly<Record<string, string>> = {
  11: "--interrupt-budget=1000000",
  12: "--invocation-count-for-turbofan=45000",
  13: "--invocation-count-for-turbofan=45000",
};

const MAJOR = process.versions.v8.split(".")[0] ?? "";

/** For long-lived processes that do little at a time. */
export function optimiseLate(): void {
  const flag = FLAG_BY_VERSION[MAJOR];
  if (flag !== undefined) setFlagsFromString(flag);
}

/**
 * WebAssembly modules that are compiled from now on keep the code of V8's baseline compiler. The HTTP client's parser is one function of
 * 34 kB, which V8 considers hot at its first response. Optimising it takes 0.1 s of CPU and up to 30 MB, for the few headers of a
 * response. Call it once the hash functions are loaded: they read every byte. Does nothing in other versions of V8: 13 (Node 24) would
 * also stop optimising what is loaded already.
 */
export function keepBaselineWasm(): void {
  if (MAJOR !== "11" && MAJOR !== "12") return;
  setFlagsFromString("--no-wasm-dynamic-tiering");
  // Implied by the other only on the command line.
  setFlagsFromString("--no-wasm-tier-up");
}
