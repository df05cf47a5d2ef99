import { createAlarms } from "../../src/agent/alarms/alarms.ts";
import { AlarmEngines } from "../../src/agent/alarms/engines.ts";
import type { SensorState } from "../../src/core/agent-status.ts";
import { EngineFailures } from "../../src/core/engine-failures.ts";
import type { Site } from "../../src/core/site.ts";
import { fixedSite, type SiteSource } from "../../src/core/site-source.ts";
import { inOneGo } from "../../src/core/steps.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { createMetrics } from "../../src/lib/metrics.ts";
import { ManualClock } from "./manual-clock.ts";
import { type Cleanup, mainOf, tempStore } from "./temp-database.ts";

/**
 * The alarms of an agent over a real store, without the agent: readings go in by `append`, people's words by the desk.
 * `skewMs`: how far the gateway's clock is ahead of ours.
 */
export function openAlarms(t: Cleanup, of: Site | SiteSource, nowMs: number, skewMs = 0) {
  const site = "current" in of ? of : fixedSite(of);
  const clock = new ManualClock(nowMs);
  const store = tempStore(t, { site: () => site.current.site, uplinks: mainOf("json") });
  const metrics = createMetrics();
  const sensors: SensorState[] = [];
  const parts = {
    site,
    store: store.alarms,
    history: store.history,
    dayMedians: store.dayMedians,
    clock,
    failures: new EngineFailures({ clock, logger: silentLogger }),
    logger: silentLogger,
    metrics,
    zone: "UTC",
    pendingDays: () => [],
    gatewayNow: () => clock.now() + skewMs,
    isGatewayTimeKnown: () => true,
    sensors: () => sensors,
    isGatewayUp: () => true,
  };
  const newEngines = () => new AlarmEngines(parts);
  /** As a new process does over the same store. */
  const open = () => {
    const engines = newEngines();
    inOneGo(engines.open());
    return createAlarms(engines, parts);
  };
  const { gatewayNow } = parts;
  return { alarms: open(), open, newEngines, store, clock, gatewayNow, metrics, sensors };
}
