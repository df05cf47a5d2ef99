/** The engine of alarms, with that of findings, over the store: they load their states from it, and follow what is stored. */

import type { ActiveAlarms } from "../../core/agent-status.ts";
import type { AlarmEvent } from "../../core/alarm/event.ts";
import type { EngineFailures } from "../../core/engine-failures.ts";
import { followedOne } from "../../core/followed-reading.ts";
import { median } from "../../core/lists/median.ts";
import type { Logger } from "../../core/ports.ts";
import type { DayMedianStore } from "../../core/query/day-medians.ts";
import type { HistoryReader } from "../../core/query/ports.ts";
import { streamsOf } from "../../core/sensor.ts";
import type { Site } from "../../core/site.ts";
import type { SiteSource } from "../../core/site-source.ts";
import { DAY_MS } from "../../core/time-units.ts";
import type { Metrics } from "../../lib/metrics.ts";
import { isStoreFault } from "../../pipeline/store/database/store-failure.ts";
import type { Wait } from "../machines/api.ts";
import type { AlarmLog } from "./alarm-log.ts";
import type { Diagnosing } from "./api.ts";
import type { UsualLevel } from "./rules/context.ts";
import { AlarmEngine } from "./rules/engine.ts";
import { codeOfFindings, isFindingState } from "./rules/finding-alarms.ts";
import { currentEvent } from "./rules/found-alarm.ts";
import { sharedValues } from "./rules/reading-step.ts";

interface EngineParts {
  readonly site: SiteSource;
  readonly log: AlarmLog;
  /** State and speed of machines, and what waits for them. */
  readonly wait: Wait;
  readonly history: Pick<HistoryReader, "latestOf">;
  readonly dayMedians: Pick<DayMedianStore, "of">;
  readonly diagnosis: Diagnosing | null;
  readonly logger: Logger;
  readonly failures: EngineFailures;
  readonly metrics: Pick<Metrics, "alarmsActive">;
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
  readonly #parts: EngineParts;
  readonly #listeners = new Set<EventListener>();
  #active: ActiveAlarms = { warning: 0, alarm: 0 };

  constructor(parts: EngineParts) {
    this.#parts = parts;
    const { diagnosis, site, wait } = parts;
    this.alarms = new AlarmEngine(site.current, {
      wait,
      ...(diagnosis === null ? {} : { findings: diagnosis.findings }),
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

  /** Loads the states from the store, in steps; after the last one the engines follow what is stored, and the site file. */
  *open(): Generator<void, void> {
    const { history, log, logger, site } = this.#parts;
    const damaged = yield* this.alarms.loading(log.saved());
    for (const [table, rows] of Object.entries(damaged))
      for (const row of rows) log.damaged(table, row);
    const sensors = [...damaged.alarm_states, ...damaged.alarm_samples];
    if (sensors.length > 0) {
      logger.error(
        { sensors },
        "alarm states are damaged; alarms that persist will be raised again",
      );
    }
    yield* primeNewest(history, site.current, this.alarms);
    log.follower = this.alarms;
    log.onEvents = (events) => this.#announce(events);
    this.#count();
    site.onChange((next) => this.alarms.setSite(next));
  }

  /** Calls the listener with the events of each commit. Returns how to stop that. */
  onEvents(listener: EventListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls the listener with the sensors of which a commit has changed what alarms and findings keep. */
  onJudged(listener: (sensors: readonly string[]) => void): void {
    this.#parts.log.onStates = (saved) =>
      listener([...saved].map((name) => (isFindingState(name) ? codeOfFindings(name) : name)));
  }

  /** The newest event of each alarm that stands. */
  standing(): readonly AlarmEvent[] {
    return [...this.alarms.alarms()].flatMap((one) => currentEvent(one) ?? []);
  }

  #announce(events: readonly AlarmEvent[]): void {
    this.#count();
    for (const listener of this.#listeners) listener(events);
  }

  #count(): void {
    const shown = [...this.alarms.alarms()].filter(
      ({ state: { raised, shelved } }) => raised !== null && shelved === null,
    );
    const { diagnosis, metrics } = this.#parts;
    const { alarmsActive } = metrics;
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
    diagnosis?.counted();
  }
}

/** A sensor and kind a step. */
function* primeNewest(
  history: EngineParts["history"],
  site: Site,
  alarms: AlarmEngine,
): Generator<void, void> {
  for (const [{ sensor, kind }, newest] of history.latestOf(streamsOf(site.sensors))) {
    const { timeMs, id } = newest;
    alarms.prime(sensor, kind, { timeMs, id, shared: sharedValues(followedOne(newest)) });
    yield;
  }
}
