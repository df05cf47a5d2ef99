import type { DayKey } from "../../core/day.ts";
import type { Clock } from "../../core/ports.ts";
import type {
  BackfillJobs,
  BackfillProgress,
  BackfillRequest,
  BackfillStart,
} from "../../core/query/ports.ts";
import { isRead, sameCode } from "../../core/sensor.ts";
import { type Site } from "../../core/site.ts";
import type { SiteSource } from "../../core/site-source.ts";
import { addDays, dayOf, isDay } from "../../core/time/time-zone.ts";
import type { BackfillJob } from "./backfill-job.ts";

/** One request covers at most this many days: longer ranges are requested in parts. */
const DAYS_MAX = 400;
/** Failures listed in a response. */
const NOTES_MAX = 100;
/** Until the gateway has sent its time ours is used, which may be this much behind, ms. */
const CLOCK_SLACK_MS = 15 * 60_000;
/** Our clock before this time belongs to a box that does not know the time yet, and says nothing about days. */
const PLAUSIBLE_SINCE_MS = Date.UTC(2024, 0, 1);

export interface BackfillParts {
  readonly site: SiteSource;
  readonly clock: Clock;
  /** The gateway's clock, ms, and its zone: future days there cannot be read. */
  readonly gatewayNow: () => number;
  readonly zone: string;
  /** Queues the reads; see Poller.backfill. */
  readonly read: (days: readonly string[], sensor: string | null) => BackfillJob;
  /** False if a day's identities are forgotten, so that reading it could send duplicates. */
  readonly canReread: (key: DayKey) => boolean;
}

/** Runs one backfill at a time on behalf of the command line and the dashboard. */
export function createBackfillJobs(parts: BackfillParts): BackfillJobs {
  let last: { readonly progress: () => BackfillProgress } | null = null;
  let count = 0;

  const start = (request: BackfillRequest): BackfillStart => {
    const today = todayOf(parts);
    const fault = faultOf(request, parts.site.current, today);
    if (fault !== null) return { accepted: false, reason: "invalid", detail: fault };
    const running = last?.progress();
    if (running?.state === "running") {
      const detail = `a backfill of ${running.request.from} to ${running.request.to} is running`;
      return { accepted: false, reason: "busy", detail };
    }
    const { days, refused } = split(request, parts, today);
    const job = parts.read(days, request.sensor);
    count += 1;
    const id = count;
    const startedAtMs = parts.clock.now();
    let endedAtMs: number | null = null;
    void job.finished.then(() => {
      endedAtMs = parts.clock.now();
    });
    const progress = (): BackfillProgress => {
      const isDone = job.done >= job.total;
      const isNone = job.total === 0 ? refused.length > 0 : job.failures.length === job.total;
      const isFailed = isDone && isNone;
      return {
        job: id,
        request,
        state: !isDone ? "running" : isFailed ? "failed" : "done",
        startedAtMs,
        endedAtMs,
        reads: { done: job.done, failed: job.failures.length, total: job.total },
        stored: job.stored,
        duplicates: job.known,
        notes: [...refused, ...job.failures].slice(0, NOTES_MAX),
      };
    };
    last = { progress };
    return { accepted: true, progress: progress() };
  };
  return { start, current: () => last?.progress() ?? null };
}

/** Null if it is unknown. */
function todayOf({ gatewayNow, zone }: BackfillParts): string | null {
  const nowMs = gatewayNow();
  return nowMs < PLAUSIBLE_SINCE_MS ? null : dayOf(nowMs + CLOCK_SLACK_MS, zone);
}

function faultOf(
  { from, to, sensor }: BackfillRequest,
  site: Site,
  today: string | null,
): string | null {
  for (const day of [from, to])
    if (!isDay(day)) return `${JSON.stringify(day)} is not a valid day; write it like 2026-11-20`;
  if (to < from) return `the last day, ${to}, is before the first, ${from}`;
  if (today !== null && from > today)
    return `${from} is in the future: the date at the gateway is ${today}`;
  if (addDays(from, DAYS_MAX) <= to) return `more than ${DAYS_MAX} days; request fewer at a time`;
  if (sensor !== null) {
    const configured = site.sensors.find(({ code }) => sameCode(code, sensor));
    if (configured === undefined) return `sensor ${sensor} is not in the site file`;
    if (!isRead(configured))
      return `sensor ${sensor} is not read: "enabled" is false in the site file`;
  }
  return null;
}

/** Newest day first, as on a start; days that would cause duplicates are named instead of read. */
function split(request: BackfillRequest, { site, canReread }: BackfillParts, today: string | null) {
  const days: string[] = [];
  const refused: string[] = [];
  const isCut = today !== null && request.to > today;
  const last = isCut ? today : request.to;
  if (isCut) {
    const next = addDays(last, 1);
    const what = next === request.to ? next : `${next} to ${request.to}`;
    refused.push(
      `${what}: not read, because it is in the future: the date at the gateway is ${today}`,
    );
  }
  for (let day = last; day >= request.from; day = addDays(day, -1)) {
    const isSafe = site.current.sensors
      .filter(isRead)
      .filter(({ code }) => request.sensor === null || sameCode(code, request.sensor))
      .every(({ code, kinds }) => kinds.every((kind) => canReread({ sensor: code, kind, day })));
    if (isSafe) days.push(day);
    else
      refused.push(
        `${day}: not read; the agent no longer remembers its records, so they could be sent twice`,
      );
  }
  return { days, refused };
}
