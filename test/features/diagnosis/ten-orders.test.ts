/** What is learned, and what stands, is of the readings: not of when each sensor was read, nor of restarts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { sensorBands } from "../../../src/core/bands/definition.ts";
import type { FollowedReading } from "../../../src/core/followed-reading.ts";
import type { Machine } from "../../../src/core/machine.ts";
import type { Kind } from "../../../src/core/sensor.ts";
import type { Site } from "../../../src/core/site.ts";
import type { FollowUp } from "../../../src/features/alarms/rules/follow-up.ts";
import { FindingEngine } from "../../../src/features/diagnosis/rules/engine.ts";
import { Wait } from "../../../src/features/machines/rules/wait.ts";
import { WaitRowsInMemory } from "../../../src/features/machines/rules/wait-rows.ts";
import { RandomSequence } from "../../../src/simulator/random.ts";
import { FollowingEngine } from "../../support/following-engine.ts";
import { Transactions } from "../../support/tx.ts";
import { Disk, LOOP, PRESSURE, RPM } from "../alarms/support.ts";
import { MACHINE, readingOf, recordOf, SENSOR } from "./support.ts";

const tx = new Transactions();
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const HOURS = 44;
const DAY = "1970-01-01";
const PUMP: Machine = {
  ...MACHINE,
  running: { sensor: RPM.code, kind: "rpm", value: "rpm", above: 300 },
  bands: { custom: [{ name: "hf", from: 900, to: 1100, unit: "Hz", of: "accel" }] },
};
const bands = sensorBands(SENSOR, [PUMP]);
assert.ok(bands);
const change = (name: string, kind: Kind, value: string) => ({
  name,
  select: { kinds: [kind], values: [value] },
  baseline: { readings: 8, deviations: 4 },
});
const SITE: Site = {
  site: "plant-7",
  sensors: [{ ...SENSOR, bands }, LOOP, RPM],
  machines: [PUMP],
  alarms: [
    change("vibration", "accel", "channel1_*_rms"),
    change("band", "bands", "channel1_band_hf"),
    change("flow", "loop", "channel1"),
    { ...PRESSURE, onlyRunning: true },
  ],
};

interface Stream {
  readonly sensor: string;
  readonly kind: Kind;
  /** In the order in which its sensor is read: some come late. */
  readonly readings: readonly FollowedReading[];
}

/** It stands each sixth hour; each fifth record is a short one; from hour 25 on its bearing is damaged, and in hour 21. */
const isStanding = (hour: number) => hour % 6 === 0;
const isDamaged = (hour: number) => hour > 24 || hour === 21;
/** Comes so many readings later than its time says: hour 21 when the alarms stand, and the hours after it were normal. */
const LATE: readonly (readonly [hour: number, by: number])[] = [
  [21, 12],
  [7, 2],
];
const RECORDS = Array.from({ length: HOURS }, (_, n) =>
  recordOf(
    isDamaged(n + 1) ? { fault: "outer_race", severity: 0.4 } : {},
    n,
    n % 5 === 4 ? 4096 : 8192,
  ),
);

function streams(): Stream[] {
  const stream = (sensor: string, kind: Kind, of: (hour: number) => FollowedReading): Stream => {
    const readings = RECORDS.map((_, n) => of(n + 1));
    for (const [hour, by] of LATE)
      readings.splice(hour - 1 + by, 0, ...readings.splice(hour - 1, 1));
    return { sensor, kind, readings };
  };
  const simple = (hour: number, minutes: number, values: FollowedReading["values"]) => ({
    id: (hour * 60 + minutes).toString(16).padStart(32, "a"),
    timeMs: hour * HOUR + minutes * MINUTE,
    isFuture: false,
    values,
    quality: {},
    tones: null,
  });
  const facts = (n: number) => ({ zone: "A", shape: `6400/${n % 5 === 4 ? 4096 : 8192}` });
  return [
    stream(SENSOR.code, "accel", (hour) => {
      const record = RECORDS[hour - 1];
      assert.ok(record !== undefined);
      const { values } = record;
      const zone = (values["channel1_vel_rms"] ?? 0) > 2.8 ? "C" : "A";
      return {
        ...readingOf({ ...record, values: { ...values, channel1_zone: zone } as never }, hour),
        record: { ...facts(hour - 1), zone: null },
      };
    }),
    stream(SENSOR.code, "bands", (hour) => ({
      ...simple(hour, 0, { channel1_band_hf: (isDamaged(hour) ? 0.7 : 0.2) + 0.01 * (hour % 3) }),
      record: facts(hour - 1),
    })),
    stream(LOOP.code, "loop", (hour) =>
      simple(hour, 7, {
        channel1: hour === 21 || (hour > 30 && hour < 38) ? 8.6 : 5 + 0.1 * (hour % 4),
      }),
    ),
    stream(RPM.code, "rpm", (hour) =>
      simple(hour, -1, { rpm: isStanding(hour) ? 0 : (RECORDS[hour - 1]?.speedRpm ?? 1480) }),
    ),
  ];
}

/** What one read brings: of what comes late, only what goes back; a read brings its records in order of time. */
function readTogether(left: FollowedReading[], most: number): FollowedReading[] {
  const back = left.findIndex(({ timeMs }, i) => i > 0 && timeMs < (left[i - 1]?.timeMs ?? 0));
  return left.splice(0, back < 0 ? most : Math.min(most, back));
}

