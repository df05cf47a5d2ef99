/**
 * The findings on the second, harder simulation (scripts/diagnosis/plant-physics.ts):
 * `node --import tsx scripts/diagnosis-exam.ts [machines per trouble] [healthy machines]`.
 * A trouble grows steeply near its end (zone D by velocity, or blows of several G); two readings a day, a fortnight of
 * them before it begins. Every sixth machine has a second trouble.
 *
 * --seed N     another fleet
 * --only A,B   these troubles
 * --days N     days of a healthy machine (180)
 * --list       every machine that was missed or told otherwise
 */
import { parseArgs } from "node:util";
import { type Life, live, NAMES } from "./diagnosis/exam-life.ts";
import type { Trouble } from "./diagnosis/plant-physics.ts";

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: "string", default: "1" },
    only: { type: "string" },
    days: { type: "string", default: "180" },
    list: { type: "boolean", default: false },
  },
});
const [machines = 4, healthy = 10] = positionals.map(Number);
const seedOf = (n: number) => 1_000_003 * Number(flags.seed) + 7919 * n;
const write = (line: string) => process.stdout.write(`${line}\n`);
const AHEAD_DAYS = 7;
const share = (part: number, of: number) => (of === 0 ? "–" : `${Math.round((100 * part) / of)} %`);

interface Score {
  machines: number;
  ahead: number;
  late: number;
  explained: number;
  silent: number;
  others: number;
}
const none = (): Score => ({ machines: 0, ahead: 0, late: 0, explained: 0, silent: 0, others: 0 });

function count(score: Score, kind: Trouble, { found, explained, others, endDay }: Life): string {
  const day = found.get(kind) ?? null;
  score.machines += 1;
  if (others.length > 0) score.others += 1;
  if (day !== null && endDay - day >= AHEAD_DAYS) score.ahead += 1;
  else if (explained.has(kind)) score.explained += 1;
  else if (day !== null) score.late += 1;
  else score.silent += 1;
  if (day === null) return explained.has(kind) ? "explained" : "SILENT";
  return endDay - day >= AHEAD_DAYS ? "" : "late";
}

const kinds = Object.keys(NAMES) as Trouble[];
const all = none();
write(
  "| trouble | machines | a week ahead | late | not found, with the reason | missed without a word | with another finding |",
);
write("| --- | --- | --- | --- | --- | --- | --- |");
for (const [k, kind] of kinds.entries()) {
  if (flags.only !== undefined && !flags.only.split(",").includes(kind)) continue;
  const score = none();
  for (let i = 0; i < machines; i++) {
    const n = k * 1000 + i;
    const second =
      i % 6 === 5 ? [kinds[(k + 1 + (i % (kinds.length - 1))) % kinds.length] ?? kind] : [];
    const life = live(seedOf(n), [kind, ...second], 0);
    const said = count(score, kind, life);
    count(all, kind, life);
    if (flags.list && (said !== "" || life.others.length > 0)) {
      console.error(
        `${n} ${kind}${second.length > 0 ? ` and ${second.join()}` : ""}: ${said} ${life.others.join(", ")} (${life.plant})`,
      );
    }
  }
  row(kind, score);
}
row("all", all);

function row(
  name: string,
  { machines: count, ahead, late, explained, silent, others }: Score,
): void {
  const told = count - explained;
  write(
    `| ${name} | ${count} | ${share(ahead, told)} | ${late} | ${explained} | ${share(silent, count)} | ${share(others, count)} |`,
  );
}

let years = 0;
const wrong: string[] = [];
for (let i = 0; i < healthy; i++) {
  const life = live(seedOf(100_000 + i), [], Number(flags.days));
  years += life.endDay / 365;
  for (const finding of life.others) wrong.push(`${i} ${finding} (${life.plant})`);
}
if (flags.list) for (const line of wrong) console.error(`healthy ${line}`);
write("");
write(
  `Healthy machines: ${wrong.length} findings in ${years.toFixed(1)} years, ${(wrong.length / Math.max(years, 0.01)).toFixed(2)} a year.`,
);
