/** The engines of alarms and findings over the store: they load their states from it, and follow what is stored. */

import type { ActiveAlarms } from "../../core/agent-status.ts";
import type { UsualLevel } from "../../core/alarm/context.ts";
import { AlarmEngine } from "../../core/alarm/engine.ts";
import type { AlarmEvent } from "../../core/alarm/event.ts";
import type { AlarmStore } from "../../core/alarm/ports.ts";
import { FindingEngine } from "../../core/diagnosis/engine.ts";
import type { EngineFailures } from "../../core/engine-failures.ts";
import { median } from "../../core/lists/median.ts";
import type { Logger } from "../../core/ports.ts";
import type { DayMedianStore } from "../../core/query/day-medians.ts";
import type { SiteSource } from "../../core/site-source.ts";
import { DAY_MS } from "../../core/time-units.ts";
import type { Metrics } from "../../lib/metrics.ts";
import { isStoreFault } from "../../pipeline/store/database/store-failure.ts";
import { createWait, primeNewest, type SignalOptions, type StoredHistory } from "./priming.ts";

export interface EngineParts extends SignalOptions {
  readonly site: SiteSource;
  readonly store: AlarmStore;
  readonly history: StoredHistory;
  readonly dayMedians: Pick<DayMedianStore, "of">;
  readonly logger: Logger;
  readonly failures: EngineFailures;
  readonly metrics: Pick<Metrics, "alarmsActive" | "findingsActive">;
}

const USUAL_DAYS = 30;
const USUAL_DAYS_MIN = 7;

function usualLevelOf(dayMedians: EngineParts["dayMedians"]): UsualLevel {
  return (sensor, value, timeMs) => {
    const day = Math.floor(timeMs / DAY_MS);
    const medians = dayMedians
      .of(sensor, "accel", day - USUAL_DAYS, day)
      .flatMap(({ values }) => values[value]?.median ?? []);
    return medians.length < USUAL_DAYS_MIN ? null : median(medians);
  };
}

type EventListener = (events: readonly AlarmEvent[]) => void;

export class AlarmEngines {
  readonly alarms: AlarmEngine;
  readonly findings: FindingEngine;
  readonly #parts: EngineParts;
  readonly #listeners = new Set<EventListener>();
  #active: ActiveAlarms = { warning: 0, alarm: 0 };

  constructor(parts: EngineParts) {
    this.#parts = parts;
    const { history, site, store } = parts;
    const wait = createWait(site.current, history, parts, store.waiting);
    this.findings = new FindingEngine(site.current, { wait });
    this.alarms = new AlarmEngine(site.current, {
      wait,
      findings: this.findings,
      usualLevel: usualLevelOf(parts.dayMedians),
      onFound: (err, sensor) => {
        if (err === null) return parts.failures.worked("diagnosis", sensor);
        if (isStoreFault(err)) throw err;
        parts.failures.failed("diagnosis", sensor, err, "diagnosis failed");
      },
    });
  }

  /** Active ones that are not shelved. */
  get active(): ActiveAlarms {
    return this.#active;
  }

  get signals() {
    return { wait: this.alarms.wait, open: () => this.open() };
  }

  /** Loads the states from the store, in steps; after the last one the engines follow what is stored, and the site file. */
  *open(): Generator<void, void> {
    const { history, logger, site, store } = this.#parts;
    const damaged = yield* this.alarms.loading(store.saved());
    for (const [table, rows] of Object.entries(damaged))
      for (const row of rows) store.damaged(table, row);
    const sensors = [...damaged.alarm_states, ...damaged.alarm_samples];
    if (sensors.length > 0) {
      logger.error(
        { sensors },
        "alarm states are damaged; alarms that persist will be raised again",
      );
    }
    yield* primeNewest(history, site.current, this.alarms);
    yield* this.alarms.wait.loadSignals();
    store.follower = this.alarms;
    store.onEvents = (events) => this.#announce(events);
    this.#count();
    site.onChange((next) => this.alarms.setSite(next));
  }

  /** Calls the listener with the events of each commit. Returns how to stop that. */
  onEvents(listener: EventListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #announce(events: readonly AlarmEvent[]): void {
    this.#count();
    for (const listener of this.#listeners) listener(events);
  }

  #count(): void {
    const shown = [...this.alarms.alarms()].filter(
      ({ state: { raised, shelved } }) => raised !== null && shelved === null,
    );
    const { alarmsActive, findingsActive } = this.#parts.metrics;
    const counts = { warning: 0, alarm: 0 };
    for (const severity of ["warning", "alarm"] as const) {
      const rank = severity === "alarm" ? 2 : 1;
      const own = shown.filter(({ state }) => state.watch.active?.rank === rank);
      counts[severity] = own.length;
      const acknowledged = own.filter(({ state }) => state.acknowledged !== null).length;
      alarmsActive.set({ severity, acknowledged: "true" }, acknowledged);
      alarmsActive.set({ severity, acknowledged: "false" }, own.length - acknowledged);
    }
    this.#active = counts;
    const stages = this.findings.stages();
    for (const stage of [1, 2, 3] as const) {
      findingsActive.set({ stage: `${stage}` }, stages.filter((one) => one === stage).length);
    }
  }
}
