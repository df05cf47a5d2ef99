import type { SensorState } from "../../core/agent-status.ts";
import { type Kind, normalCode, readingKinds, type Sensor } from "../../core/sensor.ts";
import {
  type ChannelLabel,
  channelLabels,
  channelOfValue,
} from "../../core/sensors/channel-labels.ts";
import { kindValues } from "../../core/sensors/kind-values.ts";
import { type Site } from "../../core/site.ts";
import type { SiteSource } from "../../core/site-source.ts";
import type { StoredReading } from "../../core/stored-reading.ts";
import { createSelector, SELECT_ALL, type Select, type Selector } from "../../core/uplink.ts";
import { publishedChannels } from "../../pipeline/convert/accel.ts";
import { type AlarmSource, alarmShape } from "./alarms.ts";
import { Device, type LimitsOf, metricName } from "./device.ts";
import { type MetricShape, settingShapes, waveformShape } from "./metric-shape.ts";
import { type ParsedReading, parseReading } from "./parsed-reading.ts";
import type { Datatype, Metric, MetricValue, Property } from "./payload.ts";

export type KnownState = Pick<SensorState, "code" | "state" | "lastReadingMs">;

export interface DevicesParts {
  /** Newest stored reading of a sensor and kind that is not flagged time_in_future; null if none. */
  newest(sensor: string, kind: Kind): StoredReading | null;
  /** All configured sensors; called once a second and at births. */
  sensors(): readonly KnownState[];
  /** Absent if alarms are disabled. */
  readonly alarms?: AlarmSource;
  /** Where a sensor stands, as metrics of its device; absent = none. */
  readonly names?: (sensor: string) => readonly (readonly [metric: string, text: string | null])[];
  /** The limits that judge values now; absent = none are told. */
  readonly limits?: LimitsOf;
}

export interface DevicesOptions {
  readonly site: SiteSource;
  /** The uplink's selection: nothing else is declared. By default everything. */
  readonly select?: Select;
  readonly hasWaveforms: boolean;
  /** COMMANDS_ENABLED: births carry the writable settings. */
  readonly hasCommands: boolean;
}

const TYPES = { number: "Double", boolean: "Boolean", string: "String" } as const;

/** Every device of the node: the configured sensors, and those with only a backlog. */
export class Devices {
  readonly #parts: DevicesParts;
  readonly #options: DevicesOptions;
  readonly #devices = new Map<string, Device>();
  readonly #byId = new Map<string, Device>();
  /** The configured ones, with their metrics as the site file declares them. */
  #configured = new Map<Device, string>();
  #site: Site | null = null;
  #renewed: Device[] = [];
  #known = new Map<string, KnownState>();

  constructor(parts: DevicesParts, options: DevicesOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#follow();
    this.#renewed = [];
  }

