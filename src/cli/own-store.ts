import { existsSync } from "node:fs";
import { join } from "node:path";
import { outboxUplink, storeSettings } from "../agent/assemble.ts";
import { laneChangeText, lanesOf } from "../core/delivery/lane-plan.ts";
import type { Uplink } from "../core/uplink.ts";
import { systemClock } from "../lib/clock.ts";
import { silentLogger } from "../lib/logger.ts";
import { nativeBinding } from "../lib/paths.ts";
import { StoreFailure } from "../pipeline/store/database/store-failure.ts";
import { laneChangesAhead } from "../pipeline/store/read-only-store.ts";
import { openStore } from "../pipeline/store/sqlite-store.ts";
import type { Store } from "../pipeline/store/store.ts";
import type { ComparedConfiguration } from "./configuration.ts";

/**
 * The store, for a command that does an agent's work while none runs. Throws StoreFailure, also where the uplinks file, which
 * somebody may be editing, lacks what readings are pending for: only an agent gives them up.
 */
export function openOwnStore({ settings, site, uplinks }: ComparedConfiguration): Store {
  refuseToDrop(settings.dataDir, uplinks);
  return openStore({
    ...storeSettings(settings),
    uplinks: uplinks.map((uplink) => outboxUplink(uplink, site.sensors)),
    clock: systemClock,
    logger: silentLogger,
  });
}

function refuseToDrop(dataDir: string, uplinks: readonly Uplink[]): void {
  if (!existsSync(join(dataDir, "gateside.db"))) return;
  const wanted = uplinks.map((uplink) => ({ ...uplink, lanes: lanesOf(uplink) }));
  const dropped = laneChangesAhead(dataDir, wanted, nativeBinding()).filter(
    ({ what }) => what === "uplink_removed" || what === "format_off",
  );
  if (dropped.length === 0) return;
  throw new StoreFailure(
    "unusable",
    `readings are pending that the settings no longer send (${dropped.map(laneChangeText).join("; ")}): put the uplink back, or start the agent, which drops them`,
  );
}
