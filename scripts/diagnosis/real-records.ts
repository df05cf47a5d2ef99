/**
 * Public records of real bearings with known faults, read from a folder that is not part of the repository:
 * `cwru/` with the 12 kHz files of the Case Western Reserve University Bearing Data Center (their names end in the
 * centre's number: `118.mat`, `B007_0_118.mat`), `mfpt/` with the files of the Society for Machinery Failure
 * Prevention Technology as MathWorks distributes them (`InnerRaceFault_vload_1.mat` …), and `hit/` with those of the
 * SpectraQuest rig of the Harbin Institute of Technology (`IR2_900.mat` …, github hitwzc/Bearing-datasets), and `harbin/`
 * with those of the rig that it built itself.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { FindingKind } from "../../src/core/diagnosis/finding.ts";
import type { Bearing } from "../../src/core/machine.ts";
import { matArrays } from "./mat-file.ts";

export interface RealRecord {
  readonly name: string;
  readonly sampleRateHz: number;
  readonly speedRpm: number;
  readonly bearing: Omit<Bearing, "point">;
  /** Null: undamaged. */
  readonly truth: FindingKind | null;
  readonly samplesG: Float64Array;
}

/**
 * Those that rules are made with; the others are looked at when the rules are finished. `beside`: the other end of the
 * damaged machines, whose bearing is whole.
 */
export type RecordSet = "develop" | "others" | "all" | "beside" | "hit" | "harbin";

const DRIVE_END = { name: "6205", bpfo: 3.5848, bpfi: 5.4152, bsf: 2.3567, ftf: 0.3983 } as const;
const FAN_END = { name: "6203", bpfo: 3.053, bpfi: 4.9469, bsf: 1.9938, ftf: 0.3816 } as const;
/** Both of the rig; its records last 5.1 s at 51.2 kHz, and are looked at as a sensor of 12.8 kHz has them. */
const HIT_BEARING = { name: "6205", balls: 9, ballMm: 7.94, pitchMm: 39.04, angleDeg: 0 };
const HIT_RATE = 51_200;
const HIT_EVERY = 4;
const MFPT_BEARING = { name: "NICE", balls: 8, ballMm: 5.969, pitchMm: 31.623, angleDeg: 0 };
const LOAD_RPM = [1797, 1772, 1750, 1730] as const;

type Fault = "outer" | "inner" | "ball";
const TRUTH: Readonly<Record<Fault, FindingKind>> = {
  outer: "bearing_outer_race",
  inner: "bearing_inner_race",
  ball: "rolling_element",
};

/** End, fault, diameter in mils with the place of the fault, files by load from `firstLoad` on. */
type Series = readonly ["DE" | "FE", Fault, string, readonly number[], number?];
const SERIES: readonly Series[] = [
  ["DE", "inner", "7", [105, 106, 107, 108]],
  ["DE", "inner", "14", [169, 170, 171, 172]],
  ["DE", "inner", "21", [209, 210, 211, 212]],
  ["DE", "inner", "28", [3001, 3002, 3003, 3004]],
  ["DE", "ball", "7", [118, 119, 120, 121]],
  ["DE", "ball", "14", [185, 186, 187, 188]],
  ["DE", "ball", "21", [222, 223, 224, 225]],
  ["DE", "ball", "28", [3005, 3006, 3007, 3008]],
  ["DE", "outer", "7@6", [130, 131, 132, 133]],
  ["DE", "outer", "7@3", [144, 145, 146, 147]],
  ["DE", "outer", "7@12", [156, 158, 159, 160]],
  ["DE", "outer", "14@6", [197, 198, 199, 200]],
  ["DE", "outer", "21@6", [234, 235, 236, 237]],
  ["DE", "outer", "21@3", [246, 247, 248, 249]],
  ["DE", "outer", "21@12", [258, 259, 260, 261]],
  ["FE", "inner", "7", [278, 279, 280, 281]],
  ["FE", "inner", "14", [274, 275, 276, 277]],
  ["FE", "inner", "21", [270, 271, 272, 273]],
  ["FE", "ball", "7", [282, 283, 284, 285]],
  ["FE", "ball", "14", [286, 287, 288, 289]],
  ["FE", "ball", "21", [290, 291, 292, 293]],
  ["FE", "outer", "7@6", [294, 295, 296, 297]],
  ["FE", "outer", "7@3", [298, 299, 300, 301]],
  ["FE", "outer", "7@12", [302, 305, 306, 307]],
  ["FE", "outer", "14@3", [310, 309, 311, 312]],
  ["FE", "outer", "14@6", [313]],
  ["FE", "outer", "21@6", [315]],
  ["FE", "outer", "21@3", [316, 317, 318], 1],
];
/** The undamaged one, both ends. */
const UNDAMAGED = 97;

/** Numbered files of a folder. */
function numbered(folder: string): ReadonlyMap<number, string> {
  return new Map(
    readdirSync(folder).flatMap((file) => {
      const number = /(\d+)\.mat$/.exec(file)?.[1];
      return number === undefined ? [] : [[Number(number), join(folder, file)] as const];
    }),
  );
}

