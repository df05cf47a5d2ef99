/**
 * How well findings do on machines whose faults are known: `node --import tsx scripts/diagnosis-trial.ts [machines per fault]
 * [healthy machines]`. Each machine is a simulated year with one reading a day; the same readings are evaluated with several
 * thresholds at once. Prints tables, and to stderr each machine on which a finding was wrong or missed.
 *
 * --series N          other machines of the same fleet (0)
 * --fleet usual|other bearings and speeds (usual)
 * --fault KIND        this fault alone
 * --zone-readings N   `zoneReadings` of the site file
 */
import { parseArgs } from "node:util";
import { THRESHOLDS, type Thresholds } from "../src/features/diagnosis/rules/thresholds.ts";
import { chance, mix } from "../src/simulator/random.ts";
import type { FaultKind } from "../test/support/machines/machine-fault.ts";
import { DAYS, FLEETS, machineOf, runYear, TRUTH, type Trial, WHY_DAYS } from "./diagnosis/year.ts";

const WEEK = 7;

const SWEEP: readonly (readonly [string, Thresholds])[] = [
  ["as released", THRESHOLDS],
  ...[0.5, 0.7, 1.4, 2].map((level) => [`level ${level}`, { ...THRESHOLDS, level }] as const),
  ...[1, 3, 8].map(
    (raiseReadings) => [`${raiseReadings} in a row`, { ...THRESHOLDS, raiseReadings }] as const,
  ),
  ["ratios 4 and 3", { ...THRESHOLDS, mainRatio: 4, supportRatio: 3 }],
  ["ratios 8 and 5", { ...THRESHOLDS, mainRatio: 8, supportRatio: 5 }],
  [
    "level 0.5, 1 in a row, ratios 4 and 3",
    { ...THRESHOLDS, level: 0.5, raiseReadings: 1, mainRatio: 4, supportRatio: 3 },
  ],
];

const percent = (share: number) => `${(100 * share).toFixed(0)} %`;
const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

interface Score {
  faults: number;
  found: number;
  ahead: number;
  other: number;
  /** Missed, and most readings at the end reported that it could not be checked. */
  explained: number;
  readonly leads: number[];
}

function score(): Score {
  return { faults: 0, found: 0, ahead: 0, other: 0, explained: 0, leads: [] };
}

