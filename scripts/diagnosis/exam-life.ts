/** One machine of the second simulation and its life, through the real analysis and the finding engine. */
import type { FindingKind } from "../../src/core/diagnosis/finding.ts";
import { UnitOfWork } from "../../src/core/tx.ts";
import {
  type Axes,
  BEARINGS,
  DAY_MS,
  engineFor,
  LIMITS,
  readingOf,
  SHAPES,
  SPEEDS,
  START_MS,
  velocityOf,
} from "./exam-engine.ts";
import { type Plant, PlantSignal, type Trouble } from "./plant-physics.ts";
import { type Random, randomOf } from "./random-numbers.ts";

const READINGS_A_DAY = 2;
const LEARN_DAYS = 15;

/** What may be told of each trouble. */
export const NAMES: Readonly<Record<Trouble, readonly FindingKind[]>> = {
  unbalance: ["unbalance"],
  misalignment: ["misalignment"],
  // There is no finding of that name: its lines are those of the two.
  "bent shaft": ["unbalance", "misalignment"],
  looseness: ["looseness"],
  "loose base": ["looseness"],
  "outer race": ["bearing_outer_race"],
  "inner race": ["bearing_inner_race"],
  "rolling element": ["rolling_element"],
  cage: ["cage"],
  "blade pass": ["blade_pass"],
  "gear mesh": ["gear_mesh"],
  electrical: ["electrical"],
};
const BLOWS: readonly Trouble[] = ["outer race", "inner race", "rolling element", "cage"];

export interface Life {
  /** Day on which it was found, by trouble; null: never. */
  readonly found: ReadonlyMap<Trouble, number | null>;
  /** Troubles of which most readings of the last fortnight said why they could not be told. */
  readonly explained: ReadonlySet<Trouble>;
  /** Findings of something else. */
  readonly others: readonly string[];
  readonly endDay: number;
  readonly plant: string;
}

const pick = <T>(of: readonly T[], random: Random): T => {
  const one = of[Math.floor(random() * of.length)];
  if (one === undefined) throw new Error("nothing to pick from");
  return one;
};

interface Drawn {
  readonly plant: Plant;
  readonly bearingName: string;
  /** Whether the site file states the directions, and whether it states them wrongly. */
  readonly axes: Axes;
}

function draw(random: Random): Drawn {
  const [bearingName, balls, ballMm, pitchMm, angleDeg] = pick(BEARINGS, random);
  const [sampleRateHz, samples] = pick(SHAPES, random);
  const speedRpm = pick(SPEEDS, random) * (1 + 0.01 * (random() - 0.5));
  const isDriven = random() < 0.25;
  const mode = (from: number, to: number, most: number) => ({
    hz: from * (to / from) ** random(),
    damping: 0.015 + 0.03 * random(),
    gains: [0, 1, 2].map(() => most * (0.15 + 0.85 * random())) as [number, number, number],
  });
  const low = [0, 1, 2].map(() => mode(15, 500, 0.5));
  const high = [0, 1, 2, 3, 4, 5].map((i) => mode(500 * 1.6 ** i, 800 * 1.6 ** i, 1));
  const small = () => 0.1 + 0.5 * random() ** 2;
  const beside = () =>
    (speedRpm / 60) * (1 + (random() < 0.5 ? -1 : 1) * (0.002 + 0.02 * random()));
  const neighbours = Array.from({ length: Math.floor(random() * 3) }, () => ({
    hz: beside(),
    mmS: 0.15 + 0.6 * random(),
  }));
  const plant: Plant = {
    speedRpm,
    swing: isDriven ? 0.35 : 0.01,
    wander: isDriven ? 0.002 : 0.0002,
    speedError: random() < 0.06 ? (random() < 0.5 ? 0.03 : -0.03) : 0,
    sampleRateHz,
    samples,
    lineHz: random() < 0.5 ? 50 : 60,
    blades: 4 + Math.floor(random() * 5),
    teeth: 15 + Math.floor(random() * 60),
    bearing: { balls, ballMm, pitchMm, angleDeg },
    slip: 0.012 * random(),
    jitter: 0.002 + 0.013 * random(),
    modes: [...low, ...high],
    usual: [0.2 + 0.5 * random(), small(), small() / 2, small() / 2, small() / 4, small() / 4],
    flow: 0.2 + 0.5 * random(),
    hum: 0.4 * random() ** 2,
    wake: 0.3 * random(),
    mesh: 0.25 * random(),
    neighbours,
    noiseG: 0.002 * 15 ** random(),
    character: [random(), random(), random()],
  };
  return { plant, bearingName, axes: random() < 0.75 ? "stated" : "unknown" };
}

