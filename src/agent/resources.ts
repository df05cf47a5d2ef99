import type { Site } from "../core/site.ts";
import type { ReadingMarks } from "../core/status/set-aside.ts";
import type { FeatureSpec } from "../features/feature.ts";
import { SPECS } from "../features/specs.ts";
import { notLasting } from "../lib/lasting-directory.ts";
import type { GatewayClient } from "../pipeline/gateway/client.ts";
import { StoreFailure } from "../pipeline/store/database/store-failure.ts";
import { openReadingMarks } from "../pipeline/store/recovery/reading-marks.ts";
import { openStore } from "../pipeline/store/sqlite-store.ts";
import type { Store } from "../pipeline/store/store.ts";
import { openGatewayClient, outboxUplink, storeSettings } from "./assemble.ts";
import type { AgentBase } from "./base.ts";

/** A start outlasts the moment in which a command looks whether the lock of the directory is held, ms. */
const LOOKED_AT_MS = 200;
/** How long a start waits for a program that writes to the store, ms: systemd then starts the next one. */
const BUSY_MS = 60_000;
const RETRY_MS = 50;

/** What holds files and sockets. */
export interface AgentResources {
  readonly store: Store;
  readonly marks: ReadingMarks;
  readonly gateway: GatewayClient;
}

/** Opens the store, which may take minutes if it is damaged. Throws StoreFailure `in_use` if another agent holds the directory. */
export async function openResources(base: AgentBase, openNow = openStore): Promise<AgentResources> {
  const { settings, site, configured, clock, gatewayClock, logger, metrics, notifier } = base;
  let bytesCounted = 0;
  const fleeting = notLasting(settings.dataDir);
  if (fleeting !== null) logger.warn({ dataDir: settings.dataDir }, `DATA_DIR ${fleeting}`);
  const store = await patiently(base, openNow, {
    ...storeSettings(settings),
    steps: SPECS.flatMap(({ steps = [] }: FeatureSpec) => steps),
    uplinks: configured.map((uplink) => outboxUplink(uplink, site.current.sensors)),
    clock,
    logger,
    site: () => site.current.site,
    gatewayNow: () => (gatewayClock.isKnown ? gatewayClock.now() : null),
    isClockConfirmed: () => gatewayClock.isConfirmed,
    onCommit(seconds, bytesWritten) {
      metrics.commitDuration.observe(seconds);
      metrics.commits.inc();
      metrics.diskWrittenBytes.inc(bytesWritten - bytesCounted);
      bytesCounted = bytesWritten;
    },
    // A step that ends proves that the process does not hang.
    onProgress: () => notifier?.working(),
    onDropped: (reason, count) => metrics.dropped.inc({ reason }, count),
    notLasting: fleeting,
    onDamaged: (table) => metrics.storeDamaged.inc({ table }),
    onNotSelected: (uplink, count) => metrics.uplinkNotSelected.inc({ uplink }, count),
    onLost: (uplink, reason, count) => metrics.uplinkDropped.inc({ uplink, reason }, count),
  });
  const spell = ({ sensors }: Site) => store.spell(sensors.map(({ code }) => code));
  spell(site.current);
  // Before any part that publishes follows the change.
  site.onChange(spell);
  try {
    const marks = openReadingMarks(settings.dataDir, { clock, logger });
    const gateway = openGatewayClient(settings, base.names, { clock, metrics, gate: base.gate });
    return { store, marks, gateway };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** No lock is waited for inside SQLite. Throws StoreFailure. */
async function patiently(
  { clock, logger, notifier }: Pick<AgentBase, "clock" | "logger" | "notifier">,
  open: typeof openStore,
  options: Parameters<typeof openStore>[0],
): Promise<Store> {
  const startedAt = clock.monotonic();
  for (let tries = 0; ; tries++) {
    try {
      return open(options);
    } catch (error) {
      const { code } = StoreFailure.from(error, "open the store");
      const waitMax = code === "in_use" ? LOOKED_AT_MS : code === "held" ? BUSY_MS : 0;
      if (clock.monotonic() - startedAt >= waitMax) throw error;
      if (tries === 0 && code === "held")
        logger.warn({ err: error }, "another program holds the store; the start waits for it");
    }
    notifier?.working();
    await clock.sleep(RETRY_MS);
  }
}
