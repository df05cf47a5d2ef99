/** Rows 1o and 10o: the agent left to itself, beside bare undici that asks for the same days at the same pace in groups of six; 1s and 10s, beside a script. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { cpuMs, median, ratioOf, sleep } from "./measure.ts";
import {
  type BenchOptions,
  DAY,
  dayPlan,
  type Outcome,
  type Row,
  small,
  withPlant,
} from "./plant.ts";

const SENSORS = 55;
const WARM_UP_MS = 30_000;

interface Pace {
  readonly ours: number;
  readonly theirs: number;
  readonly requestsPerRecord: number;
  readonly script: number;
}

/** CPU per period, ms; a new record of each sensor in each if `isNew`. */
async function pace(options: BenchOptions, periodMs: number, isNew: boolean): Promise<Pace> {
  const sensors = small(SENSORS, 144, isNew ? periodMs / 1000 : 0);
  const plan = dayPlan(sensors, isNew ? { clockMs: null, lagMs: 400, stepS: 1 } : {});
  return withPlant(options, plan, async (plant) => {
    await plant.gateway.open();
    if (isNew) await plant.gateway.beginCadence();
    const { program, counter } = await plant.agent({ POLL_INTERVAL_S: String(periodMs / 1000) });
    await sleep(WARM_UP_MS);
    const seconds = options.isQuick ? 20 : 60;
    const periods = (seconds * 1000) / periodMs;
    const [before, cpu] = [await plant.gateway.report(), cpuMs(program.pid)];
    await sleep(seconds * 1000);
    const ours = (cpuMs(program.pid) - cpu) / periods;
    const after = await plant.gateway.report();
    counter.requireNoDoubles();
    await program.stop();
    const codes = sensors.map(({ code }) => code).join();
    /** CPU per period, ms, of a program that does less at the same pace. */
    const beside = async (script: string, ...args: string[]) => {
      const path = join("scripts", "bench", script);
      const child = spawn(
        process.execPath,
        ["--import", "tsx", path, plant.gateway.url, ...args, codes, DAY, String(periodMs)],
        { stdio: "inherit" },
      );
      const pid = child.pid ?? 0;
      await sleep(WARM_UP_MS);
      const cpuBefore = cpuMs(pid);
      await sleep(seconds * 1000);
      const used = (cpuMs(pid) - cpuBefore) / periods;
      child.kill();
      return used;
    };
    const theirs = await beside("bare-polls.ts");
    const published = await plant.subscriber("script");
    const script = await beside("plain-script.ts", plant.broker.url);
    published.requireNoDoubles();
    if (published.readings < plant.records) throw new Error("the script has left readings out");
    const requests = after.requests - before.requests;
    const records = after.shown.length - before.shown.length;
    const requestsPerRecord = requests / (isNew ? records : SENSORS * periods);
    return { ours, theirs, script, requestsPerRecord };
  });
}

export async function ownPaceRows(options: BenchOptions): Promise<Outcome> {
  const fresh: Pace[] = [];
  const idle: Pace[] = [];
  for (let n = 0; n < options.pairs; n++) {
    fresh.push(await pace(options, 2_000, true));
    idle.push(await pace(options, 10_000, false));
    options.say("the agent at its own pace");
  }
  const row = (target: string, what: string, limit: number, paces: readonly Pace[]): Row => ({
    target,
    what,
    measured: ratioOf(paces),
    limit,
    sense: "<=",
    note: `${median(paces.map((p) => p.ours)).toFixed(0)} : ${median(paces.map((p) => p.theirs)).toFixed(0)} ms each period, ${median(paces.map((p) => p.requestsPerRecord)).toFixed(2)} requests each`,
  });
  const scriptRow = (target: string, what: string, paces: readonly Pace[]): Row => {
    const pairs = paces.map(({ ours, script }) => ({ ours, theirs: script }));
    const cpu = `${median(pairs.map((p) => p.ours)).toFixed(0)} : ${median(pairs.map((p) => p.theirs)).toFixed(0)} ms each period`;
    return { target, what, measured: ratioOf(pairs), limit: 0, sense: ">=", note: cpu };
  };
  return {
    rows: [
      row("1o", "own pace, a record of each of 55 sensors every 2 s: CPU / bare polls", 2, fresh),
      row("10o", "own pace, nothing new, a poll each 10 s: CPU / bare polls", 1.3, idle),
      scriptRow("1s", "as 1o: CPU / a script that only polls, compares and publishes", fresh),
      scriptRow("10s", "as 10o: CPU / that script", idle),
    ],
    raw: { fresh, idle },
  };
}