/** @param seed of the order in which the sensors are read, how much of each at once, and of the restarts; 0: hour by hour, without any */
function livedIn(seed: number) {
  const random = new RandomSequence(seed);
  const chance = (below: number) => Math.floor(random.next() * below);
  const left = streams().map((stream) => ({ ...stream, readings: [...stream.readings] }));
  const disk = new Disk();
  const rows = new WaitRowsInMemory();
  const heard: { sensor: string; kind: Kind; reading: FollowedReading }[] = [];
  let readToMs = 0;
  const speeds = (toMs: number) =>
    heard
      .filter(({ kind, reading }) => kind === "rpm" && reading.timeMs <= toMs)
      .map(({ reading }) => ({ timeMs: reading.timeMs, value: Number(reading.values["rpm"]) }))
      .toSorted((a, b) => a.timeMs - b.timeMs);
  const open = () => {
    const earlier = (_signal: unknown, timeMs: number, count: number) =>
      speeds(timeMs).slice(-count);
    const wait = new Wait(SITE, { rows, earlier });
    wait.load();
    for (const signal of wait.signals) {
      const points = speeds(Number.MAX_SAFE_INTEGER).slice(-16);
      wait.prime(signal, points, points[0]?.timeMs ?? Number.NEGATIVE_INFINITY);
      if (readToMs > 0) wait.noteRead(signal.sensor, signal.kind, { day: DAY, atMs: readToMs });
    }
    const findings = new FindingEngine(SITE, { wait });
    const alarms = new FollowingEngine(SITE, { wait, findings });
    alarms.load(disk.saved());
    // The last one primes.
    for (const { sensor, kind, reading } of heard.toSorted(
      (a, b) => a.reading.timeMs - b.reading.timeMs,
    ))
      alarms.prime(sensor, kind, { ...reading, shared: [] });
    return { wait, findings, alarms };
  };
  let now = open();
  const ids = new Set<string>();
  const take = (up: FollowUp) => {
    disk.write(up);
    for (const { id, state } of up.events) ids.add(`${id} ${state}`);
    tx.commit();
  };
  while (left.some(({ readings }) => readings.length > 0)) {
    for (const stream of seed === 0 ? left : left.slice(0).filter(() => chance(3) === 0)) {
      const { sensor, kind } = stream;
      const list = readTogether(stream.readings, seed === 0 ? 1 : 1 + chance(9));
      if (list.length === 0) continue;
      const atMs = Math.max(...list.map(({ timeMs }) => timeMs));
      if (kind === "rpm") readToMs = Math.max(readToMs, atMs);
      take(now.alarms.follow(tx.now, sensor, kind, list, { day: DAY, atMs }));
      for (const reading of list) heard.push({ sensor, kind, reading });
      if (seed > 0 && chance(5) === 0) now = open();
    }
  }
  readToMs = 4 * 24 * HOUR;
  for (const day of [DAY, "1970-01-02"])
    now.wait.noteRead(RPM.code, "rpm", { day, atMs: readToMs });
  while (now.wait.releases()) take(now.alarms.judgeDue(tx.now));
  assert.deepEqual(rows.all(), []);
  const codes = [SENSOR.code, LOOP.code];
  const { states, reference, mount } = now.findings.of(SENSOR.code);
  return {
    learned: codes.flatMap((code) =>
      [...now.alarms.baselines(code)].map(([key, { from: _from, ...state }]) => [key, state]),
    ),
    alarms: [...now.alarms.alarms()].map(({ code, key, state }) => [code, key, state]),
    events: [...ids],
    findings: [...states].map(([key, state]) => [key, state]),
    normal: { reference, mount },
  };
}

/** In one order, with the digits that a restart keeps. */
function comparable(lived: ReturnType<typeof livedIn>): unknown {
  const text = JSON.stringify(lived, (key, value: unknown) => {
    // After a restart, at the latest when it was normal: no later than it began.
    if (key === "normalMs") return null;
    const isRounded = typeof value === "number" && !Number.isInteger(value);
    return isRounded ? Number(value.toPrecision(4)) : value;
  });
  const { learned, alarms, events, findings, normal } = JSON.parse(text) as typeof lived;
  const sorted = (of: readonly unknown[]) => of.map((one) => JSON.stringify(one)).toSorted();
  return {
    learned: sorted(learned),
    alarms: sorted(alarms),
    events: events.toSorted(),
    findings: sorted(findings),
    normal,
  };
}

test("ten orders of arrival of the same records, with restarts between, leave the same learned numbers, alarms and findings", () => {
  const inOrder = livedIn(0);
  const learned = inOrder.learned.filter(
    ([, state]) => typeof state === "object" && state.first !== null,
  );
  assert.ok(learned.length >= 4, `${learned.length} baselines are learned`);
  assert.ok(inOrder.findings.length > 0 && inOrder.alarms.length >= 3 && inOrder.events.length > 5);
  for (let seed = 1; seed <= 10; seed++)
    assert.deepEqual(comparable(livedIn(seed)), comparable(inOrder), `order ${seed}`);
});
