const FAKED_CLOCK = ["LD_PRELOAD", "FAKETIME", "FAKETIME_DONT_FAKE_MONOTONIC", "TZ"] as const;

/** What every program needs of this process' environment: where programs are, and the clock that `npm run hours` sets. */
export function programEnvironment(): Record<string, string> {
  const names = ["PATH", ...FAKED_CLOCK];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** For a program with a library of the test's own in front. */
export const preloading = (library: string): string =>
  [library, process.env["LD_PRELOAD"]].filter(Boolean).join(" ");
