import type { Clock } from "../core/ports.ts";
import type { PolledKind } from "../core/sensor.ts";
import { withoutSlashes } from "../core/text/text-ends.ts";
import { systemClock } from "../lib/clock.ts";
import type { StateOperation } from "./node-state.ts";
import type { WaveformShape } from "./waveform.ts";
import type { WiringFault } from "./wiring.ts";

export type EmptyDay = "empty" | "null" | "missing" | "empty-array" | { readonly status: number };
type SettingsResponse = "envelope" | "bare" | "key-only" | "wrapped";

export interface SimulatorOptions {
  readonly clock?: Clock;
  /** By default loopback. */
  readonly host?: string;
  /** 0 = any free port. */
  readonly port?: number;
  readonly seed?: number;
  readonly sensors?: number;
  /** How many times faster than real time the plant's time runs. */
  readonly speed?: number;
  /** IANA zone of the gateway. */
  readonly zone?: string;
  /** The vendor's word for which the contract says sensor. */
  readonly word?: string;
  readonly servicePath?: string;
  readonly generation?: 1 | 2;
  /** Plant time at the start, ms UTC; by default now. */
  readonly startMs?: number;
  /** Which moment of the machines' lives the start is, ms UTC; by default plant time. A fixed one makes every start alike. */
  readonly machinesStartMs?: number;
  /** Error of the gateway's clock, ms. */
  readonly clockOffsetMs?: number;
  readonly historyDays?: number;
  /** Seconds between two records, by kind. */
  readonly cadenceS?: Readonly<Partial<Record<PolledKind, number>>>;
  readonly waveform?: Partial<WaveformShape>;
  /** How all sensors are wired wrongly. */
  readonly wiring?: readonly WiringFault[];
  readonly accelSensorsMax?: number;
  readonly growthDays?: number;
  readonly dayRule?: "time_data" | "realnodetime";
  readonly emptyDay?: EmptyDay;
  /** A string where an integer is expected, and the reverse, gives 400. */
  readonly strictTypes?: boolean;
  /** Status of the page for an exception in the handler, such as a date that is no day. */
  readonly faultStatus?: 400 | 500;
  /** Memory for prepared waveforms, MB. */
  readonly cacheMb?: number;
  /** Additional read operations, for the states of nodes. */
  readonly stateOperations?: readonly StateOperation[];
  readonly settings?: {
    /** One JSON file per sensor is written here; without it, only in memory. */
    readonly dir?: string;
    readonly order?: readonly (502 | 503 | 504 | 505 | 506)[];
    readonly ranges?: readonly number[];
    /** Type codes that accept settings. */
    readonly types?: readonly number[];
    readonly answer?: SettingsResponse;
  };
}

const CADENCE_S: Readonly<Record<PolledKind, number>> = {
  accel: 600,
  current: 60,
  currentV2: 60,
  accCurrent: 900,
  loop: 30,
  dryContact: 60,
  rpm: 60,
};

/** Every option with its default. */
export function withDefaults(options: SimulatorOptions) {
  const clock = options.clock ?? systemClock;
  const startMs = options.startMs ?? clock.now();
  return {
    clock,
    host: options.host ?? "127.0.0.1",
    port: options.port ?? 0,
    seed: options.seed ?? 1,
    sensors: options.sensors ?? 14,
    speed: options.speed ?? 1,
    zone: options.zone ?? new Intl.DateTimeFormat().resolvedOptions().timeZone,
    word: options.word ?? "sensor",
    servicePath: withoutSlashes(options.servicePath ?? "SensorService.svc"),
    generation: options.generation ?? 2,
    startMs,
    machinesAheadMs: (options.machinesStartMs ?? startMs) - startMs,
    clockOffsetMs: options.clockOffsetMs ?? 0,
    historyDays: options.historyDays ?? 30,
    cadenceS: { ...CADENCE_S, ...options.cadenceS },
    waveform: { sampleRateHz: 6400, samples: 4096, rangeG: 8, ...options.waveform },
    wiring: options.wiring ?? [],
    accelSensorsMax: options.accelSensorsMax ?? 100,
    growthDays: options.growthDays ?? 14,
    dayRule: options.dayRule ?? "time_data",
    emptyDay: options.emptyDay ?? "empty",
    strictTypes: options.strictTypes ?? false,
    faultStatus: options.faultStatus ?? 400,
    cacheMb: options.cacheMb ?? 64,
    stateOperations: options.stateOperations ?? [],
    settings: {
      dir: options.settings?.dir ?? null,
      order: options.settings?.order ?? [506, 502, 503, 504, 505],
      ranges: options.settings?.ranges ?? [2, 4, 8, 16],
      types: options.settings?.types ?? [3, 50, 60],
      answer: options.settings?.answer ?? "envelope",
    },
  } as const;
}
export type SimulatorConfig = ReturnType<typeof withDefaults>;
