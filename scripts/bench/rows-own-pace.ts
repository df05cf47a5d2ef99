/** Rows 1o and 10o: the agent left to itself, beside bare undici that asks for the same days at the same pace in groups of six. */
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
    const floor = spawn(
      process.execPath,
      [
        "--import",
        "tsx",
        join("scripts", "bench", "bare-polls.ts"),
        plant.gateway.url,
        codes,
        DAY,
        String(periodMs),
      ],
      { stdio: "inherit" },
    );
    await sleep(WARM_UP_MS);
    const floorCpu = cpuMs(floor.pid ?? 0);
    await sleep(seconds * 1000);
    const theirs = (cpuMs(floor.pid ?? 0) - floorCpu) / periods;
    floor.kill();
    const requests = after.requests - before.requests;
    const records = after.shown.length - before.shown.length;
    return { ours, theirs, requestsPerRecord: requests / (isNew ? records : SENSORS * periods) };
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
  return {
    rows: [
      row("1o", "own pace, a record of each of 55 sensors every 2 s: CPU / bare polls", 2, fresh),
      row("10o", "own pace, nothing new, a poll each 10 s: CPU / bare polls", 1.3, idle),
    ],
    raw: { fresh, idle },
  };
}
