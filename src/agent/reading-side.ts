/** The parts that readings pass through: gateway, poller, store, alarms; and those that show stored readings. */

import type { SensorState } from "../core/agent-status.ts";
import type { DayKey } from "../core/day.ts";
import { SignalsOnly } from "../core/machine-state/signals-only.ts";
import type { Wait } from "../core/machine-state/wait.ts";
import type { Reading } from "../core/reading.ts";
import type { SiteSource } from "../core/site-source.ts";
import type { Poller } from "../pipeline/poll/poller.ts";
import { GapWatch } from "../pipeline/store/outbox/gap-watch.ts";
import { LiveHub } from "../pipeline/store/readings/live-hub.ts";
import { NewestReadings } from "../pipeline/store/readings/newest-readings.ts";
import { ReadingWatch } from "../pipeline/store/readings/reading-watch.ts";
import type { Store } from "../pipeline/store/store.ts";
import { createAlarms } from "./alarms/alarms.ts";
import { AlarmEngines } from "./alarms/engines.ts";
import { createWait, type SignalOptions } from "./alarms/priming.ts";
import type { AgentBase } from "./base.ts";
import { createPoller, createReadingParts } from "./polling.ts";
import type { AgentResources } from "./resources.ts";

export type ReadingSide = ReturnType<typeof buildReadingSide>;

/** What features do with readings, and know of sensors. */
export interface ReadingNotes {
  /** It is durable. */
  reading(reading: Reading): void;
  /** Those of a response, by the times of its oldest and its newest one. */
  response(key: DayKey, fromMs: number, toMs: number): void;
  /** With what features read beside the records. */
  sensorState(polled: SensorState): SensorState;
}

export function buildReadingSide(
  base: AgentBase,
  { store, marks, gateway }: AgentResources,
  note: ReadingNotes,
) {
  const { settings, site, clock, gatewayClock, failures, logger, metrics } = base;
  const hub = new LiveHub();
  const newest = new NewestReadings((sensor, kind) => store.history.latest(sensor, kind));
  const watch = new ReadingWatch(site, store.history, hub);
  const gaps = new GapWatch(store.gaps, hub);
  const onStored = (reading: Reading) => {
    gatewayClock.observeRecord(reading.timeMs);
    newest.stored(reading);
    watch.stored(reading);
    note.reading(reading);
  };
  const engines = settings.alarmsEnabled
    ? new AlarmEngines({
        site,
        store: store.alarms,
        dayMedians: store.dayMedians,
        history: store.history,
        clock,
        zone: settings.gatewayTimezone,
        pendingDays: (sensor, kind) => poller.pendingDays(sensor, kind),
        failures,
        logger,
        metrics,
      })
    : null;
  const signals =
    engines === null
      ? openSignals(site, store, {
          zone: settings.gatewayTimezone,
          clock,
          pendingDays: (sensor, kind) => poller.pendingDays(sensor, kind),
        })
      : engines.signals;
  store.measurements.machineAt = (sensor, timeMs) => signals.wait.machineAt(sensor, timeMs);
  const reading = createReadingParts({ ...base, gateway });
  const poller: Poller = createPoller({
    ...base,
    gateway,
    store,
    marks,
    reading,
    wantedTones: (sensor) => engines?.findings.wantedTones(sensor) ?? false,
    onStored,
    onStoredBetween: (key, fromMs, toMs) => note.response(key, fromMs, toMs),
    onRead: ({ sensor, kind, day }, atMs) => signals.wait.noteRead(sensor, kind, { day, atMs }),
  });
  const alarms =
    engines === null
      ? null
      : createAlarms(engines, {
          site,
          store: store.alarms,
          clock,
          logger,
          gatewayNow: gatewayClock.now,
          isGatewayTimeKnown: () => gatewayClock.isKnown,
          // Of the others, only records decide.
          sensors: () =>
            poller
              .settledStates()
              .map((state) => (state.kinds.length > 0 ? state : note.sensorState(state))),
          isGatewayUp: () => gateway.state.isUp,
        });
  store.onRecovered(() => {
    poller.readAgain();
    void alarms?.upkeep.rewrite();
  });
  return {
    onStored,
    hub,
    newest,
    watch,
    gaps,
    reading,
    poller,
    alarms,
    signals,
  };
}

/** State and speed of the machines over stored readings, for alarms, findings and bands. */
interface Signals {
  readonly wait: Wait;
  /** Loads what is stored, in steps; after the last one they follow what is stored, and the site file. */
  open(): Generator<void, void>;
}

/** Without alarms: only the signals are followed. */
export function openSignals(
  site: SiteSource,
  { alarms, history }: Pick<Store, "alarms" | "history">,
  options: SignalOptions,
): Signals {
  const wait = createWait(site.current, history, options);
  return {
    wait,
    *open() {
      yield* wait.loadSignals();
      alarms.follower = new SignalsOnly(wait);
      site.onChange((next) => wait.setSite(next));
    },
  };
}
