import type { StoredReading } from "../core/ports.ts";
import type { Reading } from "../core/reading.ts";
import type { Kind, Site } from "../core/sensor.ts";
import type { LiveHub } from "./live-hub.ts";

interface Latest {
  latest(sensor: string, kind: Kind): StoredReading | null;
}

/** Keeps what states show of the newest readings (the battery), and tells whoever watches live. */
export class ReadingWatch {
  readonly #history: Latest;
  readonly #hub: LiveHub;
  readonly #batteries = new Map<string, { readonly timeMs: number; readonly volts: number }>();

  constructor(site: Site, history: Latest, hub: LiveHub) {
    this.#history = history;
    this.#hub = hub;
    for (const { code, kinds } of site.sensors) {
      for (const kind of kinds) {
        const stored = history.latest(code, kind);
        if (stored !== null) this.#see(code, stored.timeMs, JSON.parse(stored.values));
      }
    }
  }

  /** The newest battery voltage of a sensor, V; null when it never told one. */
  batteryV(sensor: string): number | null {
    return this.#batteries.get(sensor)?.volts ?? null;
  }

  /** The newest reading of an answer is durable. */
  stored(reading: Reading): void {
    this.#see(reading.sensor, reading.timeMs, reading.values);
    if (!this.#hub.hasListeners) return;
    const stored = this.#history.latest(reading.sensor, reading.kind);
    if (stored !== null) this.#hub.emit({ type: "reading", reading: stored });
  }

  #see(sensor: string, timeMs: number, values: Readonly<Record<string, unknown>>): void {
    const volts = values["battery"];
    if (typeof volts !== "number") return;
    const known = this.#batteries.get(sensor);
    if (known === undefined || timeMs >= known.timeMs)
      this.#batteries.set(sensor, { timeMs, volts });
  }
}
