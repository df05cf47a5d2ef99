import { publishedChannels } from "../../core/convert/accel.ts";
import { kindValues } from "../../core/kind-values.ts";
import type { SensorState, StoredReading } from "../../core/ports.ts";
import { type Kind, normalCode, type Sensor } from "../../core/sensor.ts";
import {
  Device,
  type MetricShape,
  metricName,
  type ParsedReading,
  parseReading,
} from "./device.ts";
import { settingShapes } from "./device-command.ts";
import type { Metric, Property } from "./payload.ts";
import { waveformShape } from "./waveform.ts";

export type KnownState = Pick<SensorState, "code" | "state" | "lastReadingMs">;

export interface DeviceBookParts {
  /** Newest stored reading of a sensor and kind that is not flagged time_in_future; null when none. */
  newest(sensor: string, kind: Kind): StoredReading | null;
  /** All configured sensors; asked for once a second and at births. */
  sensors(): readonly KnownState[];
}

export interface DeviceBookOptions {
  readonly sensors: readonly Sensor[];
  readonly hasWaveforms: boolean;
  /** COMMANDS_ENABLED: births carry the writable settings. */
  readonly hasCommands: boolean;
}

const TYPES = { number: "Double", boolean: "Boolean", string: "String" } as const;

/** Every device of the node: the configured sensors, and those that only the backlog still knows. */
export class DeviceBook {
  readonly #parts: DeviceBookParts;
  readonly #devices = new Map<string, Device>();
  readonly configured: readonly Device[];
  #known = new Map<string, KnownState>();

  constructor(parts: DeviceBookParts, options: DeviceBookOptions) {
    this.#parts = parts;
    this.configured = options.sensors.map((sensor) => {
      const device = new Device(sensor.code, shapesOf(sensor, options));
      this.#devices.set(normalCode(sensor.code), device);
      return device;
    });
  }

  /** Takes the sensors' states as they are now. */
  look(): void {
    this.#known = new Map(this.#parts.sensors().map((known) => [normalCode(known.code), known]));
  }
  ofSensor(code: string): Device {
    const key = normalCode(code);
    let device = this.#devices.get(key);
    if (!device) {
      // Taken out of the site file with readings still owed: they go out under the device they belong to.
      device = new Device(code, []);
      this.#devices.set(key, device);
    }
    return device;
  }
  byId(id: string): Device | undefined {
    return [...this.#devices.values()].find((device) => device.id === id);
  }

  /** `isReturning`: born for a live reading, which its state may not tell of yet. */
  birthMetrics(device: Device, nowMs: number, isReturning: boolean): Metric[] {
    const isConfigured = this.#known.has(normalCode(device.code));
    const newest = new Map<Kind, ParsedReading>();
    for (const kind of device.kinds) {
      const reading = this.#parts.newest(device.code, kind);
      if (!reading) continue;
      const parsed = parseReading(reading);
      // What a configured sensor once had and the site file lists no more is born only where readings of it are owed.
      if (!isConfigured) device.learn(parsed);
      newest.set(kind, parsed);
    }
    const isStale = this.isSilent(device) && !(isReturning && isConfigured);
    return device.birth(nowMs, newest, isStale);
  }
  /** A sensor never heard of is not silent: it is born with nulls, so that hosts know its tags from the start. */
  isSilent(device: Device): boolean {
    const known = this.#known.get(normalCode(device.code));
    // Not configured any more: nobody listens to it.
    return known === undefined || known.state === "silent";
  }
  lastReadingMs(device: Device): number {
    return this.#known.get(normalCode(device.code))?.lastReadingMs ?? Number.NEGATIVE_INFINITY;
  }
}

function shapesOf(sensor: Sensor, options: DeviceBookOptions): MetricShape[] {
  const values = sensor.kinds.flatMap((kind) =>
    kindValues(sensor, kind).map(
      ({ name, unit, type, range }): MetricShape => ({
        name: metricName(kind, name),
        type: TYPES[type],
        unit,
        source: { kind, value: name },
        ...(range === undefined ? {} : { properties: rangeProperties(range) }),
      }),
    ),
  );
  const waveforms =
    options.hasWaveforms && sensor.kinds.includes("accel")
      ? publishedChannels(sensor, true).map(({ number, axis }) => waveformShape(number, axis))
      : [];
  return [...values, ...waveforms, ...(options.hasCommands ? settingShapes() : [])];
}

function rangeProperties([low, high]: readonly [number, number]): Property[] {
  return [
    { key: "engLow", type: "Double", value: low },
    { key: "engHigh", type: "Double", value: high },
  ];
}
