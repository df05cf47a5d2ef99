import type { PolledKind } from "../core/sensor.ts";
import { HOUR_MS } from "../core/time-units.ts";
import {
  accumulatedAh,
  batteryType,
  batteryV,
  firmware,
  isDoorOpen,
  machineState,
  phaseCurrentsA,
  tankLevel,
} from "./machines.ts";
import type { PlainRecord, PlainTime } from "./plain-record.ts";
import type { PlantSensor } from "./plant.ts";
import { chance, seedOf } from "./random.ts";
import { clampFactor, currentSpread, loopVoltages, round } from "./scalar-records.ts";
import type { SimulatedClock } from "./simulated-clock.ts";
import type { TimeZone } from "./time-zone.ts";
import { synthesise, type WaveformShape } from "./waveform.ts";
import { type WiringFault, wiredRecord, wiredSamples } from "./wiring.ts";

export interface HistoryOptions {
  /** Time between two records, ms. */
  readonly cadenceMs: Readonly<Record<PolledKind, number>>;
  /** How far the gateway's memory goes back before the start, ms. */
  readonly historyMs: number;
  /** How far the machines' own time is ahead of the plant's, ms. */
  readonly machinesAheadMs: number;
  readonly waveform: WaveformShape;
  /** Which time assigns a waveform to a day. */
  readonly dayRule: "time_data" | "realnodetime";
  readonly wiring: readonly WiringFault[];
  /** Most memory for prepared waveforms, bytes. */
  readonly cacheBytesMax: number;
}

/** One record of a sensor, not yet computed. */
export interface RecordRef {
  readonly n: number;
  /** When it was measured, the plant's true time, ms. */
  readonly trueMs: number;
  /** The same in the machines' own time, ms. */
  readonly machineMs: number;
  /** When the gateway received it, true time, ms. */
  readonly visibleMs: number;
}

/** Which of the two vibration triggers and schedules made the sensor record. */
const REASON_REQUESTED = 1;
const REASON_SCHEDULED = 2;
const REASON_ALARM = 3;
const SLACK_MS = HOUR_MS;
/** Counts take about this many bytes each as JSON text, in addition to their own two. */
const BYTES_PER_SAMPLE = 10;

/** Other records that are remembered; about 10 MB. */
const SCALARS_MAX = 20_000;

/**
 * Everything each sensor ever sent. Record n of a sensor is a pure function of seed, sensor, kind and n: it can be
 * requested at any time, in any order, and recomputed by a checker of the agent.
 */
export class SensorHistory {
  readonly #clock: SimulatedClock;
  readonly #zone: TimeZone;
  readonly #options: HistoryOptions;
  readonly #firstMs: number;
  readonly #waveforms = new Map<string, PlainRecord>();
  readonly #waveformsMax: number;
  readonly #scalars = new Map<string, PlainRecord>();

  constructor(clock: SimulatedClock, zone: TimeZone, options: HistoryOptions) {
    this.#clock = clock;
    this.#zone = zone;
    this.#options = options;
    this.#firstMs = clock.trueNow() - options.historyMs;
    const bytes = options.waveform.samples * 3 * BYTES_PER_SAMPLE;
    this.#waveformsMax = Math.max(2, Math.floor(options.cacheBytesMax / bytes));
  }

  ref(sensor: PlantSensor, kind: PolledKind, n: number): RecordRef {
    const seed = streamSeed(sensor, kind);
    const cadence = this.#options.cadenceMs[kind];
    const phase = chance(seed, 0, 1) * cadence;
    const jitter = (chance(seed, n, 2) - 0.5) * 0.06 * cadence;
    const trueMs = Math.floor(n * cadence + phase + jitter);
    // Waveforms take long over the radio; now and then a message is repeated.
    const radioMs = 400 + 2600 * chance(seed, n, 3) + (chance(seed, n, 4) < 0.02 ? 6000 : 0);
    const machineMs = trueMs + this.#options.machinesAheadMs;
    const visibleMs = trueMs + this.#transferMs(seed, kind, n) + Math.min(radioMs, cadence / 4);
    return { n, trueMs, machineMs, visibleMs: Math.ceil(visibleMs) };
  }