function main(options: Options): void {
  const { perFault, healthyCount, series, faults, trial } = options;
  const began = process.cpuUsage();
  const scores = SWEEP.map(() => new Map<FaultKind, Score>());
  let machineDays = 0;
  for (const fault of faults) {
    for (let n = 0; n < perFault; n++) {
      const seed = mix(mix(99 + series, n), fault.length * 31 + fault.charCodeAt(0));
      const startDay = 60 + Math.floor(90 * chance(seed, 7));
      const growthDays = 60 + Math.floor(60 * chance(seed, 8));
      const badDay = 10 + Math.floor(300 * chance(seed, 9));
      const year = runYear(seed, { fault, startDay, growthDays, knockDay: null, badDay }, trial);
      machineDays += year.days;
      const dDay = year.zoneDDay ?? startDay + growthDays;
      for (const [i, found] of year.found.entries()) {
        const own = scores[i]?.get(fault) ?? score();
        scores[i]?.set(fault, own);
        own.faults += 1;
        const first = found.find(
          ({ finding, day }) => finding.split("/")[0] === TRUTH[fault] && day >= startDay,
        );
        if (i === 0) {
          for (const { finding, day } of found) {
            if (finding.split("/")[0] === TRUTH[fault]) continue;
            console.error(
              "other:",
              fault,
              n,
              finding,
              `day ${day}, fault from ${startDay}, D ${dDay}`,
            );
          }
          if (first === undefined)
            console.error(
              "missed:",
              fault,
              n,
              `said why on ${year.whyDays} of the last ${WHY_DAYS} days`,
              JSON.stringify(machineOf(seed, trial.fleet)),
            );
        }
        if (first === undefined && year.whyDays > WHY_DAYS / 2) own.explained += 1;
        own.other += found.filter(({ finding }) => finding.split("/")[0] !== TRUTH[fault]).length;
        if (first === undefined || first.day > dDay) continue;
        own.found += 1;
        own.leads.push(dDay - first.day);
        if (dDay - first.day >= WEEK) own.ahead += 1;
      }
    }
  }
  const wrong = SWEEP.map(() => 0);
  const alarms = { zone: 0, baseline: 0 };
  let healthyDays = 0;
  for (let n = 0; n < healthyCount; n++) {
    const seed = mix(4711 + series, n);
    const knockDay = n % 4 === 0 ? 100 + Math.floor(200 * chance(seed, 7)) : null;
    const badDay = 70 + Math.floor(280 * chance(seed, 9));
    const plan = { fault: null, startDay: 0, growthDays: 1, knockDay, badDay };
    const year = runYear(seed, plan, trial);
    healthyDays += year.days;
    alarms.zone += year.alarms.zone;
    alarms.baseline += year.alarms.baseline;
    const { zone, baseline } = year.alarms;
    if (zone + baseline > 0) console.error("alarms:", n, plan, year.alarms);
    for (const [i, found] of year.found.entries()) {
      wrong[i] = (wrong[i] ?? 0) + found.length;
      if (i === 0) for (const { finding, day } of found) console.error("wrong:", n, finding, day);
    }
  }
  const years = healthyDays / DAYS;
  const write = (line: string) => process.stdout.write(`${line}\n`);
  write(
    `${((machineDays + healthyDays) / DAYS).toFixed(0)} machine-years, ${years} of them healthy`,
  );
  write(
    "\n| fault | machines | found before zone D | a week ahead | lead: shortest, median, days | missed, said why | other findings |",
  );
  write("| --- | --- | --- | --- | --- | --- | --- |");
  for (const [fault, own] of scores[0] ?? []) {
    const leads = `${Math.min(...own.leads)}, ${median(own.leads)}`;
    write(
      `| ${fault} | ${own.faults} | ${percent(own.found / own.faults)} | ${percent(own.ahead / own.faults)} | ${leads} | ${own.explained} | ${own.other} |`,
    );
  }
  write(
    "\n| thresholds | found a week ahead | median lead, days | wrong per healthy machine-year | other findings per fault |",
  );
  write("| --- | --- | --- | --- | --- |");
  for (const [i, [name]] of SWEEP.entries()) {
    const all = [...(scores[i]?.values() ?? [])];
    const faults = all.reduce((sum, own) => sum + own.faults, 0);
    const ahead = all.reduce((sum, own) => sum + own.ahead, 0);
    const other = all.reduce((sum, own) => sum + own.other, 0);
    const lead = median(all.flatMap(({ leads }) => leads));
    const rate = ((wrong[i] ?? 0) / years).toFixed(2);
    write(
      `| ${name} | ${percent(ahead / faults)} | ${lead} | ${rate} | ${(other / faults).toFixed(2)} |`,
    );
  }
  write(
    `\nfalse alarms per healthy machine-year: zone ${(alarms.zone / years).toFixed(2)}, baseline rule ${(alarms.baseline / years).toFixed(2)}`,
  );
  poisoned(write, trial);
  const { user, system } = process.cpuUsage(began);
  write(`\nCPU ${((user + system) / 1e6).toFixed(0)} s`);
}

/** Machines that were bad before the first reading: findings are active at once, and baselines must not learn the fault as normal. */
function poisoned(write: (line: string) => void, trial: Trial): void {
  for (const fault of ["unbalance", "outer_race"] as const) {
    const plan = { fault, startDay: -55, growthDays: 60, knockDay: null, badDay: 300 };
    const year = runYear(mix(5, fault.length), plan, trial);
    const first = year.found[0]?.[0];
    write(
      `\npoisoned start, ${fault}: ${first?.finding ?? "nothing"} on day ${first?.day ?? "–"}; zone alarms ${year.alarms.zone}, baseline alarms ${year.alarms.baseline}`,
    );
  }
}

interface Options {
  readonly perFault: number;
  readonly healthyCount: number;
  readonly series: number;
  readonly faults: readonly FaultKind[];
  readonly trial: Trial;
}

function optionsOf(args: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      series: { type: "string", default: "0" },
      fleet: { type: "string", default: "usual" },
      fault: { type: "string" },
      "zone-readings": { type: "string" },
    },
  });
  const [perFault = 6, healthyCount = 64] = positionals.map(Number);
  const fleet = FLEETS[values.fleet];
  if (fleet === undefined) throw new Error(`no fleet ${values.fleet}`);
  const kinds = Object.keys(TRUTH) as FaultKind[];
  const zoneReadings = values["zone-readings"];
  return {
    perFault,
    healthyCount,
    series: Number(values.series),
    faults: values.fault === undefined ? kinds : kinds.filter((kind) => kind === values.fault),
    trial: {
      fleet,
      sweep: SWEEP.map(([, thresholds]) => thresholds),
      zoneReadings: zoneReadings === undefined ? undefined : Number(zoneReadings),
    },
  };
}

main(optionsOf(process.argv.slice(2)));