function* cwru(folder: string, set: RecordSet): Generator<RealRecord> {
  const files = numbered(folder);
  for (const [end, fault, size, numbers, firstLoad = 0] of SERIES) {
    for (const [i, number] of numbers.entries()) {
      const load = firstLoad + i;
      const isDeveloped = end === "DE" && load < 2;
      if (set !== "all" && set !== "beside" && isDeveloped !== (set === "develop")) continue;
      const path = files.get(number);
      if (path === undefined) throw new Error(`${folder} has no file ${number}.mat`);
      if (set === "beside") {
        const other = end === "DE" ? "FE" : "DE";
        const whole = endOf(path, other, LOAD_RPM[load] ?? 1797);
        if (whole === null) continue;
        yield {
          name: `beside ${other} of ${end} ${fault} ${size} (${number})`,
          ...whole,
          truth: null,
        };
        continue;
      }
      yield {
        name: `cwru ${end} ${fault} ${size} load ${load} (${number})`,
        ...present(endOf(path, end, LOAD_RPM[load] ?? 1797), path),
        truth: TRUTH[fault],
      };
    }
  }
  if (set === "beside") return;
  const path = files.get(UNDAMAGED);
  if (path === undefined) throw new Error(`${folder} has no file ${UNDAMAGED}.mat`);
  for (const end of ["DE", "FE"] as const) {
    if (set !== "all" && (end === "DE") !== (set === "develop")) continue;
    const name = `cwru ${end} undamaged (${UNDAMAGED})`;
    yield { name, ...present(endOf(path, end, LOAD_RPM[0]), path), truth: null };
  }
}

function present<T>(record: T | null, path: string): T {
  if (record === null) throw new Error(`${path} lacks an end`);
  return record;
}

/** Null: that end was not recorded. */
function endOf(path: string, end: "DE" | "FE", nominalRpm: number) {
  const arrays = matArrays(readFileSync(path));
  const named = (ending: string) => [...arrays].find(([name]) => name.endsWith(ending))?.[1];
  const samplesG = named(`${end}_time`);
  if (samplesG === undefined) return null;
  const speedRpm = named("RPM")?.[0] ?? nominalRpm;
  const bearing = end === "DE" ? DRIVE_END : FAN_END;
  return { sampleRateHz: 12_000, speedRpm, bearing, samplesG };
}

function* mfpt(folder: string): Generator<RealRecord> {
  for (const file of readdirSync(folder).toSorted()) {
    const fault = /^(Inner|Outer)RaceFault_vload_\d+\.mat$/.exec(file)?.[1];
    if (fault === undefined) continue;
    const arrays = matArrays(readFileSync(join(folder, file)));
    const samplesG = arrays.get("bearing.gs");
    const sampleRateHz = arrays.get("bearing.sr")?.[0];
    const shaftHz = arrays.get("bearing.rate")?.[0];
    if (samplesG === undefined || sampleRateHz === undefined || shaftHz === undefined) {
      throw new Error(`${file} has no bearing.gs, bearing.sr or bearing.rate`);
    }
    yield {
      name: `mfpt ${file}`,
      sampleRateHz,
      speedRpm: 60 * shaftHz,
      bearing: MFPT_BEARING,
      truth: fault === "Inner" ? TRUTH.inner : TRUTH.outer,
      samplesG,
    };
  }
}

function* hit(folder: string, rig: string): Generator<RealRecord> {
  for (const file of readdirSync(folder).toSorted()) {
    const [, fault, rpm] = /^(IR|OR|Normal)\d?_(\d+)\.mat$/.exec(file) ?? [];
    const [samples] =
      fault === undefined ? [] : matArrays(readFileSync(join(folder, file))).values();
    if (samples === undefined) continue;
    yield {
      name: `${rig}-${rpm} ${file}`,
      sampleRateHz: HIT_RATE / HIT_EVERY,
      speedRpm: Number(rpm),
      bearing: HIT_BEARING,
      truth: fault === "Normal" ? null : fault === "IR" ? TRUTH.inner : TRUTH.outer,
      samplesG: everyNth(samples, HIT_EVERY),
    };
  }
}

/** Every nth sample, after a low-pass (a sinc of 16 zeros to either side) at 0.8 of what is left. */
function everyNth(samples: Float64Array, every: number): Float64Array {
  const half = 16 * every;
  const taps = Array.from({ length: 2 * half + 1 }, (_, i) => {
    const at = (0.8 * (i - half)) / every;
    const sinc = at === 0 ? 1 : Math.sin(Math.PI * at) / (Math.PI * at);
    return ((0.8 * sinc) / every) * (0.5 + 0.5 * Math.cos((Math.PI * (i - half)) / half));
  });
  return Float64Array.from({ length: Math.floor((samples.length - 2 * half) / every) }, (_, n) =>
    taps.reduce((sum, tap, i) => sum + tap * (samples[n * every + i] ?? 0), 0),
  );
}

export function* realRecords(folder: string, set: RecordSet): Generator<RealRecord> {
  if (set === "hit" || set === "harbin") return yield* hit(join(folder, set), set);
  yield* cwru(join(folder, "cwru"), set);
  if (set !== "others" && set !== "beside") yield* mfpt(join(folder, "mfpt"));
}
