/**
 * What the findings say of two public motors with masses on their rotors:
 * `node --import tsx scripts/diagnosis-unbalance.ts FOLDER`, the folder being `01_Vibration_Test_Results` of github
 * MRecio/Acoustic-and-Vibration-Fault-Detection-in-Rotating-Machines-Test-Results (not part of this repository).
 *
 * A phone on the motor records three axes, about 100 samples a second, for 9 to 26 s at each frequency of the drive. Its
 * pieces, each of which begins in the middle of the one before, are the readings of one sensor: those of one state teach
 * the normal state, those of another follow. Directions are not stated.
 *
 * --list   every pair of records
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { FollowedReading } from "../src/core/followed-reading.ts";
import { UnitOfWork } from "../src/core/tx.ts";
import { RISEN_TIMES, toneNear, velocityOf } from "../src/features/diagnosis/rules/look.ts";
import { analyseAxis } from "../src/pipeline/signal/analyse.ts";
import { DftPlans } from "../src/pipeline/signal/fft.ts";
import { engineAt } from "./diagnosis/pieces.ts";

const SIZE = 256;
const STANDARD_GRAVITY = 9.80665;
const PEAK_COUNTS = 30_000;
/** Four poles, without load. */
const SHAFT_PER_SUPPLY = 0.993 / 2;
const SUPPLIES_HZ = [20, 25, 30, 35, 40, 45, 50, 55, 60];
const READINGS_LEARNED = 10;
/** 0.7 of the middle of zone B without a class, mm/s: from there on an unbalance is told. */
const LEVEL = 2.25;
const START_MS = Date.UTC(2026, 0, 1);
const plans = new DftPlans();

type State = "first" | "new bearing" | "2 masses" | "4 masses";
const FILES: Readonly<Record<State, (motor: number, of: string) => string>> = {
  first: (m, of) => `Motor_${m}/01_Healthy_Conditions/Motor${m}_Healthy_${of}`,
  "new bearing": (m, of) =>
    `Motor_${m}/0${m === 1 ? 7 : 5}_New_Bearing/Motor${m}_Healthy_NewBearing_${of}`,
  "2 masses": (m, of) =>
    `Motor_${m}/02_Unbalanced_Rotor/2_Unbalance_Weights/Motor${m}_UnbalancedRotor_2Weights_${of}`,
  "4 masses": (m, of) =>
    `Motor_${m}/02_Unbalanced_Rotor/4_Unbalance_Weights/Motor${m}_UnbalancedRotor_4Weights_${of}`,
};

type Piece = Pick<FollowedReading, "values" | "tones">;

/** Rows of averages, three values in m/s² and a time in ms; the first and the last row are marks. */
function piecesOf(path: string): Piece[] {
  const rows = readFileSync(path, "latin1")
    .split(";")
    .map((row) => row.split(",").map(Number))
    .filter(
      (row) => row.length === 7 && row.every(Number.isFinite) && row[0] !== 999 && row[0] !== 111,
    );
  const timeOf = (row: readonly number[] | undefined) => (row?.[6] ?? 0) / 1000;
  const sampleRateHz = (rows.length - 1) / (timeOf(rows.at(-1)) - timeOf(rows[0]));
  const axes = [3, 4, 5].map((at) => rows.map((row) => (row[at] ?? 0) / STANDARD_GRAVITY));
  const calibration = Math.max(...axes.flat().map(Math.abs)) / PEAK_COUNTS;
  return Array.from({ length: Math.max(0, Math.floor((2 * rows.length) / SIZE) - 1) }, (_, i) => {
    const from = (i * SIZE) / 2;
    const all = axes.map((samplesG) => {
      const counts = Int16Array.from(samplesG.slice(from, from + SIZE), (g) =>
        Math.round(g / calibration),
      );
      return analyseAxis(counts, { sampleRateHz, calibration, plans, tones: true });
    });
    return {
      values: Object.fromEntries(
        all.map((one, a) => [`channel${a + 1}_vel_rms`, one.velocityRms.value]),
      ),
      tones: all.map((one, a) => ({
        channel: a + 1,
        axis: (["H", "V", "A"] as const)[a] ?? "A",
        durationS: SIZE / sampleRateHz,
        isClipped: false,
        tones: one.tones,
      })),
    };
  });
}

