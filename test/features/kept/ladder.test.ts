/** Against a plain model: every measurement that was ever taken, sorted out at once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isBetter, type Rated } from "../../../src/features/kept/rules/ladder.ts";
import type { MeasuredMachines } from "../../../src/pipeline/store/keeping.ts";
import type { Store } from "../../../src/pipeline/store/store.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import {
  append,
  DAY_MS,
  readingOf,
  START_MS,
  tempStore,
  waveformOf,
} from "../../support/temp-database.ts";
import { keepBy } from "./support.ts";

const HOUR_MS = 3_600_000;
const WHOLE_DAYS = 7;

/** Numbers that follow from a seed. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function machinesOf(speeds: ReadonlyMap<number, number | null>): MeasuredMachines {
  return {
    at: (_sensor, timeMs) => {
      const speedRpm = speeds.get(timeMs) ?? null;
      const running = speedRpm === null ? null : speedRpm > 0;
      return { running, isRunning: running === true, speedRpm };
    },
    isAwaited: () => false,
    usualRpm: () => 1480,
    together: (sensor) => [sensor],
    refresh: () => Promise.resolve(),
  };
}

/** What stays at a time, by the words of the page: each rung takes the best of what the one before left. */
function model(taken: readonly Rated[], nowMs: number): Rated[] {
  const age = (days: number) => nowMs - days * DAY_MS;
  const best = (all: readonly Rated[], periodOf: (timeMs: number) => string) => {
    const byPeriod = new Map<string, Rated>();
    for (const one of all) {
      const other = byPeriod.get(periodOf(one.timeMs));
      if (other === undefined || isBetter(one, other)) byPeriod.set(periodOf(one.timeMs), one);
    }
    return [...byPeriod.values()];
  };
  const split = (all: readonly Rated[], atMs: number) => [
    all.filter(({ timeMs }) => timeMs >= atMs),
    all.filter(({ timeMs }) => timeMs < atMs),
  ];
  const iso = (timeMs: number) => new Date(timeMs).toISOString();
  const monday = (timeMs: number) => {
    const weekday = (new Date(timeMs).getUTCDay() + 6) % 7;
    return iso(timeMs - weekday * DAY_MS).slice(0, 10);
  };
  const [young = [], due = []] = split(taken, age(WHOLE_DAYS));
  const [daily = [], older = []] = split(
    best(due, (timeMs) => iso(timeMs).slice(0, 10)),
    age(WHOLE_DAYS + 90),
  );
  const [weekly = [], oldest = []] = split(best(older, monday), age(WHOLE_DAYS + 820));
  const monthly = best(oldest, (timeMs) => iso(timeMs).slice(0, 7));
  return [...young, ...daily, ...weekly, ...monthly];
}

const timesOf = (all: readonly { readonly timeMs: number }[]) =>
  all.map(({ timeMs }) => new Date(timeMs).toISOString()).sort();

const everything = (store: Store) =>
  store.measurements.list({ sensor: "1", fromMs: 0, toMs: 1e14, limit: 1e6 });

test("kept – over three years the store keeps what a plain model keeps", async (t) => {
  const next = random(Number(process.env["GATESIDE_KEPT_SEED"] ?? 1));
  const clock = new ManualClock(START_MS);
  const speeds = new Map<number, number | null>();
  const options = { clock, waveformDays: WHOLE_DAYS, bufferMaxMb: 512, uplinks: [] };
  const store = tempStore(t, { ...options, keep: keepBy(machinesOf(speeds)) });
  const taken: Rated[] = [];
  let takenMs = START_MS;
  while (clock.now() < START_MS + 1_150 * DAY_MS) {
    const steps = Math.floor(1 + next() * 30);
    const batch = Array.from({ length: steps }, () => {
      takenMs += Math.floor(HOUR_MS + next() * 40 * HOUR_MS);
      const kind = next();
      const rpm = kind < 0.15 ? 0 : kind < 0.25 ? null : 1440 + Math.floor(next() * 8) * 10;
      speeds.set(takenMs, rpm);
      const reading = readingOf("1", takenMs, { kind: "accel", waveform: waveformOf(8, 1) });
      const usual = { speedRpm: rpm, usualRpm: 1480 };
      taken.push({ timeMs: takenMs, id: reading.id, isRunning: (rpm ?? 0) > 0, ...usual });
      return reading;
    });
    await append(store, batch);
    await clock.advance(takenMs + Math.floor(next() * 3 * DAY_MS) - clock.now());
    takenMs = clock.now();
    await store.retain();
    assert.deepEqual(timesOf(everything(store)), timesOf(model(taken, clock.now())));
  }
  assert.ok(taken.length > 800);
  const kept = everything(store).filter(({ kept: reasons }) => reasons.length > 0);
  assert.ok(kept.every(({ kept: reasons }) => reasons[0]?.why === "ladder"));
  const withSamples = kept.every(({ channels }) =>
    channels.every(({ fileId }) => store.waveforms.read(fileId)?.samples.length === 8),
  );
  assert.ok(withSamples, "each with its samples under the file ids of its reading");
});

test("kept – a measurement whose machine is not known yet stays until it is, and is judged by its speed then", async (t) => {
  const clock = new ManualClock(START_MS);
  const times = [3, 9, 15].map((hour) => START_MS - 5 * DAY_MS + hour * HOUR_MS);
  const speeds = new Map<number, number>();
  let isRead = false;
  const machines = { ...machinesOf(speeds), isAwaited: () => !isRead };
  const options = { clock, waveformDays: 1, bufferMaxMb: 512, uplinks: [] };
  const store = tempStore(t, { ...options, keep: keepBy(machines) });
  await append(
    store,
    times.map((timeMs) => readingOf("1", timeMs, { kind: "accel", waveform: waveformOf(8, 1) })),
  );
  await store.retain();
  assert.equal(everything(store).length, 3);
  times.forEach((timeMs, n) => {
    speeds.set(timeMs, [1900, 1490, 1100][n] ?? 0);
  });
  isRead = true;
  // Soon, not with the next pass over all ages.
  await clock.advance(60_000);
  await store.retain();
  const [kept, ...others] = everything(store);
  assert.deepEqual(others, []);
  assert.deepEqual([kept?.timeMs, kept?.speedRpm], [times[1], 1490]);
});

test("kept – a damaged record is never the best of its day", async (t) => {
  const clock = new ManualClock(START_MS);
  const times = [3, 9].map((hour) => START_MS - 5 * DAY_MS + hour * HOUR_MS);
  const machines = machinesOf(new Map(times.map((timeMs, n) => [timeMs, [1400, 1480][n] ?? 0])));
  const options = { clock, waveformDays: 1, bufferMaxMb: 512, uplinks: [] };
  const store = tempStore(t, { ...options, keep: keepBy(machines) });
  const doubt = { quality: "uncertain", reason: "jump" } as const;
  const readings = times.map((timeMs, n) =>
    readingOf("1", timeMs, {
      kind: "accel",
      values: { channel1_vel_rms: 2 },
      quality: n === 1 ? { channel1_vel_rms: doubt } : {},
      waveform: waveformOf(8, 1),
    }),
  );
  await append(store, readings);
  await store.retain();
  assert.deepEqual(
    everything(store).map(({ timeMs }) => timeMs),
    [times[0]],
  );
});
