/** Stores that rows fill themselves, before the agent starts with them. */
import type { Lane } from "../../src/core/delivery/delivery.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { openStore } from "../../src/pipeline/store/sqlite-store.ts";
import type { Store } from "../../src/pipeline/store/store.ts";
import { COUNT } from "../../test/support/count.ts";
import { KEEP } from "../../test/support/keep.ts";
import { mainOf, uplinkOf } from "../../test/support/temp-database.ts";

/**
 * Closes the store again. Everything in it counts as delivered in these lanes: a new lane would start with all of it, and the agent
 * would send it during the measurement.
 */
export async function fillDeliveredStore(
  dataDir: string,
  lanes: readonly Lane[],
  fill: (store: Store) => Promise<void>,
): Promise<void> {
  const options = {
    dataDir,
    historyDays: 60,
    waveformDays: 30,
    keep: KEEP,
    count: COUNT,
    bufferMaxMb: 8192,
    diskFreeMinMb: 0,
    clock: systemClock,
    logger: silentLogger,
    // Nothing else shares a commit here, and waiting for other readings would take hours.
    commitWindowMs: 0,
  };
  const store = openStore({ ...options, uplinks: mainOf() });
  await fill(store);
  // As an agent that ran leaves it: an agent that starts on it would file its hours during the measurement.
  await store.retain();
  await store.close();
  const main = uplinkOf("main", lanes, { startFrom: "now" });
  await openStore({ ...options, uplinks: [main] }).close();
}
