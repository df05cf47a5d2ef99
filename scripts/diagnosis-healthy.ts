/**
 * What the findings say of healthy machines of kinds that no rule was made with (scripts/diagnosis/healthy-plant.ts):
 * `node --import tsx scripts/diagnosis-healthy.ts [machines] [days]`. A reading a day. Any finding is wrong.
 *
 * --seed N     another fleet
 * --only A,B   these kinds
 * --list       every finding, and the machine
 */
import { parseArgs } from "node:util";
import type { FindingKind } from "../src/core/diagnosis/finding.ts";
import { UnitOfWork } from "../src/core/tx.ts";
import { DAY_MS, engineFor, readingOf, START_MS } from "./diagnosis/exam-engine.ts";
import { healthyPlant, healthyRecord, KINDS, type Kind } from "./diagnosis/healthy-plant.ts";
import { randomOf } from "./diagnosis/random-numbers.ts";

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: "string", default: "1" },
    only: { type: "string" },
    list: { type: "boolean", default: false },
  },
});
const [machines = 50, days = 61] = positionals.map(Number);
const write = (line: string) => process.stdout.write(`${line}\n`);

function findingsOf(
  kind: Kind,
  seed: number,
): { wrong: FindingKind[]; smooth: number; plant: string } {
  const random = randomOf(seed);
  const plant = healthyPlant(kind, random);
  const axes = random() < 0.75 ? "stated" : "unknown";
  const { engine, speed } = engineFor(
    { lineHz: 50, bearings: [{ point: 1, ...plant.bearing }] },
    axes,
  );
  const wrong: FindingKind[] = [];
  let smooth = 0;
  for (let day = 0; day < days; day++) {
    const load = plant.loadAt(day * DAY_MS, random);
    const record = healthyRecord(plant, load, 1 - plant.swing * random(), random);
    speed.rpm = record.speedRpm * (1 + 0.002 * (random() - 0.5));
    const reading = readingOf(record.channels, plant.sampleRateHz, START_MS + day * DAY_MS);
    const tx = new UnitOfWork();
    for (const { state, value } of engine.follow(tx, "1", "accel", [reading]).events)
      if (state === "active") wrong.push(value.split("/")[0] as FindingKind);
    tx.committed();
    const said = engine.of("1").seen?.cannot ?? [];
    if (said.some(({ text }) => text.includes("without blows"))) smooth += 1;
  }
  const { speedRpm, sampleRateHz, samples, bearing, plan } = plant;
  return {
    wrong,
    smooth,
    plant: `${Math.round(speedRpm)} r/min, ${samples} at ${sampleRateHz} Hz, ${bearing.name}, load ${plan}, axes ${axes}`,
  };
}

write("| kind | machines | years | bearings | shaft | others | with smooth lines told |");
write("| --- | --- | --- | --- | --- | --- | --- |");
for (const [k, kind] of KINDS.entries()) {
  if (flags.only !== undefined && !flags.only.split(",").includes(kind)) continue;
  const count = Math.ceil(machines / KINDS.length);
  const [bearings, shaft, others]: [string[], string[], string[]] = [[], [], []];
  let told = 0;
  for (let i = 0; i < count; i++) {
    const { wrong, smooth, plant } = findingsOf(
      kind,
      1_000_003 * Number(flags.seed) + 7919 * (100 * k + i),
    );
    if (smooth > 0) told += 1;
    for (const finding of wrong) {
      const isShaft = ["unbalance", "misalignment", "looseness"].includes(finding);
      const isBearing =
        finding.startsWith("bearing") || ["rolling_element", "cage"].includes(finding);
      (isShaft ? shaft : isBearing ? bearings : others).push(finding);
      if (flags.list) console.error(`${kind} ${i} ${finding} (${plant})`);
    }
  }
  const years = (count * days) / 365;
  write(
    `| ${kind} | ${count} | ${years.toFixed(1)} | ${bearings.length} | ${shaft.length} | ${others.length} | ${told} |`,
  );
}
