/**
 * A store whose disk is nearly full and held: DATA_DIR on a small tmpfs that others fill, another program that reads the store
 * or has its write lock, and kill -9 in the middle. As root, after `npm run build`:  node --import tsx scripts/held-store.ts [--ci] [--row N]
 * `--ci` is the short form: one row; `--row` tries one of the four. What a row promises stands in docs/faults.md.
 */
import { readdirSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { bufferOf, metricOf } from "../test/support/agent-answers.ts";
import { deadlineMs } from "../test/support/deadline.ts";
import { holdStore } from "../test/support/hold.ts";
import { type BuiltAgent, openPlant, skipWithoutBuild } from "../test/support/plant.ts";
import { SeenReadings, truthOf } from "../test/support/seen-readings.ts";
import { SkippingClock } from "../test/support/skipping-clock.ts";
import { fillDisk, smallDisk, WITHOUT_MOUNT } from "../test/support/small-disk.ts";
import { starvedMs } from "../test/support/starved.ts";
import { until } from "../test/support/wait-until.ts";

interface Buffer {
  readonly alarm: string | null;
  readonly isWritable: boolean;
  readonly dropped: Readonly<Record<string, number>>;
}
interface Row {
  readonly how: "reader" | "writer";
  /** False: it is away until the holder has gone. */
  readonly hasBroker: boolean;
}
type After = () => void | Promise<void>;

const DISK_MB = 48;
const FREE_MIN_MB = 16;
const MIB = 1 << 20;
const HOUR_MS = 3_600_000;
/** What others leave beyond that, MB: more than a quick machine reads in the trial with the broker away. */
const LEFT_MB = 10;
const START_MS = Math.floor(Date.now() / 86_400_000) * 86_400_000 + HOUR_MS;
const IS_SHORT = process.argv.includes("--ci");
/** How long the store stays held after it was told, s. */
const HELD_S = IS_SHORT ? 10 : 20;
/** What is written at once after the last look at the disk, MB. */
const TOLERANCE_MB = 1;

const freeMb = (disk: string) => {
  const { bavail, bsize } = statfsSync(disk);
  return (bavail * bsize) / MIB;
};
const logMb = (disk: string) =>
  readdirSync(disk)
    .filter((name) => name.endsWith("-wal"))
    .reduce((sum, name) => sum + statSync(join(disk, name)).size / MIB, 0);
const bufferNow = (agent: BuiltAgent) =>
  bufferOf<Buffer>(agent).catch((): Buffer => ({ alarm: "", isWritable: false, dropped: {} }));

/** Watches the disk, and how long /healthz takes once there is a processor for it, until stopped. */
function watch(disk: string, current: () => BuiltAgent) {
  const seen = { leastFreeMb: DISK_MB, slowestMs: 0 };
  const stop = new AbortController();
  const watching = (async () => {
    while (!stop.signal.aborted) {
      seen.leastFreeMb = Math.min(seen.leastFreeMb, freeMb(disk));
      const agent = current();
      const address = await agent.address.catch(() => null);
      const now = () => performance.now() - starvedMs(agent.process.pid) - starvedMs();
      const startedAt = now();
      const isAnswered =
        address !== null &&
        (await fetch(`${address}/healthz`).then(
          () => true,
          () => false,
        ));
      if (isAnswered) seen.slowestMs = Math.max(seen.slowestMs, now() - startedAt);
      await pause(100);
    }
  })();
  return {
    seen,
    async stop() {
      stop.abort();
      await watching;
    },
  };
}

/** Returns what was not as promised. */
async function trial({ how, hasBroker }: Row, disk: string, after: After[]): Promise<string[]> {
  const clock = new SkippingClock();
  const { plant, close } = await openPlant({
    simulator: {
      clock,
      sensors: 14,
      startMs: START_MS,
      historyDays: 1 / 24,
      waveform: { sampleRateHz: 6400, samples: 2048 },
      cadenceS: { accel: 60 },
    },
    env: { DATA_DIR: disk, DISK_FREE_MIN_MB: String(FREE_MIN_MB), BUFFER_MAX_MB: "256" },
  });
  after.push(close);
  clock.stop();
  const shown = () => truthOf(plant.simulator, START_MS - HOUR_MS);
  const received = new SeenReadings(await plant.subscribe({ reconnect: true }));
  let agent = plant.startAgent();
  await received.waitFor(shown(), 60_000);
  if (!hasBroker) await plant.broker.stop();
  const giveBack = fillDisk(disk, (FREE_MIN_MB + LEFT_MB) * MIB);
  const watched = watch(disk, () => agent);

  const holder = await holdStore({ after: (end) => after.push(end) }, disk, how);
  const heldAt = performance.now();
  const isTold = async () => /open \(pid/.test((await bufferNow(agent)).alarm ?? "") || undefined;
  clock.skip(HOUR_MS / 4);
  await until("the holder is told", isTold, deadlineMs(30_000));
  const toldS = (performance.now() - heldAt) / 1000;
  const heldUntil = performance.now() + HELD_S * 1000;
  let isKilled = false;
  while (performance.now() < heldUntil) {
    clock.skip(HOUR_MS / 4);
    await pause(500);
    if (isKilled || performance.now() < heldUntil - (HELD_S * 1000) / 2) continue;
    isKilled = true;
    await agent.kill();
    agent = plant.startAgent();
  }
  const logAtEndMb = logMb(disk);
  await holder.release();
  const releasedAt = performance.now();
  if (!hasBroker) await plant.broker.restart();
  const isFree = async () =>
    ((await metricOf(agent, "gateside_store_held_seconds").catch(() => 1)) === 0 &&
      (await bufferNow(agent)).isWritable) ||
    undefined;
  await until("the store is written again", isFree, deadlineMs(60_000));
  const writtenS = (performance.now() - releasedAt) / 1000;
  giveBack();
  const wanted = shown();
  await received.waitFor(wanted, 120_000).catch(() => {});
  await watched.stop();
  const missing = received.missing(wanted).length;
  const { dropped } = await bufferNow(agent);
  const lost = Object.values(dropped).reduce((sum, count) => sum + count, 0);
  const { leastFreeMb, slowestMs } = watched.seen;
  await agent.stop();
  console.log(
    `| ${how} | ${hasBroker ? "there" : "away"} | ${toldS.toFixed(1)} | ${logAtEndMb.toFixed(1)} | ${leastFreeMb.toFixed(1)} | ${slowestMs.toFixed(0)} | ${writtenS.toFixed(1)} | ${wanted.size} | ${missing} | ${lost} |`,
  );
  return [
    ...(toldS > deadlineMs(15_000) / 1000 ? [`told after ${toldS} s`] : []),
    ...(leastFreeMb < FREE_MIN_MB - TOLERANCE_MB ? [`${leastFreeMb} MB were free`] : []),
    // CI runs other programs beside it.
    ...(slowestMs > deadlineMs(1_000) && !IS_SHORT ? [`/healthz took ${slowestMs} ms`] : []),
    ...(writtenS > deadlineMs(20_000) / 1000 + logAtEndMb / 5
      ? [`written after ${writtenS} s`]
      : []),
    ...(missing > 0 ? [`${missing} readings did not come`] : []),
    ...(lost > 0 ? [`${lost} readings were given up`] : []),
  ];
}

async function run(row: Row): Promise<string[] | null> {
  const after: After[] = [];
  try {
    const disk = smallDisk({ after: (end) => after.push(end) }, DISK_MB);
    return disk === null ? null : await trial(row, disk, after);
  } finally {
    for (const end of after.reverse()) await end();
  }
}

const ALL: readonly Row[] = (["reader", "writer"] as const).flatMap((how) => [
  { how, hasBroker: true },
  { how, hasBroker: false },
]);
const single = IS_SHORT ? 2 : Number(process.argv[process.argv.indexOf("--row") + 1] ?? 0);
const rows = single > 0 ? ALL.slice(single - 1, single) : ALL;
if (skipWithoutBuild) throw new Error(skipWithoutBuild);
console.log(
  "| Holder | Broker | Told after, s | Log, MB | Least free, MB | /healthz, ms | Written after, s | Records | Missing | Given up |",
);
console.log(`|${" --- |".repeat(10)}`);
for (const row of rows) {
  const faults = await run(row);
  if (faults === null) {
    console.log(`skipped - ${WITHOUT_MOUNT}`);
    break;
  }
  for (const fault of faults)
    console.error(`${row.how}, broker ${row.hasBroker ? "there" : "away"}: ${fault}`);
  if (faults.length > 0) process.exitCode = 1;
}
