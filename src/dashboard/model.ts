/**
 * What the page knows about the plant, and how old that is. Views read it and are notified of changes.
 * Two clocks: ages are computed on the page's monotonic clock from the agent's and the gateway's own times, so that a
 * wrong laptop clock never makes a value look fresher than it is.
 */

import type { ShownStatus } from "../core/agent-status.ts";
import type { RankedMachine } from "../core/condition/shown.ts";
import type { Gap } from "../core/delivery/delivery.ts";
import { linkKey } from "../core/delivery/link-title.ts";
import type { Fault } from "../core/query/fault.ts";
import type { ShownReading, ShownSensor } from "../core/query/shown.ts";
import { ZoneTimes } from "./format.ts";
import { mergedSensor, withReading } from "./merge-sensor.ts";

export type ModelChange =
  | "status"
  | "sensors"
  | "reading"
  | "faults"
  | "gaps"
  | "machines"
  | "live";
export type Listener = (change: ModelChange, code: string | null) => void;

export interface LiveState {
  /** live: data within seconds · late: the stream is gone or silent · never: not connected yet. */
  readonly state: "live" | "late" | "never";
  /** Agent's time of the last status, ms; null before the first. */
  readonly lastHeardMs: number | null;
}

interface FlowSample {
  readonly atMs: number;
  /** By link. */
  readonly delivered: ReadonlyMap<string, number>;
  readonly stored: number;
}

/** Rates are averaged over this span. */
const RATE_SPAN_MS = 60_000;
/** A rate over less than this is meaningless. */
const RATE_SPAN_MIN_MS = 3_500;
/** Sensors whose readings are kept until a list names them. */
const EARLY_MAX = 2_000;

export class Model {
  readonly #listeners = new Set<Listener>();
  #status: ShownStatus | null = null;
  #statusAt = 0;
  #sensors = new Map<string, ShownSensor>();
  readonly #early = new Map<string, Map<string, ShownReading>>();
  #faults: readonly Fault[] = [];
  #gaps: readonly Gap[] = [];
  #machines: readonly RankedMachine[] | null = null;
  #machinesError = "";
  #live: LiveState = { state: "never", lastHeardMs: null };
  #times = new ZoneTimes("UTC");
  #samples: FlowSample[] = [];
  #stored = 0;

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get status(): ShownStatus | null {
    return this.#status;
  }
  get sensors(): ReadonlyMap<string, ShownSensor> {
    return this.#sensors;
  }
  get faults(): readonly Fault[] {
    return this.#faults;
  }
  get gaps(): readonly Gap[] {
    return this.#gaps;
  }
  /** Worst first; null before they are known. */
  get machines(): readonly RankedMachine[] | null {
    return this.#machines;
  }
  /** Why they could not be read; empty where they could. */
  get machinesError(): string {
    return this.#machinesError;
  }
  get live(): LiveState {
    return this.#live;
  }
  get times(): ZoneTimes {
    return this.#times;
  }
  /** Before the first status, no time can be written: its zone is not known. */
  get isZoneKnown(): boolean {
    return this.#status !== null;
  }
  get isLive(): boolean {
    return this.#live.state === "live";
  }

  /** The agent's clock now, ms. */
  agentNowMs(): number {
    return this.#status === null
      ? Date.now()
      : this.#status.nowMs + (performance.now() - this.#statusAt);
  }
  /** The clock of the readings now, ms: the gateway's if it is known. */
  gatewayNowMs(): number {
    const skew = this.#status?.gateway.skewMs ?? this.#status?.clock.skewMs ?? 0;
    return this.agentNowMs() + skew;
  }

  /** Readings stored and, by link, messages acknowledged per second; empty until there is something to compare. */
  rates(): {
    readonly storedPerS: number | null;
    readonly sentPerS: ReadonlyMap<string, number>;
  } {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    const spanMs = (last?.atMs ?? 0) - (first?.atMs ?? 0);
    const sentPerS = new Map<string, number>();
    if (first === undefined || last === undefined || spanMs < RATE_SPAN_MIN_MS) {
      return { storedPerS: null, sentPerS };
    }
    // A plant that is read once a minute is not idle because nothing arrived in the first seconds.
    const isWhole = spanMs >= RATE_SPAN_MS - RATE_SPAN_MIN_MS;
    const rateOf = (events: number) => (events > 0 || isWhole ? (events / spanMs) * 1000 : null);
    for (const [name, delivered] of last.delivered) {
      const perS = rateOf(delivered - (first.delivered.get(name) ?? 0));
      if (perS !== null) sentPerS.set(name, perS);
    }
    return { storedPerS: rateOf(last.stored - first.stored), sentPerS };
  }

