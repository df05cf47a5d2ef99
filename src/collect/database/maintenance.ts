import type { ClientBase } from "pg";
import type { CollectOptions } from "../../core/collect-options.ts";
import type { Runtime } from "../../core/ports.ts";
import { messageOf } from "../../core/thrown.ts";
import { DAY_MS, HOUR_MS } from "../../core/time-units.ts";
import type { CollectMetrics } from "../metrics.ts";
import { dropConnection, openConnection, requirePrimary } from "./connection.ts";
import { horizonOf, KEEP_DAYS_MIN, raiseHorizon } from "./horizon.ts";
import { dropHours, hasDueHours, settleHours } from "./hours.ts";
import { hasLeavingWeeks, removeLeavingWeeks } from "./leaving-weeks.ts";
import type { Writer } from "./writer.ts";

interface MaintenanceParts extends Runtime {
  readonly url: string;
  readonly writer: Writer;
  readonly metrics: CollectMetrics;
}

/** Interval at which an idle writer looks whether its server still accepts writes, ms. */
const PROBE_MS = 5000;
/** Interval at which weeks are created ahead, the horizon rises, and old months leave, ms. */
const AHEAD_MS = HOUR_MS;
/** Interval at which hours and days that are over, or that readings came late for, are stored, ms. */
const HOURS_MS = 20_000;
/** Interval at which expired weeks are removed: one that was being read leaves soon after, ms. */
const REMOVE_MS = 60_000;

/** What a collector does besides writing batches, until aborted. A failure is logged and costs nothing: the next round does it. */
export async function maintain(
  { url, writer, clock, logger, metrics }: MaintenanceParts,
  { keepDays, keepHoursDays }: Pick<CollectOptions, "keepDays" | "keepHoursDays">,
  signal: AbortSignal,
): Promise<void> {
  const rounds = async (everyMs: number, what: string, work: () => Promise<void>) => {
    while (!signal.aborted) {
      await work().catch((error: unknown) => {
        if (!signal.aborted) logger.warn({ error: messageOf(error) }, `${what}; trying again`);
      });
      await clock.sleep(everyMs, signal);
    }
  };
  /** The writer keeps the reason of a failure, and the next batch logs it. */
  const probe = () => writer.maintain(({ client }) => requirePrimary(client)).catch(() => {});
  let seenMs: number | null = null;
  const raise = async (client: ClientBase, days: number) => {
    const before = await horizonOf(client);
    const after = await raiseHorizon(client, clock.now(), days);
    const times = { keepDays: days, from: isoOf(before), to: isoOf(after) };
    if (after > before)
      // A week at a time is its usual way.
      logger[after - before > 7 * DAY_MS ? "warn" : "info"](
        times,
        "the horizon rises, for all collectors of this database and for good: what is older is refused, and its weeks are dropped",
      );
    else if (after !== seenMs && after > clock.now() - Math.max(days, KEEP_DAYS_MIN) * DAY_MS)
      logger.warn(
        { keepDays: days, horizon: isoOf(after) },
        "a collector with fewer --keep-days has raised the horizon: this one cannot keep what is older, and the horizon never sinks",
      );
    seenMs = after;
  };
  const ahead = () =>
    writer.maintain(async ({ client, partitions }) => {
      if (keepDays !== null) await raise(client, keepDays);
      await partitions.ahead(client, clock.now());
    });
  const hours = async () => {
    if (!(await writer.maintain(({ client }) => hasDueHours(client)))) return;
    const client = await openConnection(url, "gateside collect hours");
    const onAbort = () => dropConnection(client);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      await client.query("SET synchronous_commit = local");
      await settleHours(client, signal);
    } finally {
      signal.removeEventListener("abort", onAbort);
      dropConnection(client);
    }
  };
  const months = async () => {
    const dropped = await writer.maintain(({ client }) =>
      dropHours(client, clock.now(), keepHoursDays),
    );
    if (dropped > 0)
      logger.info({ dropped, keepHoursDays }, "dropped months of hourly and daily values");
  };
  const remove = async () => {
    if (!(await writer.maintain(({ client }) => hasLeavingWeeks(client)))) return;
    const dropped = await removeLeavingWeeks(url, logger, signal);
    metrics.partitionsDropped.inc(dropped);
    if (dropped > 0) logger.info({ dropped }, "dropped expired tables");
  };
  if (keepDays !== null && keepDays < KEEP_DAYS_MIN)
    logger.warn(
      { keepDays },
      `--keep-days counts as ${KEEP_DAYS_MIN}: boxes may still hold readings of that age`,
    );
  await Promise.all([
    rounds(PROBE_MS, "the database cannot be looked at", probe),
    rounds(AHEAD_MS, "partition maintenance failed", ahead),
    rounds(HOURS_MS, "hourly values cannot be stored", hours),
    rounds(AHEAD_MS, "old hourly values cannot be dropped", months),
    rounds(REMOVE_MS, "expired tables cannot be dropped", remove),
  ]);
}

const isoOf = (ms: number) => (Number.isFinite(ms) ? new Date(ms).toISOString() : null);
