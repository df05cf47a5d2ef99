import { outboxUplink, storeSettings } from "../agent/assemble.ts";
import { systemClock } from "../lib/clock.ts";
import { silentLogger } from "../lib/logger.ts";
import { openStore } from "../pipeline/store/sqlite-store.ts";
import type { Store } from "../pipeline/store/store.ts";
import type { ComparedConfiguration } from "./configuration.ts";

/** The store, for a command that does an agent's work while none runs. Throws StoreFailure. */
export function openOwnStore({ settings, site, uplinks }: ComparedConfiguration): Store {
  return openStore({
    ...storeSettings(settings),
    uplinks: uplinks.map((uplink) => outboxUplink(uplink, site.sensors)),
    clock: systemClock,
    logger: silentLogger,
  });
}
