/**
 * What the outlook does on simulated machines: `node --import tsx scripts/features/outlook/trial.ts [--machines 400] [--seed 1]`.
 *
 * Healthy machines: six values each, AR(1) of 0.5 to 0.8 from day to day, weekdays, a season, one step a year; looked at every
 * day of a year. Growing machines: linear, exponential, or two-phase growth to a known day; each look before it is judged.
 */
import { parseArgs } from "node:util";
import { type DayRow, outlookOf } from "../../../src/features/outlook/rules/outlook.ts";

const { values: flags } = parseArgs({
  options: {
    machines: { type: "string", default: "400" },
    seed: { type: "string", default: "1" },
  },
});
const machines = Number(flags.machines);
let state = Number(flags.seed) >>> 0 || 1;
/** mulberry32: uniform in [0, 1). */
function uniform(): number {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
}
const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
const between = (low: number, high: number) => low + (high - low) * uniform();

const LIMIT = 4.5;
const HISTORY = 182;

/** The logarithm of what is not growth, day by day: memory, weekdays, season, one step a year. */
function background(days: number, sigma: number): number[] {
  const memory = between(0.5, 0.8);
  const weekend = between(-0.15, 0.05);
  const season = between(0, 0.1);
  const phase = between(0, 365);
  const stepDay = Math.floor(between(0, 365));
  const step = between(-0.3, 0.3);
  let carried = 0;
  return Array.from({ length: days }, (_, day) => {
    carried = memory * carried + Math.sqrt(1 - memory * memory) * sigma * normal();
    return (
      carried +
      (day % 7 >= 5 ? weekend : 0) +
      season * Math.sin((2 * Math.PI * (day + phase)) / 365) +
      (day % 365 >= stepDay ? step : 0)
    );
  });
}

const rowsOf = (values: readonly number[], until: number): DayRow[] => {
  const rows: DayRow[] = [];
  for (let day = Math.max(0, until - HISTORY); day < until; day += 1)
    rows.push({ day, median: values[day] as number, count: 24 });
  return rows;
};

function healthyYears(): void {
  let told = 0;
  for (let machine = 0; machine < machines; machine += 1) {
    let hasOne = false;
    for (let value = 0; value < 6 && !hasOne; value += 1) {
      const sigma = between(0.05, 0.15);
      const base = LIMIT * between(0.25, 0.8);
      const values = background(HISTORY + 365, sigma).map((log) => base * Math.exp(log));
      for (let day = HISTORY; day < values.length && !hasOne; day += 1)
        hasOne = outlookOf(rowsOf(values, day), LIMIT, day).outlook !== null;
    }
    if (hasOne) told += 1;
  }
  console.log(`healthy: ${told} of ${machines} machine-years with an outlook`);
}

const SHAPES = {
  linear: (share: number) => share,
  exponential: (share: number) => (Math.exp(3 * share) - 1) / (Math.exp(3) - 1),
  "two-phase": (share: number) => (share < 0.6 ? share / 3 : 0.2 + (share - 0.6) * 2),
} as const;

function growing(shape: keyof typeof SHAPES, sigma: number): void {
  let looks = 0;
  let held = 0;
  let toldMachines = 0;
  for (let machine = 0; machine < machines; machine += 1) {
    const start = LIMIT * between(0.2, 0.5);
    const length = Math.floor(between(60, 240));
    const growth = SHAPES[shape];
    const noise = background(HISTORY + length + 1, sigma);
    const truth = Array.from({ length: noise.length }, (_, day) => {
      const share = Math.max(0, (day - HISTORY) / length);
      return start + (LIMIT - start) * growth(share);
    });
    // Growth is known without noise; the step a year is left out of a machine that grows.
    const memory = between(0.5, 0.8);
    let carried = 0;
    const values = truth.map((value, day) => {
      carried = memory * carried + Math.sqrt(1 - memory * memory) * sigma * normal();
      return value * Math.exp(carried + (day % 7 >= 5 ? -0.05 : 0));
    });
    const trueDay = HISTORY + length;
    let isTold = false;
    for (let day = HISTORY; day < trueDay; day += 1) {
      const { outlook } = outlookOf(rowsOf(values, day), LIMIT, day);
      if (outlook === null) continue;
      isTold = true;
      looks += 1;
      if (outlook.from <= trueDay && (outlook.to === null || trueDay <= outlook.to)) held += 1;
    }
    if (isTold) toldMachines += 1;
  }
  const share = (part: number, whole: number) =>
    `${((100 * part) / Math.max(1, whole)).toFixed(0)} %`;
  console.log(
    `${shape.padEnd(12)} noise ${(100 * sigma).toFixed(0).padStart(2)} %: told ${share(toldMachines, machines)} of machines, true day within the range in ${share(held, looks)} of ${looks} looks`,
  );
}

healthyYears();
for (const shape of Object.keys(SHAPES) as (keyof typeof SHAPES)[])
  for (const sigma of [0.05, 0.1, 0.15]) growing(shape, sigma);