  get configured(): readonly Device[] {
    return [...this.#configured.keys()];
  }
  isConfigured(device: Device): boolean {
    return this.#configured.has(device);
  }
  /** True if a reload has changed the site file since the last check. */
  get isOutdated(): boolean {
    return this.#options.site.current !== this.#site;
  }

  /** Updates the sensors' states and the site file. True if devices were replaced. */
  look(): boolean {
    this.#known = new Map(this.#parts.sensors().map((known) => [normalCode(known.code), known]));
    return this.isOutdated && this.#follow();
  }

  /** Devices whose metrics changed since the last call: only these need a new birth. */
  takeRenewed(): Device[] {
    const renewed = this.#renewed;
    this.#renewed = [];
    return renewed;
  }

  /** A device with the same declaration stays; a removed one stays known while readings of it are pending. */
  #follow(): boolean {
    const { site } = this.#options;
    const before = this.#configured;
    this.#configured = new Map();
    // Areas and machines of the selection come from the site file.
    const selector = createSelector(this.#options.select ?? SELECT_ALL, site.current.sensors);
    for (const sensor of site.current.sensors) {
      if (!readingKinds(sensor).some((kind) => selector.includes(sensor.code, kind))) continue;
      const shapes = [
        ...shapesOf(sensor, selector, this.#options),
        ...(this.#parts.alarms?.watched(sensor.code) ?? []).map(alarmShape),
        ...(this.#parts.names?.(sensor.code) ?? []).map(
          ([name, constant]): MetricShape => ({
            name,
            type: "String",
            unit: null,
            source: null,
            constant,
          }),
        ),
      ];
      const declared = JSON.stringify(shapes);
      const known = this.#devices.get(normalCode(sensor.code));
      const isSame = known?.code === sensor.code && before.get(known) === declared;
      const device = isSame ? known : new Device(sensor.code, shapes, this.#parts.limits);
      if (!isSame) {
        this.#put(normalCode(sensor.code), device);
        this.#renewed.push(device);
      }
      this.#configured.set(device, declared);
    }
    this.#site = site.current;
    return this.#renewed.length > 0;
  }
  ofSensor(code: string): Device {
    const key = normalCode(code);
    let device = this.#devices.get(key);
    if (!device) {
      // Removed from the site file with pending readings: they are sent under their own device.
      device = new Device(code, []);
      this.#put(key, device);
    }
    return device;
  }
  byId(id: string): Device | undefined {
    return this.#byId.get(id);
  }
  #put(key: string, device: Device): void {
    const before = this.#devices.get(key);
    if (before !== undefined) this.#byId.delete(before.id);
    this.#devices.set(key, device);
    this.#byId.set(device.id, device);
  }

  /** `isReturning`: a birth for a live reading that the state may not reflect yet. */
  birthMetrics(device: Device, nowMs: number, isReturning: boolean): Metric[] {
    const isConfigured = this.#known.has(normalCode(device.code));
    const newest = new Map<Kind, ParsedReading>();
    for (const kind of device.kinds) {
      const reading = this.#parts.newest(device.code, kind);
      if (!reading) continue;
      const parsed = parseReading(reading);
      // A former metric of a configured sensor that the site file no longer lists is in the birth only while readings
      // of it are pending.
      if (!isConfigured) device.learn(parsed);
      newest.set(kind, parsed);
    }
    const isStale = this.isSilent(device) && !(isReturning && isConfigured);
    const { alarms } = this.#parts;
    const normalMs = (key: string) => alarms?.normalMs(device.code, key) ?? nowMs;
    return device.birth(nowMs, newest, alarms?.active(device.code) ?? [], normalMs, isStale);
  }
  /** A sensor without any reading is not silent: its birth has nulls, so that hosts know its tags from the start. */
  isSilent(device: Device): boolean {
    const known = this.#known.get(normalCode(device.code));
    // Not configured any more: nobody expects data from it.
    return known === undefined || known.state === "silent";
  }
  lastReadingMs(device: Device): number {
    return this.#known.get(normalCode(device.code))?.lastReadingMs ?? Number.NEGATIVE_INFINITY;
  }
}

function shapesOf(sensor: Sensor, selector: Selector, options: DevicesOptions): MetricShape[] {
  const isChosen = (kind: Kind) => selector.includes(sensor.code, kind);
  const values = readingKinds(sensor)
    .filter(isChosen)
    .flatMap((kind) => {
      const labels = channelLabels(sensor, kind);
      const chosen = kindValues(sensor, kind).filter(({ name }) => selector.value?.(name) ?? true);
      return chosen.map(({ name, unit, type, range }): MetricShape => {
        const properties = [
          ...(range === undefined ? [] : rangeProperties(range)),
          ...labelProperties(labels?.[channelOfValue(kind, name) ?? ""]),
        ];
        return {
          name: metricName(kind, name),
          type: TYPES[type],
          unit,
          source: { kind, value: name },
          ...(properties.length === 0 ? {} : { properties }),
        };
      });
    });
  const labels = channelLabels(sensor, "accel");
  const waveforms =
    options.hasWaveforms && sensor.kinds.includes("accel") && isChosen("accel")
      ? publishedChannels(sensor, true).map(({ number, axis }) =>
          waveformShape(number, axis, labels?.[`channel${number}`]?.name),
        )
      : [];
  return [...values, ...waveforms, ...(options.hasCommands ? settingShapes() : [])];
}

/** The site file's name of the channel, so that a host can show it beside the metric. */
function labelProperties(label: ChannelLabel | undefined): Property[] {
  return [
    ...(label?.name === undefined ? [] : [textProperty("name", label.name)]),
    ...(label?.axis === undefined ? [] : [textProperty("axis", label.axis)]),
  ];
}

const textProperty = (key: string, value: string): Property => ({ key, type: "String", value });

function rangeProperties([low, high]: readonly [number, number]): Property[] {
  return [
    { key: "engLow", type: "Double", value: low },
    { key: "engHigh", type: "Double", value: high },
  ];
}

interface MachineMetric {
  readonly name: string;
  readonly type: Datatype;
}

/** A machine as a device of the node (plant section 25): born with it, dead only when it is removed. */
export interface MachineDevice {
  readonly id: string;
  readonly metrics: readonly MachineMetric[];
}

/** Values by the names of metrics; a metric that is missing is null. */
export type MachineValues = Readonly<Record<string, MetricValue>>;

/** The machines as the node needs them. */
export interface MachineSource {
  /** Those of this uplink now; the same objects until one is another. */
  devices(): readonly MachineDevice[];
  /** All that is known of one, for its birth; data follows from here. */
  birth(device: string): MachineValues;
  /** What is due of those that were born, by device: what differs from what was given last. */
  due(): readonly (readonly [device: string, values: MachineValues])[];
  /** Keeps them current until the returned function is called. */
  follow(): () => void;
}

export const machineMetrics = (
  { metrics }: MachineDevice,
  values: MachineValues,
  timeMs: number,
): Metric[] =>
  metrics.map(({ name, type }) => ({ name, type, timeMs, value: values[name] ?? null }));

const declarations = new WeakMap<MachineDevice, string>();

/** What differs between two births: another list of metrics needs a new one. */
export function declarationOf(device: MachineDevice): string {
  const declaration = declarations.get(device) ?? JSON.stringify(device.metrics);
  declarations.set(device, declaration);
  return declaration;
}
