import type { Site } from "../../src/core/site.ts";
import { ReplaceableSite } from "../../src/core/site-source.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import type { DayRead, ReadRequest } from "../../src/pipeline/poll/day-read.ts";
import { GatewayClock } from "../../src/pipeline/poll/gateway-clock.ts";
import { Poller } from "../../src/pipeline/poll/poller.ts";
import { ManualClock } from "./manual-clock.ts";

const HOUR_MS = 3_600_000;

/** A read that found nothing new. */
export const GOOD_READ = {
  ok: true,
  durationMs: 10,
  stored: 0,
  known: 0,
  newTimesMs: [],
  offsetMinutes: null,
} as const satisfies DayRead;

interface PollerScript {
  readonly site: Site;
  readonly readDay: (request: ReadRequest, clock: ManualClock) => Promise<DayRead>;
  /** 2026-11-20, noon UTC, unless given. */
  readonly startAt?: string;
  /** Whether days were read before; false unless given. */
  readonly wasRead?: boolean;
  readonly backfillDays: number;
  /** Times of the newest stored readings, ascending; none unless given. */
  readonly storedMs?: readonly number[];
  /** Whether these were stored one by one; false unless given. */
  readonly cameSingly?: boolean;
  /** An hour unless given. */
  readonly intervalMs?: number;
  readonly concurrency: number;
  /** What the poller keeps for the next process. */
  readonly memory?: Map<string, string>;
  /** Whether the buffer is full of what is being delivered; false unless given. */
  readonly isHeldBack?: () => boolean;
  /** Called before its first turn. */
  readonly beforeRun?: (poller: Poller) => void;
  /** How long a day is set aside, ms; 0 unless given. */
  readonly setAsideMs?: (day: string, clock: ManualClock) => number;
}

/** A running poller in UTC over a clock that is turned by hand and reads that the test plays; it ends with the test. */
export function startPoller(
  t: { after(end: () => Promise<void>): void },
  script: PollerScript,
): { readonly clock: ManualClock; readonly site: ReplaceableSite; readonly poller: Poller } {
  const clock = new ManualClock(script.startAt ?? "2026-11-20T12:00:00Z");
  const site = new ReplaceableSite(script.site);
  const poller = new Poller(
    {
      clock,
      gatewayClock: new GatewayClock(clock),
      logger: silentLogger,
      memory: {
        get: (name) => script.memory?.get(name) ?? null,
        set: (name, text) => void script.memory?.set(name, text),
      },
      newestTimeMs: () => script.storedMs?.at(-1) ?? null,
      recentTimes: (streams) =>
        streams.map(() => ({
          timesMs: script.storedMs ?? [],
          cameSingly: script.cameSingly ?? false,
          offsetMinutes: null,
        })),
      readOn: () => () => script.wasRead ?? false,
      readDay: (request) => script.readDay(request, clock),
      isHeldBack: () => script.isHeldBack?.() ?? false,
      setAsideMs: ({ day }) => script.setAsideMs?.(day, clock) ?? 0,
    },
    {
      zone: "UTC",
      lateGraceMs: 2 * HOUR_MS,
      backfillDays: script.backfillDays,
      intervalMs: script.intervalMs ?? HOUR_MS,
      concurrency: script.concurrency,
      random: () => 0.5,
    },
    site,
  );
  script.beforeRun?.(poller);
  const ending = new AbortController();
  const done = poller.run(ending.signal);
  t.after(async () => {
    ending.abort();
    await done;
  });
  return { clock, site, poller };
}
