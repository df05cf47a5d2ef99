/** The engines of alarms and findings over the store: they load their states from it, and follow what is stored. */
import { AlarmEngine } from "../../core/alarm/engine.ts";
import type { AlarmEvent } from "../../core/alarm/event.ts";
import type { AlarmStore } from "../../core/alarm/ports.ts";
import { FindingEngine, isFindingState } from "../../core/diagnosis/engine.ts";
import { DiagnosisFollower } from "../../core/diagnosis/follower.ts";
import type { Logger } from "../../core/ports.ts";
import type { SiteSource } from "../../core/site-source.ts";
import type { Metrics } from "../../lib/metrics.ts";
import { earlierPoint, primeNewest, primeSignals, type StoredHistory } from "./priming.ts";

export interface EngineParts {
  readonly site: SiteSource;
  readonly store: AlarmStore;
  readonly history: StoredHistory;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, "alarmsActive">;
}

type EventListener = (events: readonly AlarmEvent[]) => void;

export class AlarmEngines {
  readonly alarms: AlarmEngine;
  readonly findings: FindingEngine;
  readonly #parts: EngineParts;
  readonly #listeners = new Set<EventListener>();
  #hasFailed = false;

  constructor(parts: EngineParts) {
    this.#parts = parts;
    const { history, site } = parts;
    this.alarms = new AlarmEngine(site.current, {
      earlier: (sensor, kind, value, timeMs) => earlierPoint(history, sensor, kind, value, timeMs),
      onEvents: (events) => this.#announce(events),
    });
    this.findings = new FindingEngine(site.current, {
      speedAt: (machine, timeMs) => this.alarms.speedAt(machine, timeMs),
      stateAt: (sensor, timeMs) => this.alarms.machineState(sensor, timeMs),
    });
  }

  /** Loads the states from the store; from now on the engines follow what is stored, and the site file. */
  open(): void {
    const { history, logger, site, store } = this.#parts;
    const saved = store.saved();
    const states = saved.states.filter(({ sensor }) => !isFindingState(sensor));
    const damaged = [
      ...this.alarms.load({ ...saved, states }),
      ...this.findings.load(saved.states),
    ];
    if (damaged.length > 0) {
      logger.error(
        { sensors: damaged },
        "alarm states are damaged; alarms that persist will be raised again",
      );
    }
    primeNewest(history, site.current, this.alarms, this.findings);
    primeSignals(history, this.alarms);
    store.follower = new DiagnosisFollower(this.alarms, this.findings, {
      onFindings: (events) => this.#announce(events),
      onFailure: (err, sensor) => {
        if (!this.#hasFailed) logger.error({ err, sensor }, "diagnosis failed");
        this.#hasFailed = true;
      },
    });
    this.#count();
    site.onChange((next) => {
      this.alarms.setSite(next);
      this.findings.setSite(next);
      primeSignals(history, this.alarms);
    });
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
    const counts = { warning: 0, alarm: 0 };
    for (const { state } of this.alarms.alarms()) {
      if (state.raised === null || state.shelved !== null) continue;
      counts[state.watch.active?.rank === 2 ? "alarm" : "warning"] += 1;
    }
    const { alarmsActive } = this.#parts.metrics;
    for (const severity of ["warning", "alarm"] as const) {
      alarmsActive.set({ severity }, counts[severity]);
    }
  }
}
