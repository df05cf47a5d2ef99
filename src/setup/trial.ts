import type { AgentStatus } from "../core/agent-status.ts";
import type { Clock } from "../core/ports.ts";

/** A trial is won when links and reads have been at least as good as before for this long without a break, ms. */
const STEADY_MS = 60_000;
const LOOK_MS = 500;

/** What works at a moment: links by name, reads by sensor and kind. */
export interface Wellness {
  readonly links: ReadonlySet<string>;
  readonly reads: ReadonlySet<string>;
}

export function wellnessOf(status: AgentStatus): Wellness {
  return {
    links: new Set(status.links.flatMap((link) => (link.isConnected ? [linkName(link)] : []))),
    reads: new Set(
      status.sensors.flatMap(({ code, kinds }) =>
        // A response without records is not an error, but it is also what a wrong code or type gives.
        kinds.flatMap(({ kind, lastReadAtMs, lastError, hasRecords }) => [
          ...(lastReadAtMs !== null && lastError === null ? [`${code} ${kind}`] : []),
          ...(hasRecords === true ? [`records of ${code} ${kind}`] : []),
        ]),
      ),
    ),
  };
}

/** What worked before, is still configured, and does not work now; empty: at least as good as before. */
function worseThan(before: Wellness, status: AgentStatus): string[] {
  const now = wellnessOf(status);
  const links = new Set(status.links.map(linkName));
  const reads = new Set(
    status.sensors.flatMap(({ code, kinds }) =>
      kinds.flatMap(({ kind }) => [`${code} ${kind}`, `records of ${code} ${kind}`]),
    ),
  );
  const lost = (was: ReadonlySet<string>, is: ReadonlySet<string>, known: ReadonlySet<string>) =>
    [...was].filter((name) => known.has(name) && !is.has(name));
  const noLink = before.links.size > 0 && now.links.size === 0 ? ["every link"] : [];
  const noRead = before.reads.size > 0 && reads.size > 0 && now.reads.size === 0;
  return [
    ...noLink,
    ...lost(before.links, now.links, links).map((name) => `link ${name}`),
    ...(noRead ? ["every read"] : lost(before.reads, now.reads, reads).map((n) => `read ${n}`)),
  ];
}

/** Resolves with what became worse by the end; empty: the trial is won. Null once aborted. */
export async function runTrial(
  before: Wellness,
  parts: { readonly clock: Clock; readonly status: () => AgentStatus },
  trialMs: number,
  signal: AbortSignal,
): Promise<readonly string[] | null> {
  const { clock, status } = parts;
  const endsAt = clock.monotonic() + trialMs;
  const steadyMs = Math.min(STEADY_MS, trialMs / 2);
  let wellSince: number | null = null;
  for (;;) {
    const worse = worseThan(before, status());
    const now = clock.monotonic();
    if (worse.length > 0) wellSince = null;
    else wellSince ??= now;
    if (wellSince !== null && now - wellSince >= steadyMs) return [];
    if (now >= endsAt) return worse.length > 0 ? worse : ["connections or reads were not stable"];
    await clock.sleep(Math.min(LOOK_MS, Math.max(1, endsAt - now)), signal);
    if (signal.aborted) return null;
  }
}

function linkName(link: { readonly name: string; readonly uplink?: string }): string {
  return link.uplink === undefined ? link.name : `${link.uplink} ${link.name}`;
}
