import { operationsOf } from "../../src/agent/features.ts";
import type { AgentStatus } from "../../src/core/agent-status.ts";
import type { Gap } from "../../src/core/delivery/delivery.ts";
import type {
  BackfillJobs,
  CountedHours,
  HealthPart,
  HistoryRange,
  HourPoint,
  HourQuery,
  HourValues,
  LiveEvent,
  MergedRange,
  SeriesMaker,
} from "../../src/core/query/ports.ts";
import { addNumber, emptySum, numberOf, type SeriesSum } from "../../src/core/query/series-sum.ts";
import type { Kind, StreamKey } from "../../src/core/sensor.ts";
import type { Site } from "../../src/core/site.ts";
import { fixedSite } from "../../src/core/site-source.ts";
import {
  type StoredReading,
  type StoredWaveform,
  storedQuality,
  storedUnits,
  storedValues,
  type WaveformRef,
} from "../../src/core/stored-reading.ts";
import { DAY_MS, HOUR_MS } from "../../src/core/time-units.ts";
import type { HttpOptions, HttpParts } from "../../src/http/parts.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { LoopDelay } from "../../src/lib/loop-delay.ts";
import { createMetrics } from "../../src/lib/metrics.ts";
import { createWireNames } from "../../src/pipeline/wire/wire-names.ts";
import { ManualClock } from "./manual-clock.ts";

export const NOW = Date.parse("2026-11-20T12:00:00Z");

export const SITE: Site = {
  site: "plant-7",
  sensors: [
    {
      code: "10234",
      type: 3,
      name: "Pump 4 drive end",
      kinds: ["accel"],
      location: {
        company: 1,
        area: 2,
        machine: 40,
        point: 1,
        names: { company: "Acme", area: "Boiler house", machine: "Pump 4", point: "DE bearing" },
      },
      channels: { channel1: { axis: "H" }, channel2: { axis: "V" }, channel3: { axis: "A" } },
      machineClass: "group2-rigid",
      speedRpm: 1480,
    },
    {
      code: "20871",
      type: 9,
      kinds: ["currentV2", "accCurrent"],
      channels: { current1: { clamp: 100, name: "L1" }, current2: { clamp: 100, name: "L2" } },
      location: { company: 1, area: 2, machine: 40, point: 2 },
    },
    {
      code: "30007",
      type: 12,
      kinds: ["loop"],
      channels: { channel1: { name: "Suction pressure", unit: "bar", low: 0, high: 10 } },
      location: { company: 1, area: 3, machine: 41, point: 1 },
    },
    { code: "40001", type: 40, kinds: ["rpm"], channels: {} },
  ],
};

export interface ReadingInput {
  readonly sensor: string;
  readonly kind: Kind;
  readonly timeMs: number;
  readonly values: object;
  readonly units?: object;
  readonly quality?: object;
  readonly attributes?: object;
  readonly raw?: object;
  readonly waveforms?: readonly WaveformRef[];
}

/** Rows of a page of several histories. */
const PAGE_ROWS = 200;

/** A history in memory that keeps the port's promises. */
export class MemoryHistory {
  readonly readings: StoredReading[] = [];
  /** Rows handed out, to show that a query does not walk further than it must. */
  rowsRead = 0;