/** 1x of each axis in each piece, mm/s RMS; 0 where no tone stands out. */
function firstsOf(pieces: readonly Piece[], shaftHz: number): number[][] {
  return [0, 1, 2].map((axis) =>
    pieces.map(({ tones }) => {
      const accel = tones?.[axis]?.tones?.accel;
      const tone = accel ? toneNear(accel, shaftHz, accel.resolutionHz) : null;
      return tone === null ? 0 : velocityOf(tone);
    }),
  );
}

/** Findings that stood after the normal state was learned, and in how many readings the unbalance could not be told. */
function follow(normal: readonly Piece[], then: readonly Piece[], speedRpm: number) {
  const engine = engineAt(speedRpm);
  const found = new Set<string>();
  let untold = 0;
  for (const [i, piece] of [...normal, ...then].entries()) {
    const id = i.toString(16).padStart(32, "0");
    const tx = new UnitOfWork();
    const reading = { ...piece, id, timeMs: START_MS + i * 600_000, isFuture: false, quality: {} };
    const { events } = engine.follow(tx, "1", "accel", [reading]);
    tx.committed();
    for (const { state, value } of events) if (state === "active") found.add(value);
    const cannot = engine.of("1").seen?.cannot ?? [];
    if (i >= normal.length && cannot.some(({ finding }) => finding === "unbalance")) untold += 1;
  }
  return { found: [...found], untold };
}

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { list: { type: "boolean", default: false } },
});
const [folder] = positionals;
if (folder === undefined) throw new Error("the folder with the records is missing");
const write = (line: string) => process.stdout.write(`${line}\n`);
const medianOf = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

write(
  "| motor | learned from | then | records | 1x rose to the level | unbalance named | of the others | anything else named |",
);
write("| --- | --- | --- | --- | --- | --- | --- | --- |");
for (const [motor, learnedFrom] of [
  [2, "new bearing"],
  [1, "first"],
  [1, "new bearing"],
] as const) {
  for (const state of ["first", "new bearing", "2 masses", "4 masses"] as const) {
    if (state === learnedFrom) continue;
    const score = { records: 0, visible: 0, named: 0, small: 0, else: 0 };
    for (const mount of ["Y", "Z"]) {
      for (const hz of SUPPLIES_HZ) {
        const [normalPath, path] = [learnedFrom, state].map((one) =>
          join(folder, `${FILES[one](motor, `${mount}axis_${hz}Hz`)}.dat`),
        );
        if (!normalPath || !path || !existsSync(normalPath) || !existsSync(path)) continue;
        const [normal, then] = [piecesOf(normalPath), piecesOf(path)];
        if (normal.length < READINGS_LEARNED) continue;
        const shaftHz = hz * SHAFT_PER_SUPPLY;
        const was = firstsOf(normal, shaftHz).map((values) => Math.max(...values));
        const now = firstsOf(then, shaftHz).map(medianOf);
        const isVisible = now.some((v, a) => v >= LEVEL && v >= RISEN_TIMES * (was[a] ?? 0));
        const { found, untold } = follow(normal, then, 60 * shaftHz);
        const isNamed = found.includes("unbalance");
        score.records += 1;
        if (isVisible) score.visible += 1;
        if (isVisible && isNamed) score.named += 1;
        if (!isVisible && isNamed) score.small += 1;
        if (found.some((one) => one !== "unbalance")) score.else += 1;
        if (!flags.list) continue;
        const levels = now.map((v, a) => `${v.toFixed(1)} (${(was[a] ?? 0).toFixed(1)})`).join(" ");
        console.error(
          `${motor} ${mount} ${hz} ${state}: ${levels} ${found.join(" ") || "-"}, untold ${untold} of ${then.length}`,
        );
      }
    }
    const { records, visible, named, small } = score;
    write(
      `| ${motor} | ${learnedFrom} | ${state} | ${records} | ${visible} | ${named} | ${small} | ${score.else} |`,
    );
  }
}