  /** Records measured in [from, to) of true time that are within the gateway's memory; in order, visible or not. */
  *between(
    sensor: PlantSensor,
    kind: PolledKind,
    fromMs: number,
    toMs: number,
  ): Generator<RecordRef> {
    const cadence = this.#options.cadenceMs[kind];
    const from = Math.max(fromMs, this.#firstMs);
    for (let n = Math.floor(from / cadence) - 2; ; n++) {
      const ref = this.ref(sensor, kind, n);
      if (ref.trueMs >= toMs) return;
      if (ref.trueMs >= from) yield ref;
    }
  }

  /** Records whose timestamp is in a calendar day of the gateway and that it has by now, in order. */
  day(
    sensor: PlantSensor,
    kind: PolledKind,
    day: string,
    extraDelayMs?: (n: number) => number,
  ): RecordRef[] {
    const startMs = this.#zone.startOf(day);
    if (Number.isNaN(startMs)) return [];
    const endMs = this.#zone.endOf(day);
    const now = this.#clock.trueNow();
    const refs: RecordRef[] = [];
    for (const range of this.#clock.trueRanges(startMs - SLACK_MS, endMs + SLACK_MS)) {
      const toMs = Math.min(range.toMs, now + 1);
      for (const ref of this.between(sensor, kind, range.fromMs, toMs)) {
        if (ref.visibleMs + (extraDelayMs?.(ref.n) ?? 0) > now) continue;
        const stamp = this.dayStampMs(sensor, kind, ref);
        if (stamp >= startMs && stamp < endMs) refs.push(ref);
      }
    }
    return refs;
  }

  /** The timestamp that assigns a record to a day, on the gateway's clock, ms. */
  dayStampMs(sensor: PlantSensor, kind: PolledKind, ref: RecordRef): number {
    const isMeasured = kind !== "accel" || this.#options.dayRule === "realnodetime";
    const stamp = ref.trueMs + this.#clock.offsetAt(ref.trueMs);
    return isMeasured ? stamp : stamp + this.#transferMs(streamSeed(sensor, kind), kind, ref.n);
  }

  /** First moment after `ms` at which something from this sensor reaches the gateway, true time. */
  nextContactMs(sensor: PlantSensor, ms: number): number {
    let next = Number.POSITIVE_INFINITY;
    for (const kind of sensor.kinds) {
      const reach = 2 * this.#options.cadenceMs[kind] + SLACK_MS;
      for (const ref of this.between(sensor, kind, ms - SLACK_MS, ms + reach)) {
        if (ref.visibleMs > ms) next = Math.min(next, ref.visibleMs);
      }
    }
    return next;
  }

  /** Computed once while it is remembered: a day is read again at every poll. */
  record(sensor: PlantSensor, kind: PolledKind, ref: RecordRef): PlainRecord {
    const isAccel = kind === "accel";
    const cache = isAccel ? this.#waveforms : this.#scalars;
    const key = `${sensor.code} ${kind} ${ref.n} ${this.#clock.offsetAt(ref.trueMs)}`;
    const known = cache.get(key);
    const record = known ?? (isAccel ? this.#accel(sensor, ref) : this.#scalar(sensor, kind, ref));
    if (known) cache.delete(key);
    cache.set(key, record);
    if (cache.size > (isAccel ? this.#waveformsMax : SCALARS_MAX)) {
      const oldest = cache.keys().next().value;
      if (oldest !== undefined) cache.delete(oldest);
    }
    return record;
  }

  #transferMs(seed: number, kind: PolledKind, n: number): number {
    return kind === "accel"
      ? Math.floor(Math.min(3000 + 14_000 * chance(seed, n, 5), this.#options.cadenceMs.accel / 4))
      : 0;
  }

  #time(trueMs: number): PlainTime {
    const ms = trueMs + this.#clock.offsetAt(trueMs);
    return { ms, offsetMinutes: this.#zone.offsetMinutes(ms) };
  }

  #accel(sensor: PlantSensor, ref: RecordRef): PlainRecord {
    const { waveform } = this.#options;
    const seed = streamSeed(sensor, "accel");
    const { severity, temperatureC, isRunning } = machineState(sensor.machine, ref.machineMs);
    const asked = chance(seed, ref.n, 6) < 0.01;
    const isAlarm = isRunning && severity > 0.6 && ref.n % 3 === 0;
    const { wiring } = this.#options;
    const channel = (axis: 0 | 1 | 2) =>
      wiredSamples(synthesise(sensor, ref.machineMs, axis, waveform), wiring);
    const taken = this.#time(ref.trueMs);
    const stored = taken.ms + this.#transferMs(seed, "accel", ref.n);
    return {
      sensor_code: sensor.code,
      device: "vibration",
      calibration: waveform.rangeG / 32768,
      channel1: channel(0),
      channel2: channel(1),
      channel3: sensor.axes === 3 ? channel(2) : null,
      sample_rate: waveform.sampleRateHz,
      sensor_type: sensor.type,
      recording_reason: isAlarm ? REASON_ALARM : asked ? REASON_REQUESTED : REASON_SCHEDULED,
      temperature: round(temperatureC, 1),
      battery_type: batteryType(sensor),
      hasrealtime: true,
      realnodetime: taken,
      time_data: { ms: stored, offsetMinutes: this.#zone.offsetMinutes(stored) },
      sequence: ((ref.n % 65536) + 65536) % 65536,
      trigger: 0,
      trigger_type: 0,
    };
  }

  #scalar(sensor: PlantSensor, kind: Exclude<PolledKind, "accel">, ref: RecordRef): PlainRecord {
    const { machine } = sensor;
    if (kind === "accCurrent") {
      const { startMs, phases } = accumulatedAh(machine, ref.machineMs);
      return {
        accumulated_current1: round(phases[0], 3),
        accumulated_current2: round(phases[1], 3),
        accumulated_current3: round(phases[2], 3),
        accumulated_current4: round(phases[3], 3),
        startPeriod: this.#time(startMs - this.#options.machinesAheadMs),
        endPeriod: this.#time(ref.trueMs),
      };
    }
    return {
      sensor_code: sensor.code,
      battery: round(batteryV(sensor, ref.machineMs), 2),
      battery_type: batteryType(sensor),
      module_temperature: round(machineState(machine, ref.machineMs).temperatureC - 6, 1),
      version: firmware(sensor),
      time_data: this.#time(ref.trueMs),
      ...wiredRecord(this.#values(sensor, kind, ref), this.#options.wiring),
    };
  }

  #values(
    sensor: PlantSensor,
    kind: Exclude<PolledKind, "accel" | "accCurrent">,
    { machineMs, n }: RecordRef,
  ): PlainRecord {
    const { machine } = sensor;
    const seed = streamSeed(sensor, kind);
    switch (kind) {
      case "rpm": {
        const { speedRpm } = machineState(machine, machineMs);
        return {
          RPM: speedRpm === 0 ? 0 : round(speedRpm * (1 + 0.001 * (chance(seed, n, 8) - 0.5)), 1),
        };
      }
      case "current": {
        const amps = phaseCurrentsA(machine, machineMs);
        return {
          current1: round(amps[0] / clampFactor(sensor, 1), 3),
          current2: round(amps[1] / clampFactor(sensor, 2), 3),
          current3: round(amps[2] / clampFactor(sensor, 3), 3),
        };
      }
      case "currentV2":
        return currentSpread(sensor, machineMs, this.#options.cadenceMs.currentV2);
      case "loop":
        return loopVoltages(sensor, machineMs);
      case "dryContact":
        return {
          input1: isDoorOpen(sensor, machineMs),
          input2: machineState(machine, machineMs).isRunning,
          input3: tankLevel(machine, machineMs) > 0.8,
          input4: false,
        };
    }
  }
}

function streamSeed(sensor: PlantSensor, kind: PolledKind): number {
  return seedOf(sensor.seed, kind);
}