/** @param troubles none: a healthy machine, for `days` */
export function live(seed: number, troubles: readonly Trouble[], days: number): Life {
  const random = randomOf(seed);
  const drawn = draw(random);
  const { bearingName, axes } = drawn;
  const plant = calmed(drawn.plant, random);
  const signal = new PlantSignal(plant, random);
  const sizes = troubles.map((kind) => finalSize(signal, kind, random));
  // Steep near the end: it doubles in 6 to 20 days.
  const growthDays = 8 + 22 * random();
  const lags = troubles.map((_, i) => (i === 0 ? 0 : 15 * random()));
  const endDay = troubles.length === 0 ? days : Math.round(LEARN_DAYS + 4 * growthDays);
  const { lineHz, blades, teeth, bearing } = plant;
  const bearings = [{ point: 1, name: bearingName, ...bearing }];
  const { engine, speed } = engineFor({ lineHz, blades, teeth: [teeth], bearings }, axes);
  const found = new Map<Trouble, number | null>(troubles.map((kind) => [kind, null]));
  const others: string[] = [];
  const why = new Map<Trouble, boolean[]>(troubles.map((kind) => [kind, []]));
  for (let i = 0; i < endDay * READINGS_A_DAY; i++) {
    const day = i / READINGS_A_DAY;
    const record = signal.record({
      troubles: troubles.map((kind, t) => ({
        kind,
        size: (sizes[t] ?? 0) * Math.exp(-(endDay - day + (lags[t] ?? 0)) / growthDays),
      })),
      load: 0.5 + 0.5 * random(),
      speedShare: 1 - plant.swing * random(),
      neighbourRuns: random() < 0.8,
      upset: random() < 0.03 ? 3 : 1,
    });
    speed.rpm = record.speedRpm * (1 + plant.speedError + 0.002 * (random() - 0.5));
    const timeMs = START_MS + (i * DAY_MS) / READINGS_A_DAY;
    const tx = new UnitOfWork();
    for (const event of engine.follow(tx, "1", "accel", [
      readingOf(record.channels, plant.sampleRateHz, timeMs),
    ]).events) {
      if (event.state !== "active") continue;
      const finding = event.value.split("/")[0] as FindingKind;
      const own = troubles.filter((kind) => NAMES[kind].includes(finding));
      if (own.length === 0 && !others.includes(finding)) others.push(finding);
      for (const kind of own) if ((found.get(kind) ?? null) === null) found.set(kind, day);
    }
    tx.committed();
    const cannot = engine.of("1").seen?.cannot ?? [];
    for (const kind of troubles) {
      const isSaid = cannot.some(
        ({ finding, reason }) =>
          // That no line is deep enough is true of every healthy bearing: it explains no damage that was missed.
          reason !== "below_depth" && (finding === null || NAMES[kind].includes(finding)),
      );
      why.get(kind)?.push(isSaid);
    }
  }
  const isExplained = (kind: Trouble) => {
    const last = (why.get(kind) ?? []).slice(-14 * READINGS_A_DAY);
    return last.filter(Boolean).length > last.length / 2;
  };
  return {
    found,
    explained: new Set(troubles.filter(isExplained)),
    others,
    endDay,
    plant: `${Math.round(plant.speedRpm)} r/min${plant.swing > 0.1 ? " driven" : ""}, ${plant.samples} at ${plant.sampleRateHz} Hz, ${bearingName}, speed ${100 * plant.speedError} %, axes ${axes}, growth ${growthDays.toFixed(0)} d`,
  };
}

const FULL = { load: 1, speedShare: 1, neighbourRuns: true, upset: 1 } as const;

/** A machine that begins in zone C was accepted by nobody: what is usual is made smaller. */
function calmed(plant: Plant, random: Random): Plant {
  const { channels } = new PlantSignal(plant, random).record({ ...FULL, troubles: [] });
  const worst = Math.max(...channels.map((counts) => velocityOf(counts, plant.sampleRateHz)));
  const most = LIMITS[0] + 0.3 * (LIMITS[1] - LIMITS[0]);
  if (worst <= most) return plant;
  const by = most / worst;
  return {
    ...plant,
    usual: plant.usual.map((mmS) => mmS * by),
    flow: plant.flow * by,
    hum: plant.hum * by,
    wake: plant.wake * by,
    mesh: plant.mesh * by,
    noiseG: plant.noiseG * by,
    neighbours: plant.neighbours.map(({ hz, mmS }) => ({ hz, mmS: mmS * by })),
  };
}

/** At the end of its life: velocity of the limit C/D, or blows of several G. */
function finalSize(signal: PlantSignal, kind: Trouble, random: Random): number {
  if (BLOWS.includes(kind)) return 3 + 9 * random();
  const rms = (size: number) => {
    const record = signal.record({ ...FULL, neighbourRuns: false, troubles: [{ kind, size }] });
    return Math.max(...record.channels.map((counts) => velocityOf(counts, signal.sampleRateHz)));
  };
  const [without, at] = [rms(0), rms(1)];
  const own = Math.sqrt(Math.max(0.01, at * at - without * without));
  return Math.sqrt(Math.max(1, LIMITS[2] ** 2 - without ** 2)) / own;
}
