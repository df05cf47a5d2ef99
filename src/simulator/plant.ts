import type { ChannelConfig, MachineClass, PolledKind } from "../core/sensor.ts";
import type { Shaft } from "../core/shaft.ts";
import type { Site } from "../core/site.ts";
import { HOUR_MS } from "../core/time-units.ts";
import { chance, mix } from "./random.ts";

type Defect = "bearing" | "unbalance" | "misalignment" | "looseness";

/** A machine of the simulated plant. Its behaviour follows from this alone (machines.ts). */
export interface SimulatedMachine {
  readonly id: number;
  readonly seed: number;
  readonly name: string;
  readonly area: number;
  readonly speedRpm: number;
  readonly machineClass: MachineClass;
  /** Part of each cycle in which it runs. */
  readonly runFraction: number;
  readonly cycleMs: number;
  readonly ratedA: number;
  readonly defect: Defect;
  /** From healthy to severe; then it is repaired and the defect starts again. */
  readonly growthMs: number;
  readonly growthPhase: number;
  /** Its motor drives a fan by a belt, at whose bearing there is a sensor. */
  readonly hasBeltFan: boolean;
}

export interface PlantSensor extends Fitting {
  readonly code: string;
  readonly name: string;
  readonly seed: number;
  readonly machine: SimulatedMachine;
  /** Measurement point on the machine, and its name. */
  readonly point: number;
  /** The shaft that it is mounted at; null: the measured one. */
  readonly shaft: Omit<Shaft, "points"> | null;
}

export interface PlantOptions {
  readonly seed: number;
  readonly sensors: number;
  /** Maximum number of sensors with waveforms; the rest of a large plant is scalar. */
  readonly accelSensorsMax: number;
  /** Days a defect takes from healthy to severe. */
  readonly growthDays: number;
}

export interface Plant {
  readonly machines: readonly SimulatedMachine[];
  readonly sensors: readonly PlantSensor[];
  readonly byCode: ReadonlyMap<string, PlantSensor>;
}

/** Type codes of this plant. A site would take them from its own gateway. */
const SENSOR_TYPES = {
  triaxial: 3,
  biaxial: 50,
  generalPurpose: 60,
  loop: 26,
  dryContact: 27,
  current: 30,
  currentV2: 31,
  rpm: 40,
} as const;

const MACHINE_NAMES = ["Pump", "Fan", "Compressor", "Conveyor", "Mixer", "Blower"] as const;
const AREA_NAMES = [
  "Boiler house",
  "Water treatment",
  "Packing hall",
  "Mill",
  "Utilities",
] as const;
const DEFECTS = ["bearing", "unbalance", "bearing", "misalignment", "looseness"] as const;
const SPEEDS_RPM = [1485, 2970, 1480, 985, 1490, 2955] as const;
const CLASSES = ["group2-rigid", "group2-rigid", "group1-rigid", "class2", "class2"] as const;
const MACHINES_PER_AREA = 5;

interface Fitting {
  readonly type: number;
  readonly kinds: readonly PolledKind[];
  readonly pointName: string;
  readonly axes: 2 | 3;
  readonly channels: Readonly<Record<string, ChannelConfig>>;
}

const MOTOR_END = "NDE bearing";

/** Fitted to every machine, in this order: seven sensors that cover all seven kinds. */
const FITTINGS: readonly [Fitting, Fitting, Fitting, Fitting, ...Fitting[]] = [
  {
    type: SENSOR_TYPES.triaxial,
    kinds: ["accel"],
    pointName: "DE bearing",
    axes: 3,
    channels: { channel1: { axis: "H" }, channel2: { axis: "V" }, channel3: { axis: "A" } },
  },
  {
    type: SENSOR_TYPES.currentV2,
    kinds: ["currentV2", "accCurrent"],
    pointName: "Feeder",
    axes: 3,
    channels: {
      current1: { clamp: 100, name: "L1" },
      current2: { clamp: 100, name: "L2" },
      current3: { clamp: 250, name: "L3" },
      current4: { clamp: 50, name: "N" },
    },
  },
  {
    type: SENSOR_TYPES.loop,
    kinds: ["loop"],
    pointName: "Tank",
    axes: 3,
    channels: {
      channel1: { name: "Tank level", unit: "%", low: 0, high: 100 },
      channel2: { name: "Discharge pressure", unit: "bar", low: 0, high: 10 },
      channel3: { name: "Flow", unit: "m3/h", low: 0, high: 120 },
    },
  },
  {
    type: SENSOR_TYPES.rpm,
    kinds: ["rpm"],
    pointName: "Shaft",
    axes: 3,
    channels: {},
  },
  {
    type: SENSOR_TYPES.dryContact,
    kinds: ["dryContact"],
    pointName: "Contacts",
    axes: 3,
    channels: {
      input1: { name: "Door open" },
      input2: { name: "Running" },
      input3: { name: "Tank level high" },
      input4: { name: "Spare" },
    },
  },
  {
    type: SENSOR_TYPES.current,
    kinds: ["current"],
    pointName: "Cabinet",
    axes: 3,
    channels: {
      current1: { clamp: 100, name: "L1" },
      current2: { clamp: 100, name: "L2" },
      current3: { clamp: 500, name: "L3" },
    },
  },
  {
    type: SENSOR_TYPES.biaxial,
    kinds: ["accel"],
    pointName: MOTOR_END,
    axes: 2,
    channels: { channel1: { axis: "H" }, channel2: { axis: "V" } },
  },
];

