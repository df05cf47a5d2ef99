/** Summary of a .cpuprofile of Node: self time by function and by file, as shares of the busy time. */
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

interface ProfileNode {
  readonly id: number;
  readonly callFrame: {
    readonly functionName: string;
    readonly url: string;
    readonly lineNumber: number;
  };
  readonly children?: readonly number[];
}
interface Profile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

export interface Share {
  readonly name: string;
  /** Of the busy time. */
  readonly percent: number;
}

export interface ProfileSummary {
  readonly busyMs: number;
  /** Time in the function itself. */
  readonly self: readonly Share[];
  /** Time in the function and everything it called. */
  readonly total: readonly Share[];
}

/** Not the program's work: waiting, and the profiler's own start. */
const IDLE = new Set(["(idle)", "(program)", "(root)"]);

/** The newest profile of a directory, summarised. @param lastMs of its end; by default all of it */
export function readProfile(directory: string, lastMs = Number.POSITIVE_INFINITY): ProfileSummary {
  const file = readdirSync(directory).find((name) => name.endsWith(".cpuprofile"));
  if (file === undefined) throw new Error(`no profile in ${directory}`);
  return summarise(JSON.parse(readFileSync(join(directory, file), "utf8")) as Profile, lastMs);
}

function summarise({ nodes, samples, timeDeltas }: Profile, lastMs: number): ProfileSummary {
  const skippedUs = timeDeltas.reduce((sum, us) => sum + us, 0) - 1000 * lastMs;
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map<number, number>();
  for (const node of nodes) for (const child of node.children ?? []) parents.set(child, node.id);
  const self = new Map<string, number>();
  const total = new Map<string, number>();
  let busyUs = 0;
  let passedUs = 0;
  samples.forEach((id, index) => {
    const node = byId.get(id);
    const us = timeDeltas[index] ?? 0;
    passedUs += us;
    if (passedUs < skippedUs) return;
    if (node === undefined || IDLE.has(node.callFrame.functionName)) return;
    busyUs += us;
    self.set(nameOf(node), (self.get(nameOf(node)) ?? 0) + us);
    const seen = new Set<string>();
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const frame = byId.get(at);
      if (frame === undefined) break;
      const name = nameOf(frame);
      if (!seen.has(name)) total.set(name, (total.get(name) ?? 0) + us);
      seen.add(name);
    }
  });
  return { busyMs: busyUs / 1000, self: shares(self, busyUs), total: shares(total, busyUs) };
}

function nameOf({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  const place =
    url === "" ? "" : ` ${url.startsWith("node:") ? url : basename(url)}:${lineNumber + 1}`;
  return `${functionName || "(anonymous)"}${place}`;
}

function shares(times: ReadonlyMap<string, number>, allUs: number): Share[] {
  return [...times]
    .map(([name, us]) => ({ name, percent: (100 * us) / allUs }))
    .sort((a, b) => b.percent - a.percent);
}