  add(input: ReadingInput): StoredReading {
    const seq = this.readings.length + 1;
    const reading: StoredReading = {
      seq,
      id: seq.toString(16).padStart(32, "0"),
      sensor: input.sensor,
      kind: input.kind,
      timeMs: input.timeMs,
      offsetMinutes: null,
      storedAtMs: input.timeMs + 1000,
      values: JSON.stringify(input.values),
      units: JSON.stringify(input.units ?? {}),
      quality: JSON.stringify(input.quality ?? {}),
      attributes: JSON.stringify(input.attributes ?? {}),
      raw: JSON.stringify(input.raw ?? {}),
      waveforms: input.waveforms ?? [],
    };
    this.readings.push(reading);
    return reading;
  }
  latest(sensor: string, kind: Kind): StoredReading | null {
    return this.#sorted(sensor, kind).at(-1) ?? null;
  }
  *latestOf<K extends StreamKey>(wanted: readonly K[]): Generator<readonly [K, StoredReading]> {
    for (const key of wanted) {
      const latest = this.latest(key.sensor, key.kind);
      if (latest !== null) yield [key, latest];
    }
  }
  streams(): { readonly sensor: string; readonly kind: Kind }[] {
    return this.readings.map(({ sensor, kind }) => ({ sensor, kind }));
  }
  newestSeq(): number {
    return Math.max(0, ...this.readings.map(({ seq }) => seq));
  }
  extent(): { readonly fromMs: number; readonly toMs: number } | null {
    if (this.readings.length === 0) return null;
    const times = this.readings.map(({ timeMs }) => timeMs);
    return { fromMs: Math.min(...times), toMs: Math.max(...times) + 1 };
  }
  /** An hour with readings each. */
  *counts(range: MergedRange, isEnough: () => boolean): Generator<CountedHours> {
    const counts = new Map<number, number>();
    for (const { timeMs } of this.#within(range)) {
      const hour = Math.floor(timeMs / 3_600_000);
      counts.set(hour, (counts.get(hour) ?? 0) + 1);
    }
    let isCounting = true;
    for (const count of counts.values()) {
      yield { hours: 1, count: isCounting ? count : null };
      isCounting &&= !isEnough();
    }
  }
  #within({ streams, fromMs, toMs }: MergedRange): StoredReading[] {
    return this.readings
      .filter((one) =>
        streams.some(({ sensor, kind }) => one.sensor === sensor && one.kind === kind),
      )
      .filter(({ timeMs }) => timeMs >= fromMs && timeMs < toMs)
      .sort((a, b) => a.timeMs - b.timeMs || a.seq - b.seq);
  }
  *merged(range: MergedRange): Generator<readonly StoredReading[]> {
    const wanted = this.#within(range);
    for (let from = 0; from < wanted.length; from += PAGE_ROWS) {
      const page = wanted.slice(from, from + PAGE_ROWS);
      this.rowsRead += page.length;
      yield page;
    }
  }
  page(range: HistoryRange): StoredReading[] {
    const { fromMs, toMs, order, after, limit } = range;
    const inRange = this.#sorted(range.sensor, range.kind).filter(
      ({ timeMs }) => timeMs >= fromMs && timeMs < toMs,
    );
    const walked = order === "ascending" ? inRange : inRange.reverse();
    const sign = order === "ascending" ? 1 : -1;
    const rest =
      after === null
        ? walked
        : walked.filter((one) => sign * (one.timeMs - after.timeMs || one.seq - after.seq) > 0);
    const page = rest.slice(0, limit);
    this.rowsRead += page.length;
    return page;
  }
  #sorted(sensor: string, kind: Kind): StoredReading[] {
    return this.readings
      .filter((one) => one.sensor === sensor && one.kind === kind)
      .sort((a, b) => a.timeMs - b.timeMs || a.seq - b.seq);
  }
}

function sumsOf(readings: readonly StoredReading[]): SeriesSum[] {
  const sums = new Map<string, SeriesSum>();
  for (const reading of readings) {
    const [units, quality] = [storedUnits(reading), storedQuality(reading)];
    for (const [name, value] of Object.entries(storedValues(reading))) {
      const unit = units[name] ?? null;
      const doubt = quality[name]?.quality;
      const number = doubt === "bad" ? null : numberOf(name, value);
      if (number === null && doubt !== "bad") continue;
      const sum = sums.get(`${name} ${unit}`) ?? emptySum(name, unit);
      sums.set(`${name} ${unit}`, sum);
      if (number === null) sum.bad += 1;
      else {
        addNumber(sum, number);
        if (doubt === "uncertain") sum.uncertain += 1;
      }
    }
  }
  return [...sums.values()];
}

/** Hours and days of a history in memory, of which nothing leaves. */
class MemoryHours implements HourValues {
  readonly #history: MemoryHistory;

  constructor(history: MemoryHistory) {
    this.#history = history;
  }

  *points({ sensor, kind, fromMs, toMs, span, values }: HourQuery): Generator<HourPoint> {
    const spanMs = span === "days" ? DAY_MS : HOUR_MS;
    const range = { sensor, kind, order: "ascending", after: null, limit: spanMs } as const;
    const history = this.#history;
    const extent = history.extent() ?? { fromMs: 0, toMs: 0 };
    const first = Math.max(fromMs, extent.fromMs - spanMs);
    for (
      let at = Math.ceil(first / spanMs) * spanMs;
      at < Math.min(toMs, extent.toMs);
      at += spanMs
    ) {
      const readings = history.page({ ...range, fromMs: at, toMs: at + spanMs });
      if (readings.length === 0) continue;
      const series = sumsOf(readings).filter(({ value }) => values?.includes(value) ?? true);
      yield { startMs: at, readings: readings.length, series };
    }
  }

  isGone(): boolean {
    return false;
  }

  firstMs(): number | null {
    return null;
  }

  sinceMs(): number | null {
    const extent = this.#history.extent();
    return extent === null ? null : Math.floor(extent.fromMs / DAY_MS) * DAY_MS;
  }
}