/** What the motor of a machine named so drives by a belt; its bearing takes the place of the motor's second one. */
export const BELT_FAN = {
  machine: "Fan",
  pointName: "Fan bearing",
  shaft: { name: "fan", speedRatio: 0.531, belt: true, blades: 8 },
} as const;

/** A plant from a seed: the same seed and size give the same machines, serials and defects. */
export function createPlant(options: PlantOptions): Plant {
  const machines: SimulatedMachine[] = [];
  const sensors: PlantSensor[] = [];
  let accelSensors = 0;
  for (let i = 0; i < options.sensors; i++) {
    const index = Math.floor(i / FITTINGS.length);
    const machine = (machines[index] ??= createMachine(index, options));
    let fitting = inTurn(FITTINGS, i);
    if (fitting.kinds.includes("accel") && ++accelSensors > options.accelSensorsMax) {
      fitting = FITTINGS[3];
    }
    const { type, kinds, axes, channels } = fitting;
    const isAtFan = fitting.pointName === MOTOR_END && machine.hasBeltFan;
    const pointName = isAtFan ? BELT_FAN.pointName : fitting.pointName;
    const point = (i % FITTINGS.length) + 1;
    sensors.push({
      code: String(100_200_300 + i * 37),
      name: `${machine.name} ${pointName}`,
      seed: mix(options.seed, 1000 + i),
      machine,
      type,
      kinds,
      pointName,
      axes,
      channels,
      point,
      shaft: isAtFan ? BELT_FAN.shaft : null,
    });
  }
  return { machines, sensors, byCode: new Map(sensors.map((sensor) => [sensor.code, sensor])) };
}

const inTurn = <T>(list: readonly [T, ...T[]], index: number): T =>
  list[index % list.length] ?? list[0];

function createMachine(index: number, options: PlantOptions): SimulatedMachine {
  const seed = mix(options.seed, index + 1);
  const pick = <T>(list: readonly [T, ...T[]]): T => inTurn(list, index);
  const kindName = pick(MACHINE_NAMES);
  const isFitted =
    options.sensors >= (index + 1) * FITTINGS.length && options.accelSensorsMax >= 2 * (index + 1);
  return {
    id: 40 + index,
    seed,
    name: `${kindName} ${index + 1}`,
    area: 1 + Math.floor(index / MACHINES_PER_AREA),
    speedRpm: pick(SPEEDS_RPM),
    machineClass: pick(CLASSES),
    runFraction: 0.72 + 0.26 * chance(seed, 1),
    cycleMs: Math.round((5 + 9 * chance(seed, 2)) * HOUR_MS),
    ratedA: Math.round(25 + 60 * chance(seed, 3)),
    defect: pick(DEFECTS),
    growthMs: options.growthDays * 24 * HOUR_MS * (0.8 + 0.4 * chance(seed, 4)),
    growthPhase: chance(seed, 5),
    hasBeltFan: kindName === BELT_FAN.machine && isFitted,
  };
}

const nominalRpm = ({ machine, shaft }: PlantSensor) =>
  Math.round(machine.speedRpm * (shaft?.speedRatio ?? 1));

/** The site file for this plant (contract section 4): an agent needs nothing else to be commissioned. */
export function plantSite(plant: Plant, site = "simulated-plant"): Site {
  return {
    site,
    sensors: plant.sensors.map((sensor) => ({
      code: sensor.code,
      type: sensor.type,
      name: sensor.name,
      kinds: sensor.kinds,
      location: {
        company: 1,
        area: sensor.machine.area,
        machine: sensor.machine.id,
        point: sensor.point,
        names: {
          company: "Simulated plant",
          area: inTurn(AREA_NAMES, sensor.machine.area - 1),
          machine: sensor.machine.name,
          point: sensor.pointName,
        },
      },
      channels: sensor.channels,
      ...(sensor.kinds.includes("accel")
        ? { machineClass: sensor.machine.machineClass, speedRpm: nominalRpm(sensor) }
        : {}),
    })),
  };
}