  takeStatus(status: ShownStatus): void {
    const isRestarted = this.#status !== null && status.startedAtMs !== this.#status.startedAtMs;
    if (isRestarted) this.#samples = [];
    this.#status = status;
    this.#statusAt = performance.now();
    if (this.#times.zone !== status.timezone) this.#times = new ZoneTimes(status.timezone);
    this.#samples.push({
      atMs: this.#statusAt,
      delivered: new Map(status.links.map((link) => [linkKey(link), link.delivered])),
      stored: this.#stored,
    });
    while ((this.#samples[0]?.atMs ?? 0) < this.#statusAt - RATE_SPAN_MS) this.#samples.shift();
    for (const state of status.sensors) {
      const sensor = this.#sensors.get(state.code);
      if (sensor === undefined) continue;
      this.#sensors.set(state.code, {
        ...sensor,
        state: state.state,
        lastReadingMs: state.lastReadingMs,
        batteryV: state.batteryV ?? sensor.batteryV,
        reads: state.kinds,
      });
    }
    this.#announce("status", null);
  }

  takeSensors(sensors: readonly ShownSensor[]): void {
    this.#sensors = new Map(
      sensors.map((listed) => {
        const known = Object.values(this.#sensors.get(listed.code)?.latest ?? {});
        const early = this.#early.get(listed.code)?.values() ?? [];
        return [listed.code, mergedSensor(listed, [...known, ...early])];
      }),
    );
    this.#early.clear();
    this.#announce("sensors", null);
  }

  /** A reading that was just stored; one older than the displayed one changes nothing. */
  takeReading(reading: ShownReading): void {
    this.#stored += 1;
    const sensor = this.#sensors.get(reading.sensor);
    if (sensor === undefined) return this.#keepEarly(reading);
    const next = withReading(sensor, reading);
    if (next === sensor) return;
    this.#sensors.set(reading.sensor, next);
    this.#announce("reading", reading.sensor);
  }

  /** The list that names its sensor is still on its way. */
  #keepEarly(reading: ShownReading): void {
    const kinds = this.#early.get(reading.sensor) ?? new Map<string, ShownReading>();
    if ((kinds.get(reading.kind)?.timeMs ?? 0) > reading.timeMs) return;
    kinds.set(reading.kind, reading);
    if (this.#early.size < EARLY_MAX) this.#early.set(reading.sensor, kinds);
  }

  /** Readings that this page was too slow for: they were stored all the same. */
  takeSkipped(count: number): void {
    this.#stored += count;
  }

  takeFaults(faults: readonly Fault[]): void {
    this.#faults = faults;
    this.#announce("faults", null);
  }
  takeGaps(gaps: readonly Gap[]): void {
    this.#gaps = gaps;
    this.#announce("gaps", null);
  }
  takeMachines(machines: readonly RankedMachine[]): void {
    this.#machines = machines;
    this.#machinesError = "";
    this.#announce("machines", null);
  }
  failMachines(why: string): void {
    this.#machinesError = why;
    this.#announce("machines", null);
  }
  takeLive(state: LiveState["state"]): void {
    if (state === "live") {
      const wasLive = this.isLive;
      this.#live = { state, lastHeardMs: this.agentNowMs() };
      if (!wasLive) this.#announce("live", null);
    } else if (this.#live.state !== state) {
      // Rates across a gap would be wrong.
      this.#samples = [];
      this.#live = { state, lastHeardMs: this.#live.lastHeardMs };
      this.#announce("live", null);
    }
  }

  #announce(change: ModelChange, code: string | null): void {
    for (const listener of this.#listeners) listener(change, code);
  }
}
