/** Targets 5c and 5d: what reaches the disk while sensors report at their own times, as on a real site. */
import { execFile } from "node:child_process";
import { closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { median, percentile, sleep, writtenBytes } from "./measure.ts";
import {
  type BenchOptions,
  dayPlan,
  type Outcome,
  type Row,
  small,
  waveform,
  withPlant,
} from "./plant.ts";

/** One record a minute of each of 55 sensors: about one a second. */
const CADENCE_S = 60;
const RECORD_LAG_MS = 400;
const CHECK_MS = 100;
/** A run ends at the end of a checkpoint cycle, or after this at the latest. A cycle takes about 20 minutes. */
const RUN_MAX_S = 3000;
const RUN_MIN_S = 60;
/** Records shown this shortly before the end may still be on their way. */
const ON_THE_WAY_MS = 20_000;

interface Total {
  readonly written: number;
  readonly payload: number;
  readonly readings: number;
}

/** Changes with each cycle: the first commit after a checkpoint restarts the log. */
function logNumber(dataDir: string): string {
  const head = Buffer.alloc(32);
  try {
    const file = openSync(join(dataDir, "gateside.db-wal"), "r");
    try {
      readSync(file, head);
    } finally {
      closeSync(file);
    }
  } catch {
    // Does not exist yet.
  }
  return head.toString("hex");
}

/**
 * Bytes of whole checkpoint cycles: a partial one would show too little. The first one, in which a new store writes
 * each sensor's entries, is left out unless the bench is to be quick.
 */
export async function writeRows(options: BenchOptions): Promise<Outcome> {
  const sensors = [...small(50, 0, CADENCE_S), ...waveform(5, 0, 2048, CADENCE_S)];
  const plan = dayPlan(sensors, { clockMs: null, lagMs: RECORD_LAG_MS });
  return withPlant(options, plan, async (plant) => {
    await plant.gateway.open();
    const agent = await plant.agent({ POLL_INTERVAL_S: "60" });
    const { counter, program } = agent;
    const arrivals = new Map<string, number>();
    counter.onReading = (topic, payload, at) => {
      const time = /"time":"([^"]+)"/.exec(payload.toString())?.[1] ?? "";
      arrivals.set(`${topic.split("/")[2]} ${Date.parse(time)}`, at);
    };
    const now = (): Total => ({
      written: writtenBytes(program.pid),
      payload: counter.bytes,
      readings: counter.readings,
    });
    await plant.gateway.beginCadence();
    const startedAt = performance.now();
    const secondsGone = () => (performance.now() - startedAt) / 1000;
    let before = now();
    /** Where cycles begin and end. */
    const marks: Total[] = options.isQuick ? [before] : [];
    let log = "";
    while (marks.length < 2 || secondsGone() < RUN_MIN_S) {
      if (secondsGone() > RUN_MAX_S) throw new Error("no checkpoint within the time");
      await sleep(CHECK_MS);
      const next = logNumber(program.dataDir);
      if (log !== "" && next !== log && !/^0*$/.test(log)) marks.push(before);
      log = next;
      before = now();
    }
    const [from, to] = [marks[0] ?? before, marks.at(-1) ?? before];
    await sleep(ON_THE_WAY_MS);
    counter.requireNoDoubles();
    const endAt = Date.now() - ON_THE_WAY_MS;
    const { shown } = await plant.gateway.report();
    const waits = shown.flatMap(({ code, timeMs, visibleAt }) => {
      if (visibleAt > endAt) return [];
      const at = arrivals.get(`${code} ${timeMs}`);
      if (at === undefined) throw new Error(`record ${code} ${timeMs} never arrived`);
      return [(at - visibleAt) / 1000];
    });
    const written = to.written - from.written;
    const payload = to.payload - from.payload;
    const readings = to.readings - from.readings;
    const each = (bytes: number) => `${(bytes / readings / 1000).toFixed(1)} kB`;
    const row: Row = {
      target: "5d",
      what: "bytes written / payload byte, sensors at their own times, the whole agent, FULL",
      measured: written / payload,
      limit: 1.5,
      sense: "<=",
      note: `${each(written)} : ${each(payload)} a reading, ${readings} readings in whole checkpoint cycles (${marks.length - 1}); visible to the subscriber after ${median(waits).toFixed(1)} s, p95 ${percentile(waits, 95).toFixed(1)} s`,
    };
    return { rows: [row], raw: { marks, waits, seconds: secondsGone() } };
  });
}

/**
 * Four hours of the plant in seconds, by store-writes.ts: the agent needs the better part of an hour for two checkpoint cycles. The
 * states of alarms, which the agent also writes, are missing here.
 */
export async function storeWriteRows(options: BenchOptions): Promise<Outcome> {
  const minutes = options.isQuick ? 60 : 240;
  const script = join("scripts", "bench", "store-writes.ts");
  const words = ["--import", "tsx", script, "--minutes", String(minutes)];
  const { stdout } = await promisify(execFile)(process.execPath, words);
  const text = stdout.trim();
  const found = / ([\d.]+) a payload byte, ([\d.]+) kB a reading, (\d+) MB a day/.exec(text);
  if (found === null) throw new Error(`unexpected output of store-writes.ts: ${text}`);
  const row: Row = {
    target: "5c",
    what: "bytes written / payload byte, sensors at their own times, store alone, FULL",
    measured: Number(found[1]),
    limit: 1.5,
    sense: "<=",
    note: `${found[2]} kB a reading, ${found[3]} MB a day, ${minutes / 60} hours of the plant`,
  };
  return { rows: [row], raw: { text } };
}
