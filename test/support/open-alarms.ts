import type { SensorState } from "../../src/core/agent-status.ts";
import { EngineFailures } from "../../src/core/engine-failures.ts";
import type { Site } from "../../src/core/site.ts";
import { fixedSite, type SiteSource } from "../../src/core/site-source.ts";
import { inOneGo } from "../../src/core/steps.ts";
import { type AlarmsHost, createRunning } from "../../src/features/alarms/alarms.ts";
import { createDiagnosis } from "../../src/features/diagnosis/diagnosis.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { createMetrics } from "../../src/lib/metrics.ts";
import { historyPages } from "../../src/pipeline/store/readings/history-pages.ts";
import type { StoreSteps } from "../../src/pipeline/store/store-steps.ts";
import { alarmLogOf } from "./alarm-log.ts";
import { machinesOf } from "./machines-of.ts";
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
  // Of the process that runs, before the log: it waits for them.
  let signals: StoreSteps = {};
  store.steps.list = [{ stored: (...of) => signals.stored?.(...of) }];
  const log = alarmLogOf(store);
  const gatewayNow = () => clock.now() + skewMs;
  const build = () => {
    const host = {
      site,
      tables: store.tables,
      keeping: null,
      history: historyPages(store.history),
      dayMedians: store.dayMedians,
      clock,
      failures: new EngineFailures({ clock, logger: silentLogger }),
      logger: silentLogger,
      metrics,
      gatewayNow,
      isGatewayTimeKnown: () => true,
      settledSensors: () => sensors,
      gateway: { state: { isUp: true } } as AlarmsHost["gateway"],
      settings: { alarmsEnabled: true, commandResponsePrefix: null },
      addAudit: () => {},
      memory: {} as AlarmsHost["memory"],
    };
    const machines = machinesOf(site, store, clock);
    const { wait } = machines;
    const diagnosis = createDiagnosis(host, wait);
    const running = createRunning(host, wait, log, diagnosis);
    const engines = Object.assign(running.engines, { findings: diagnosis.findings });
    return {
      ...running,
      engines,
      diagnosis,
      findingViews: diagnosis.views,
      wait,
      /** Loads what is stored; after the last step all follow what is. */
      *begin() {
        signals = machines;
        yield* machines.begin();
        yield* engines.open();
      },
    };
  };
  /** As a new process does over the same store. */
  const open = () => {
    const alarms = build();
    inOneGo(alarms.begin());
    return alarms;
  };
  return { alarms: open(), open, build, store, log, clock, gatewayNow, metrics, sensors };
}
