/**
 * How well findings do on machines whose truth is known: `node --import tsx scripts/diagnosis-trial.ts [machines per fault]
 * [healthy machines] [number of the first healthy one]`. Each machine is a simulated year with one reading a day, through the real analysis, alarm engine and
 * finding engine; the same readings are judged under several thresholds at once. Prints the tables of docs/diagnosis.md.
 */
import { AlarmEngine } from "../src/core/alarm/engine.ts";
import type { FollowedReading } from "../src/core/alarm/follow-up.ts";
import { FindingEngine } from "../src/core/diagnosis/engine.ts";
import { THRESHOLDS, type Thresholds } from "../src/core/diagnosis/thresholds.ts";
import type { Kind, Sensor, Site } from "../src/core/sensor.ts";
import { analyseAxis } from "../src/core/signal/analyse.ts";
import { DftPlans } from "../src/core/signal/fft.ts";
import { VELOCITY_LIMITS, zoneOf } from "../src/core/signal/severity.ts";
import {
  type FaultKind,
  type FaultyMachine,
  faultyRecord,
  severityOn,
} from "../src/simulator/faulty-machine.ts";
import { chance, mix } from "../src/simulator/random.ts";

const DAY_MS = 86_400_000;
const START_MS = Date.UTC(2026, 0, 1);
const DAYS = 365;
/** 1.28 s in 3 × 4096 samples. */
const SHAPE = { sampleRateHz: 3200, samples: 4096, rangeG: 16 } as const;
const CLASS = "group2-rigid";
const LIMITS = VELOCITY_LIMITS[CLASS];
const WEEK = 7;

const TRUTH: Readonly<Record<FaultKind, string>> = {
  unbalance: "unbalance",
  misalignment: "misalignment",
  looseness: "looseness",
  outer_race: "bearing_outer_race",
  inner_race: "bearing_inner_race",
  rolling_element: "rolling_element",
  cage: "cage",
  blade_pass: "blade_pass",
  gear_mesh: "gear_mesh",
  electrical: "electrical",
};

const BEARINGS = [
  { name: "6205", balls: 9, ballMm: 7.94, pitchMm: 39.04, angleDeg: 0 },
  { name: "6310", balls: 8, ballMm: 19.05, pitchMm: 80, angleDeg: 0 },
  { name: "7309", balls: 12, ballMm: 17.46, pitchMm: 72.5, angleDeg: 40 },
] as const;
const SPEEDS = [1480, 2950, 985, 1470, 1190] as const;

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

interface Year {
  readonly days: number;
  /** First day in zone D; null where it was not reached. */
  readonly zoneDDay: number | null;
  /** By thresholds: what stood, and since when. */
  readonly found: readonly (readonly { readonly finding: string; readonly day: number }[])[];
  readonly alarms: { readonly zone: number; readonly baseline: number };
  readonly baselines: readonly string[];
}

interface Plan {
  readonly fault: FaultKind | null;
  readonly startDay: number;
  readonly growthDays: number;
  readonly knockDay: number | null;
  readonly badDay: number;
}

const plans = new DftPlans();

function machineOf(seed: number): { plant: FaultyMachine; bearing: (typeof BEARINGS)[number] } {
  const bearing = BEARINGS[mix(seed, 1) % BEARINGS.length] ?? BEARINGS[0];
  const speedRpm = SPEEDS[mix(seed, 2) % SPEEDS.length] ?? 1480;
  const isDriven = chance(seed, 3) < 0.25;
  const plant: FaultyMachine = {
    seed,
    speedRpm,
    speedSwing: isDriven ? 0.3 : 0,
    lineHz: 50,
    blades: 5 + (mix(seed, 4) % 3),
    teeth: speedRpm > 2000 ? [17, 61] : [23, 71],
    bearing,
    zoneD: LIMITS[2],
  };
  return { plant, bearing };
}

