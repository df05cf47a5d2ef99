import type { Clock, Logger } from "../../core/ports.ts";
import type { CollectMetrics } from "../metrics.ts";
import { requirePrimary } from "./connection.ts";
import { messageOf } from "./failure.ts";
import { KEEP_DAYS_MIN, raiseHorizon } from "./horizon.ts";
import { hasLeavingWeeks, removeLeavingWeeks } from "./leaving-weeks.ts";
import type { Writer } from "./writer.ts";

interface MaintenanceParts {
  readonly url: string;
  readonly writer: Writer;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: CollectMetrics;
}

/** Interval at which an idle writer looks whether its server still accepts writes, ms. */
const PROBE_MS = 5000;
/** Interval at which weeks are created ahead and the horizon rises, ms. */
const AHEAD_MS = 3_600_000;
/** Interval at which expired weeks are removed: one that was being read leaves soon after, ms. */
const REMOVE_MS = 60_000;

/** What a collector does besides writing batches, until aborted. A failure is logged and costs nothing: the next round does it. */
export async function maintain(
  { url, writer, clock, logger, metrics }: MaintenanceParts,
  keepDays: number | null,
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
  const ahead = () =>
    writer.maintain(async ({ client, partitions }) => {
      if (keepDays !== null) await raiseHorizon(client, clock.now(), keepDays);
      await partitions.ahead(client, clock.now());
    });
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
    rounds(REMOVE_MS, "expired tables cannot be dropped", remove),
  ]);
}
