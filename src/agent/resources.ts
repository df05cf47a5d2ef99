import type { ReadingMarks } from "../core/set-aside.ts";
import type { GatewayClient } from "../gateway/client.ts";
import { openReadingMarks } from "../store/recovery/reading-marks.ts";
import type { Store } from "../store/store.ts";
import { openAgentStore, openGatewayClient, outboxUplink } from "./assemble.ts";
import type { AgentBase } from "./base.ts";

/** What holds files and sockets. */
export interface AgentResources {
  readonly store: Store;
  readonly marks: ReadingMarks;
  readonly gateway: GatewayClient;
}

/** Opens the store, which may take minutes if it is damaged. Throws StoreFailure `in_use` if another agent holds the directory. */
export async function openResources(base: AgentBase): Promise<AgentResources> {
  const { settings, site, configured, clock, gatewayClock, logger, metrics, notifier } = base;
  const laneUplinks = configured.map((uplink) => outboxUplink(uplink, site.current.sensors));
  const store = openAgentStore(settings, laneUplinks, {
    clock,
    logger,
    metrics,
    site: () => site.current.site,
    gatewayNow: () => (gatewayClock.isKnown ? gatewayClock.now() : null),
    isClockConfirmed: () => gatewayClock.isConfirmed,
    // A step that ends proves that the process does not hang.
    onProgress: () => notifier?.working(),
  });
  try {
    const marks = openReadingMarks(settings.dataDir, { clock, logger });
    const gateway = openGatewayClient(settings, base.names, { clock, metrics, gate: base.gate });
    return { store, marks, gateway };
  } catch (error) {
    await store.close();
    throw error;
  }
}