function runYear(seed: number, plan: Plan): Year {
  const { plant, bearing } = machineOf(seed);
  const sensor: Sensor = {
    code: "10234",
    type: 3,
    kinds: ["accel"],
    channels: {},
    machineClass: CLASS,
    location: { company: 1, area: 2, machine: 40, point: 1 },
  };
  const speed: Sensor = { code: "50021", type: 40, kinds: ["rpm"], channels: {} };
  const { lineHz, blades, teeth } = plant;
  const site: Site = {
    site: "trial",
    sensors: [sensor, speed],
    machines: [
      {
        id: 40,
        running: { sensor: "50021", kind: "rpm", value: "rpm", above: 300 },
        speed: { sensor: "50021" },
        lineHz,
        blades,
        teeth,
        bearings: [{ point: 1, ...bearing }],
      },
    ],
    alarms: [
      {
        name: "vibration-change",
        select: { kinds: ["accel"], values: ["*_vel_rms", "*_env_rms"] },
        baseline: { readings: 60, deviations: 6 },
        delay: { readings: 2 },
        onlyRunning: true,
      },
    ],
  };
  const alarmEngine = new AlarmEngine(site);
  const engines = SWEEP.map(
    ([, thresholds]) =>
      new FindingEngine(site, {
        speedAt: (machine, timeMs) => alarmEngine.speedAt(machine, timeMs),
        stateAt: (code, timeMs) => alarmEngine.machineState(code, timeMs),
        thresholds,
      }),
  );
  const found = SWEEP.map((): { finding: string; day: number }[] => []);
  const alarms = { zone: 0, baseline: 0 };
  let zoneDDay: number | null = null;
  let day = 0;
  const follow = (code: string, kind: Kind, reading: FollowedReading) => {
    const up = alarmEngine.follow(code, kind, [reading]);
    alarmEngine.committed();
    for (const event of up.events) {
      if (event.state !== "active") continue;
      if (event.alarm === "zone") alarms.zone += 1;
      if (event.alarm === "vibration-change") alarms.baseline += 1;
    }
    for (const [i, engine] of engines.entries()) {
      for (const event of engine.follow(code, kind, [reading]).events) {
        if (event.state === "active") found[i]?.push({ finding: event.value, day });
      }
      engine.committed();
    }
  };
  for (; day < DAYS; day++) {
    const severity = severityOn(day, plan.startDay, plan.growthDays);
    const record = faultyRecord(
      plant,
      {
        fault: plan.fault,
        severity,
        load: 0.55 + 0.4 * chance(seed, day, 5),
        isKnocked: plan.knockDay !== null && day >= plan.knockDay,
        isBadDay: day === plan.badDay,
      },
      day,
      SHAPE,
    );
    const timeMs = START_MS + day * DAY_MS;
    const id = (at: number) => (2 * day + at).toString(16).padStart(32, "0");
    const rpm = record.speedRpm * (1 + 0.001 * (chance(seed, day, 6) - 0.5));
    follow("50021", "rpm", plain(id(0), timeMs - 30_000, { rpm }));
    const values: Record<string, number | string | null> = {};
    let worst = 0;
    const tones = record.channels.map((counts, i) => {
      const { sampleRateHz } = SHAPE;
      const analysis = analyseAxis(counts, {
        sampleRateHz,
        calibration: record.calibration,
        plans,
        tones: true,
      });
      const velocity = analysis.velocityRms.value ?? 0;
      worst = Math.max(worst, velocity);
      values[`channel${i + 1}_vel_rms`] = velocity;
      values[`channel${i + 1}_env_rms`] = analysis.envelopeRms.value;
      values[`channel${i + 1}_zone`] = zoneOf(velocity, LIMITS);
      return {
        channel: i + 1,
        axis: (["H", "V", "A"] as const)[i] ?? ("A" as const),
        durationS: counts.length / sampleRateHz,
        isClipped: (analysis.clipCount ?? 0) > 0,
        tones: analysis.tones,
      };
    });
    follow("10234", "accel", { ...plain(id(1), timeMs, values), tones });
    if (plan.fault !== null && worst > LIMITS[2] && severity > 0.5) zoneDDay ??= day;
    // It is stopped and repaired a few days later.
    if (zoneDDay !== null && day > zoneDDay + 3) break;
  }
  const baselines = [...alarmEngine.baselines("10234")].map(
    ([key, state]) => `${key}: ${JSON.stringify(state.first)}`,
  );
  return { days: day, zoneDDay, found, alarms, baselines };
}

function plain(id: string, timeMs: number, values: FollowedReading["values"]): FollowedReading {
  return { id, timeMs, isFuture: false, values, quality: {} };
}

const percent = (share: number) => `${(100 * share).toFixed(0)} %`;
const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

interface Score {
  faults: number;
  found: number;
  ahead: number;
  other: number;
  readonly leads: number[];
}

function score(): Score {
  return { faults: 0, found: 0, ahead: 0, other: 0, leads: [] };
}

function main(perFault: number, healthyCount: number, firstHealthy: number): void {
  const began = process.cpuUsage();
  const scores = SWEEP.map(() => new Map<FaultKind, Score>());
  let machineDays = 0;
  for (const fault of Object.keys(TRUTH) as FaultKind[]) {
    for (let n = 0; n < perFault; n++) {
      const seed = mix(mix(99, n), fault.length * 31 + fault.charCodeAt(0));
      const startDay = 60 + Math.floor(90 * chance(seed, 7));
      const growthDays = 60 + Math.floor(60 * chance(seed, 8));
      const badDay = 10 + Math.floor(300 * chance(seed, 9));
      const year = runYear(seed, { fault, startDay, growthDays, knockDay: null, badDay });
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
            console.error("missed:", fault, n, JSON.stringify(machineOf(seed)));
        }
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
  for (let n = firstHealthy; n < firstHealthy + healthyCount; n++) {
    const seed = mix(4711, n);
    const knockDay = n % 4 === 0 ? 100 + Math.floor(200 * chance(seed, 7)) : null;
    const badDay = 70 + Math.floor(280 * chance(seed, 9));
    const plan = { fault: null, startDay: 0, growthDays: 1, knockDay, badDay };
    const year = runYear(seed, plan);
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
    "\n| fault | machines | found before zone D | a week ahead | lead: shortest, median, days | other findings |",
  );
  write("| --- | --- | --- | --- | --- | --- |");
  for (const [fault, own] of scores[0] ?? []) {
    const leads = `${Math.min(...own.leads)}, ${median(own.leads)}`;
    write(
      `| ${fault} | ${own.faults} | ${percent(own.found / own.faults)} | ${percent(own.ahead / own.faults)} | ${leads} | ${own.other} |`,
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
  poisoned(write);
  const { user, system } = process.cpuUsage(began);
  write(`\nCPU ${((user + system) / 1e6).toFixed(0)} s`);
}

/** Machines that were bad before the first reading: findings stand at once, baselines must not take it for normal. */
function poisoned(write: (line: string) => void): void {
  for (const fault of ["unbalance", "outer_race"] as const) {
    const plan = { fault, startDay: -55, growthDays: 60, knockDay: null, badDay: 300 };
    const year = runYear(mix(5, fault.length), plan);
    const first = year.found[0]?.[0];
    write(
      `\npoisoned start, ${fault}: ${first?.finding ?? "nothing"} on day ${first?.day ?? "–"}; zone alarms ${year.alarms.zone}, baseline alarms ${year.alarms.baseline}`,
    );
  }
}

main(
  ...([6, 64, 0].map((usual, i) => Number(process.argv[2 + i] ?? usual)) as [
    number,
    number,
    number,
  ]),
);
