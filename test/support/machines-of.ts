/** State and speed of machines over a store, as a new process of an agent follows them. */
import { EngineFailures } from "../../src/core/engine-failures.ts";
import type { Clock } from "../../src/core/ports.ts";
import type { SiteSource } from "../../src/core/site-source.ts";
import { createMachines } from "../../src/features/machines/machines.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import type { Store } from "../../src/pipeline/store/store.ts";

/** It follows what is stored, once its `begin` has run: then `steps` are the store's. */
export function machinesOf(site: SiteSource, store: Store, clock: Clock) {
  return createMachines({
    site,
    clock,
    tables: store.tables,
    readings: { history: store.history },
    settings: { gatewayTimezone: "UTC" },
    pendingDays: () => [],
    failures: new EngineFailures({ clock, logger: silentLogger }),
  });
}
