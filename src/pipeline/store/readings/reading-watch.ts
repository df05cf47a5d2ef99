import { firmwareOf, signalOf } from "../../../core/query/node-facts.ts";
import type { HistoryReader } from "../../../core/query/ports.ts";
import { readingZone } from "../../../core/query/reading-zone.ts";
import { isFlagged, type Reading } from "../../../core/reading.ts";
import { type Kind, readingKinds, type Sensor, streamsOf } from "../../../core/sensor.ts";
import type { SiteSource } from "../../../core/site-source.ts";
import { storedValues } from "../../../core/stored-reading.ts";
import type { Zone } from "../../signal/severity.ts";
import type { LiveHub } from "./live-hub.ts";

export interface NodeFacts {
  readonly timeMs: number;
  readonly firmware: string | number | null;
  readonly signalDbm: number | null;
}

type LatestState = Pick<HistoryReader, "latest" | "latestOf">;

/** Keeps current what states show of the newest readings (battery and machine zone), and notifies live subscribers. */
export class ReadingWatch {
  readonly #site: SiteSource;
  readonly #history: LatestState;
  readonly #hub: LiveHub;
  readonly #batteries = new Map<string, { readonly timeMs: number; readonly volts: number }>();
  readonly #nodes = new Map<string, NodeFacts>();
  /** Sensor and kind. */
  readonly #remembered = new Set<string>();
  readonly #zones = new Map<string, { readonly timeMs: number; readonly zone: Zone | null }>();

  constructor(site: SiteSource, history: LatestState, hub: LiveHub) {
    this.#site = site;
    this.#history = history;
    this.#hub = hub;
  }

  /** Reads the store's data, and again for the sensors of each new site file. */
  open(): void {
    this.#remember(this.#site.current.sensors);
    this.#site.onChange(({ sensors }, before) => {
      const [former, latter] = [new Set(before.sensors), new Set(sensors)];
      const fresh = sensors.filter((sensor) => !former.has(sensor));
      const kinds = new Map(fresh.map((sensor) => [sensor.code, readingKinds(sensor)]));
      for (const old of before.sensors.filter((sensor) => !latter.has(sensor)))
        if (readingKinds(old).some((kind) => !kinds.get(old.code)?.includes(kind)))
          this.#forget(old);
      this.#remember(fresh);
    });
  }

  /** A zone, battery or state of a kind that has gone would stand until the next start. */
  #forget(sensor: Sensor): void {
    const { code } = sensor;
    for (const newest of [this.#batteries, this.#nodes, this.#zones]) newest.delete(code);
    for (const kind of readingKinds(sensor)) this.#remembered.delete(`${code} ${kind}`);
  }

  /** What the store contains about sensors and kinds that this process has not looked up yet. */
  #remember(sensors: readonly Sensor[]): void {
    const fresh = streamsOf(sensors).filter(
      ({ sensor, kind }) => !this.#remembered.has(`${sensor} ${kind}`),
    );
    for (const { sensor, kind } of fresh) this.#remembered.add(`${sensor} ${kind}`);
    for (const [{ sensor, kind }, stored] of this.#history.latestOf(fresh))
      this.#see(sensor, kind, stored.timeMs, storedValues(stored));
  }

  /** The newest battery voltage of a sensor, V; null if it never sent one. */
  batteryV(sensor: string): number | null {
    return this.#batteries.get(sensor)?.volts ?? null;
  }

  /** The newest reading of kind `node`; null before the first. */
  node(sensor: string): NodeFacts | null {
    return this.#nodes.get(sensor) ?? null;
  }

  /** A to D, of the newest vibration reading; null if none is known. */
  zone(sensor: string): Zone | null {
    return this.#zones.get(sensor)?.zone ?? null;
  }

  /** The newest reading of a response is durable. One that is dated in the future would stand until its time has come. */
  stored(reading: Reading): void {
    if (isFlagged(reading, "time_in_future")) return;
    this.#see(reading.sensor, reading.kind, reading.timeMs, reading.values);
    if (!this.#hub.hasListeners) return;
    const stored = this.#history.latest(reading.sensor, reading.kind);
    if (stored !== null) this.#hub.emit({ type: "reading", reading: stored });
  }

  #see(
    sensor: string,
    kind: Kind,
    timeMs: number,
    values: Readonly<Record<string, unknown>>,
  ): void {
    const seen = this.#zones.get(sensor);
    if (kind === "accel" && (seen === undefined || timeMs > seen.timeMs))
      this.#zones.set(sensor, { timeMs, zone: readingZone(values) });
    const newest = this.#nodes.get(sensor);
    if (kind === "node" && (newest === undefined || timeMs > newest.timeMs)) {
      const firmware = firmwareOf(values) ?? newest?.firmware ?? null;
      this.#nodes.set(sensor, { timeMs, firmware, signalDbm: signalOf(values) });
    }
    const volts = values["battery"];
    if (typeof volts !== "number") return;
    const known = this.#batteries.get(sensor);
    if (known === undefined || timeMs > known.timeMs)
      this.#batteries.set(sensor, { timeMs, volts });
  }
}