export function agentStatus(change: Partial<AgentStatus> = {}): AgentStatus {
  return {
    site: "plant-7",
    version: "0.1.0",
    startedAtMs: NOW - 3_600_000,
    nowMs: NOW,
    timezone: "UTC",
    gateway: {
      isUp: true,
      isNeeded: true,
      url: "http://gateway",
      lastAnswerAtMs: NOW - 1000,
      lastError: null,
      lastErrorClass: null,
      skewMs: 250,
    },
    links: [
      {
        name: "mqtt",
        uplink: "main",
        pending: 0,
        oldestTimeMs: null,
        isConnected: true,
        url: "mqtt://broker",
        since: NOW,
        lastError: null,
        refused: null,
        delivered: 7,
        failures: {},
      },
    ],
    buffer: {
      lanes: { json: { readings: 3, oldestTimeMs: NOW - 5000 } },
      readings: 10,
      databaseBytes: 4096,
      limitBytes: 2 ** 31,
      diskFreeBytes: 1e9,
      hoursUntilFull: 500,
      hours: { bytes: 0, limitBytes: 16_777_216, oldestHourMs: null, oldestDayMs: null },
      dropped: {},
      alarm: null,
      isWritable: true,
      kept: { measurements: 0, pins: 0, bytes: 0, limitBytes: 16 << 20, isFull: false },
    },
    sensors: [
      { code: "10234", state: "online", lastReadingMs: NOW - 60_000, batteryV: 3.6, kinds: [] },
    ],
    delivered: 7,
    clock: { skewMs: 250, isPlausible: true, isConfirmed: true },
    configuration: "0123456789ab",
    pendingRestart: [],
    renewedByRestart: [],
    notifications: [],
    activeAlarms: null,
    certificates: [],
    daysSetAside: [],
    pendingReload: [],
    configurationFaults: [],
    http: { address: "http://127.0.0.1:8080", lastError: null },
    ...change,
  };
}

/** Counts times calibration for unit 0, nothing for the others. */
const PLAIN_SERIES: SeriesMaker = {
  waveform: (stored, unit) => ({
    values:
      unit === 0
        ? Float64Array.from(stored.samples, (count) => count * stored.calibration)
        : new Float64Array(0),
    step: 1 / stored.sampleRateHz,
    firstIndex: 0,
    doubt: null,
    overall: null,
  }),
  spectrum: (stored) => ({
    values: Float64Array.of(0, 1, 0.5),
    step: stored.sampleRateHz / stored.samples.length,
    firstIndex: 0,
    doubt: null,
    peaks: [{ frequencyHz: 10, amplitude: 1 }],
  }),
  beltHz: () => null,
};

/** For tests of other paths; those of measurements use a store. */
const NO_MEASUREMENTS: HttpParts["measurements"] = {
  list: () => [],
  extent: () => null,
  find: () => null,
  next: () => null,
  times: () => [],
  readingOf: () => null,
};

export interface TestParts extends HttpParts {
  readonly history: MemoryHistory;
  readonly clock: ManualClock;
  setStatus(status: AgentStatus): void;
  setHealth(parts: readonly HealthPart[]): void;
  addWaveform(waveform: StoredWaveform): void;
  emit(event: LiveEvent): void;
  readonly subscribers: number;
}

export function testParts(change: Partial<HttpParts> = {}): TestParts {
  let status = agentStatus();
  let health: readonly HealthPart[] = [
    { name: "loop", isWell: true, detail: "" },
    { name: "database", isWell: true, detail: "" },
  ];
  const waveforms = new Map<number, StoredWaveform>();
  const listeners = new Set<(event: LiveEvent) => void>();
  const gaps: Gap[] = [];
  const clock = new ManualClock(NOW);
  const backfill: BackfillJobs = {
    start: () => ({ accepted: false, reason: "busy", detail: "a backfill is running" }),
    current: () => null,
  };
  const history = new MemoryHistory();
  return {
    site: fixedSite(SITE),
    configuration: null,
    status: { status: () => status },
    health: { parts: () => health },
    waveforms: {
      has: (fileId) => waveforms.has(fileId),
      read: (fileId) => waveforms.get(fileId) ?? null,
    },
    measurements: NO_MEASUREMENTS,
    series: PLAIN_SERIES,
    gaps: { recent: (max) => gaps.slice(0, max) },
    live: {
      subscribe(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    backfill,
    lastQueuedAtMs: () => null,
    audit: null,
    dayMedians: { changes: 0, of: () => [] },
    metrics: createMetrics(),
    loopDelay: new LoopDelay(),
    logger: silentLogger,
    gatewayNow: () => clock.now(),
    hours: new MemoryHours(history),
    operations: operationsOf([]),
    routes: [],
    outlooks: null,
    alarmCounts: null,
    metricText: () => Promise.resolve(""),
    isSetupOn: false,
    ...change,
    history,
    clock,
    setStatus(next) {
      status = next;
    },
    setHealth(next) {
      health = next;
    },
    addWaveform(waveform) {
      waveforms.set(waveform.fileId, waveform);
    },
    emit(event) {
      for (const listener of listeners) listener(event);
    },
    get subscribers() {
      return listeners.size;
    },
  };
}

export const OPTIONS: HttpOptions = {
  host: "127.0.0.1",
  port: 0,
  socketPath: null,
  token: null,
  version: "0.1.0",
  timezone: "UTC",
  names: createWireNames({ word: "sensor", service: "SensorService.svc" }),
  dashboardDir: null,
};
