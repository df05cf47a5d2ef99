/** The clock of programs, as libfaketime sets it (`npm run hours`). */
import { existsSync } from "node:fs";

const CLOCK = [
  "LD_PRELOAD",
  "FAKETIME",
  "FAKETIME_DONT_FAKE_MONOTONIC",
  "FAKETIME_FORCE_MONOTONIC_FIX",
  "TZ",
] as const;

/** The library that fakes the time of a program; null if it is not installed. */
export function fakeTimeLibrary(): string | null {
  const places = ["x86_64", "aarch64"].map(
    (name) => `/usr/lib/${name}-linux-gnu/faketime/libfaketime.so.1`,
  );
  return places.find((path) => existsSync(path)) ?? null;
}

/** What every program needs of this process' environment: where programs are, and the clock. */
export function programEnvironment(): Record<string, string> {
  const entries = ["PATH", ...CLOCK].map((name) => [name, process.env[name]] as const);
  return Object.fromEntries(
    entries.filter((entry): entry is readonly [string, string] => entry[1] !== undefined),
  );
}

/** LD_PRELOAD for a program with a library of the test's own. */
export const preloading = (library: string): string =>
  [library, process.env["LD_PRELOAD"]].filter(Boolean).join(" ");
