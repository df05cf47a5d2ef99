/** The agent of another commit under the same seeds: what it published and stored must be the same. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { bundleAgent } from "./program.ts";

/** Messages that differ with every change of the agent: counts, sizes, versions. */
const PASSING = /\/agent\/(stats|state) /;

/** Bundles the agent of a commit of this repository; returns the file. */
export async function bundleCommit(commit: string, directory: string): Promise<string> {
  const tree = join(directory, "other");
  mkdirSync(tree);
  const archive = execFileSync(
    "git",
    ["archive", commit, "src", "config", "package.json", "tsconfig.json"],
    {
      maxBuffer: 1 << 28,
    },
  );
  execFileSync("tar", ["x", "-C", tree], { input: archive });
  symlinkSync(resolve("node_modules"), join(tree, "node_modules"));
  const agent = join(directory, "other.cjs");
  await bundleAgent(tree, agent);
  return agent;
}

interface Line {
  readonly at: string;
  readonly topic: string;
  readonly payload: string;
}

/** Journals and rows of both; null if they are equal. Under faults, what each id contains counts, not its order or topic. */
export function firstDifference(ours: string, theirs: string, hasFaults: boolean): string | null {
  const [a, b] = [linesOf(ours), linesOf(theirs)];
  if (hasFaults) return differenceOf(contentsOf(a), contentsOf(b));
  const rows = (path: string) =>
    new Map(
      readFileSync(`${path}.rows`, "utf8")
        .split("\n")
        .map((row) => [row, row]),
    );
  return differenceOf(inOrder(a), inOrder(b)) ?? differenceOf(rows(ours), rows(theirs));
}

function linesOf(path: string): Line[] {
  return readFileSync(path, "utf8")
    .split("\n")
    .flatMap((line) => {
      const [, at = "", topic = "", payload = ""] =
        /^(\S+) (?:main|cloud): (\S+) (.*)$/.exec(line) ?? [];
      return topic === "" || PASSING.test(`${topic} `) ? [] : [{ at, topic, payload }];
    });
}

/** By topic and position; virtual time is left out, because an additional callback may shift it within a millisecond. */
function inOrder(lines: readonly Line[]): Map<string, string> {
  const counts = new Map<string, number>();
  return new Map(
    lines.map(({ at, topic, payload }) => {
      const n = (counts.get(topic) ?? 0) + 1;
      counts.set(topic, n);
      return [`${topic} ${n}`, `${payload}\n    at ${at}`];
    }),
  );
}

/** What no reading caused has the moment at which the agent came to it: a millisecond more or less is no difference. */
const BY_TIME = /"alarm":"silent"|"text":"[^"]*(is no longer configured|is disabled)/;
const MOMENTS = /"(time|raised|text)":"[^"]*"|"measured":\d+/g;

function contentsOf(lines: readonly Line[]): Map<string, string> {
  return new Map(
    lines.flatMap(({ at, topic, payload }) => {
      const id = /"id":"([0-9a-f]{32})"/.exec(payload)?.[1];
      // An alarm's retained topic shows it as it is when it is sent again; its events are compared.
      if (id === undefined || topic.includes("/alarm/")) return [];
      const whole = payload.replace(/,"historical":(true|false)/, "");
      const content = BY_TIME.test(whole) ? whole.replace(MOMENTS, "") : whole;
      return [[`${topic.replace(/\/history$/, "")} ${id}`, `${content}\n    at ${at}`]];
    }),
  );
}

/** The first in time of `a`, then what only `b` has. */
function differenceOf(
  a: ReadonlyMap<string, string>,
  b: ReadonlyMap<string, string>,
): string | null {
  const contentOf = (text: string | undefined) => text?.split("\n    at ")[0];
  for (const [key, text] of a)
    if (contentOf(text) !== contentOf(b.get(key)))
      return `${key}\n  ours:   ${text}\n  theirs: ${b.get(key) ?? "nothing"}`;
  for (const [key, text] of b)
    if (!a.has(key)) return `${key}\n  ours:   nothing\n  theirs: ${text}`;
  return null;
}
