import { setFlagsFromString } from "node:v8";

/**
 * How often code must have run before V8 optimises it: some fifteen times V8's own threshold. With that one, seven
 * hundred functions were optimised in the first poll rounds, for a third of the CPU these used; functions that really
 * run often are optimised all the same. The flag depends on V8's version (11 in Node 20, 12 in Node 22); with another
 * one nothing is changed.
 */
const FLAG_BY_VERSION: Readonly<Record<string, string>> = {
  11: "--interrupt-budget=1000000",
  12: "--invocation-count-for-turbofan=45000",
};

/** For long-lived processes that do little at a time. */
export function optimiseLate(): void {
  const flag = FLAG_BY_VERSION[process.versions.v8.split(".")[0] ?? ""];
  if (flag !== undefined) setFlagsFromString(flag);
}
