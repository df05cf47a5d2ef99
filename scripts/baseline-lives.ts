/**
 * What baselines do in the lives of public bearings run to failure: `node --import tsx scripts/baseline-lives.ts FOLDER`,
 * the folder being `Learning_set` or `Full_Test_Set` of the PHM 2012 challenge (github
 * wkzs111/phm-ieee-2012-data-challenge-dataset, not part of this repository). Each record (two axes, 2,560 samples in g)
 * is one reading.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Sensor } from "../src/core/sensor.ts";
import { UnitOfWork } from "../src/core/tx.ts";
import { analyseAxis } from "../src/pipeline/signal/analyse.ts";
import { DftPlans } from "../src/pipeline/signal/fft.ts";
import { FollowingEngine } from "../test/support/following-engine.ts";

const RATE_HZ = 25_600;
const PEAK_COUNTS = 30_000;
const STEP_MS = 600_000;
const START_MS = Date.UTC(2026, 0, 1);
/** Readings, deviations, in a row. */
const RULES = [
  [60, 6, 2],
  [60, 6, 3],
  [300, 4, 3],
] as const;
const SENSOR: Sensor = { code: "1", type: 3, kinds: ["accel"], channels: {} };
const plans = new DftPlans();

type Values = Readonly<Record<string, number | null>>;

/** Velocity and envelope of both axes: columns 5 and 6 of a record, whose columns are parted by commas or semicolons. */
function valuesOf(path: string): Values {
  const rows = readFileSync(path, "latin1").trim().split("\n");
  const values: Record<string, number | null> = {};
  for (const axis of [1, 2]) {
    const samplesG = rows.map((row) => Number(row.split(/[,;]/)[3 + axis]));
    const calibration = Math.max(...samplesG.map(Math.abs)) / PEAK_COUNTS;
    const counts = Int16Array.from(samplesG, (g) => Math.round(g / calibration));
    const of = analyseAxis(counts, { sampleRateHz: RATE_HZ, calibration, plans, tones: false });
    values[`channel${axis}_vel_rms`] = of.velocityRms.value;
    values[`channel${axis}_env_rms`] = of.envelopeRms.value;
  }
  return values;
}

/** Alarms of each value in one life. */
function alarmsIn(life: readonly Values[], [readings, deviations, inRow]: (typeof RULES)[number]) {
  const select = { values: ["*_vel_rms", "*_env_rms"] };
  const delay = { readings: inRow };
  const alarms = [{ name: "change", select, baseline: { readings, deviations }, delay }];
  const engine = new FollowingEngine({ site: "lives", sensors: [SENSOR], machines: [], alarms });
  const counts = new Map<string, number>();
  for (const [i, values] of life.entries()) {
    // Spread over all ids, as those of real readings are: one in 16 moves the slow baseline.
    const id = (Math.imul(i, 2_654_435_761) >>> 0).toString(16).padStart(8, "0").padEnd(32, "0");
    const reading = { id, timeMs: START_MS + i * STEP_MS, isFuture: false, values, quality: {} };
    const tx = new UnitOfWork();
    for (const { alarm, state, value } of engine.follow(tx, "1", "accel", [reading]).events) {
      if (alarm === "change" && state === "active") counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    tx.committed();
  }
  return [...counts.values()];
}

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("the folder with the lives is missing");
const lives = readdirSync(folder).map((name) => {
  const records = readdirSync(join(folder, name)).filter((file) => file.startsWith("acc_"));
  return records.toSorted().map((file) => valuesOf(join(folder, name, file)));
});
const write = (line: string) => process.stdout.write(`${line}\n`);
write(
  "| readings, deviations, in a row | lives | with an alarm | most alarms of one value | in all |",
);
write("| --- | --- | --- | --- | --- |");
for (const rule of RULES) {
  const learned = lives.filter(({ length }) => length > rule[0]);
  const counts = learned.map((life) => alarmsIn(life, rule));
  const all = counts.flat();
  const withOne = counts.filter(({ length }) => length > 0).length;
  write(
    `| ${rule.join(", ")} | ${learned.length} | ${withOne} | ${Math.max(0, ...all)} | ${all.reduce((sum, n) => sum + n, 0)} |`,
  );
}
