import type { ReadingMarks } from "../core/set-aside.ts";
import type { Site } from "../core/site.ts";
import type { FeatureSpec } from "../features/feature.ts";
import { SPECS } from "../features/specs.ts";
import { notLasting } from "../lib/lasting-directory.ts";
import type { GatewayClient } from "../pipeline/gateway/client.ts";
import { openReadingMarks } from "../pipeline/store/recovery/reading-marks.ts";
import { openStore } from "../pipeline/store/sqlite-store.ts";
import type { Store } from "../pipeline/store/store.ts";
import { openGatewayClient, outboxUplink, storeSettings } from "./assemble.ts";
import type { AgentBase } from "./base.ts";

/** What holds files and sockets. */
export interface AgentResources {
  readonly store: Store;
  readonly marks: ReadingMarks;
  readonly gateway: GatewayClient;
}

/** Opens the store, which may take minutes if it is damaged. Throws StoreFailure `in_use` if another agent holds the directory. */
export async function openResources(base: AgentBase, open = openStore): Promise<AgentResources> {
  const { settings, site, configured, clock, gatewayClock, logger, metrics, notifier } = base;
  let bytesCounted = 0;
  const fleeting = notLasting(settings.dataDir);
  if (fleeting !== null) logger.warn({ dataDir: settings.dataDir }, `DATA_DIR ${fleeting}`);
  const store = open({
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
    failures: base.failures,
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
