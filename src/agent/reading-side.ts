/** The parts that readings pass through: gateway, poller, store; and those that show stored readings. */

import type { SensorState } from "../core/agent-status.ts";
import type { DayKey } from "../core/day.ts";
import type { Reading } from "../core/reading.ts";
import type { Poller } from "../pipeline/poll/poller.ts";
import type { WantedTones } from "../pipeline/signal/tones.ts";
import { GapWatch } from "../pipeline/store/outbox/gap-watch.ts";
import { LiveHub } from "../pipeline/store/readings/live-hub.ts";
import { NewestReadings } from "../pipeline/store/readings/newest-readings.ts";
import { ReadingWatch } from "../pipeline/store/readings/reading-watch.ts";
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
  /** A read of a day is over, at this time of the gateway, ms. */
  read(key: DayKey, atMs: number): void;
  /** Damage of the store was repaired. */
  recovered(): void;
  /** Which tones features need of acceleration records. */
  wantedTones(sensor: string): WantedTones;
  /** With what features read beside the records. */
  sensorState(polled: SensorState): SensorState;
}

export function buildReadingSide(
  base: AgentBase,
  { store, marks, gateway }: AgentResources,
  note: ReadingNotes,
) {
  const { site, gatewayClock } = base;
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
  const reading = createReadingParts({ ...base, gateway });
  const poller: Poller = createPoller({
    ...base,
    gateway,
    store,
    marks,
    reading,
    wantedTones: (sensor) => note.wantedTones(sensor),
    onStored,
    onStoredBetween: (key, fromMs, toMs) => note.response(key, fromMs, toMs),
    onRead: (key, atMs) => note.read(key, atMs),
  });
  // Of the others, only records decide.
  const settledSensors = () =>
    poller
      .settledStates()
      .map((state) => (state.kinds.length > 0 ? state : note.sensorState(state)));
  store.onRecovered(() => {
    poller.readAgain();
    note.recovered();
  });
  return {
    onStored,
    hub,
    newest,
    watch,
    gaps,
    reading,
    poller,
    settledSensors,
  };
}
