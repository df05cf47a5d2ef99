/** Rows 19, 21 and 23: what people feel of a large site, of a phone, and of a small box with everything on. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { siteOf } from "./agent-process.ts";
import { cpuMs, median, residentMb, sleep, until } from "./measure.ts";
import {
  type BenchOptions,
  dayPlan,
  type Outcome,
  roundSensors,
  small,
  withPlant,
} from "./plant.ts";
import { numbersOf, printed } from "./rows-years.ts";

/** Longest time that a reload and what follows it take, with as much room. */
const RELOAD_MS = 5000;

/** Row 19: beyond what the idle agent takes meanwhile. The floor is a reload that finds the same file: read, checked, compared. */
export async function reloadRows(options: BenchOptions): Promise<Outcome> {
  return withPlant(options, dayPlan(small(2001, 1)), async (plant) => {
    await plant.gateway.open();
    const { counter, program } = await plant.agent({ BUFFER_MAX_MB: "8192" });
    await counter.expect(plant.records, 0);
    // The first look at the days of outlooks comes half a minute after the start.
    await sleep(45_000);
    const { sensors } = plant;
    const during = async (work: () => void) => {
      const before = { cpu: cpuMs(program.pid), ...(await plant.gateway.report()) };
      work();
      await sleep(RELOAD_MS);
      const { requests } = await plant.gateway.report();
      return { cpu: cpuMs(program.pid) - before.cpu, requests: requests - before.requests };
    };
    const spent = { idle: [] as number[], added: [] as number[], same: [] as number[] };
    let requests = 0;
    for (let run = 0; run < options.pairs; run += 1) {
      await during(() => program.reload(sensors.slice(1)));
      const idle = await during(() => {});
      const added = await during(() => program.reload(sensors));
      const same = await during(() => program.reload(sensors));
      spent.idle.push(idle.cpu);
      spent.added.push(added.cpu);
      spent.same.push(same.cpu);
      requests = Math.max(requests, added.requests - idle.requests);
    }
    // What the agent does by itself differs from one look to the next by more than a reload takes.
    const idleMs = median(spent.idle);
    const beyond = (times: readonly number[]) => median(times) - idleMs;
    const words = (times: readonly number[]) => times.map((ms) => ms.toFixed(0)).join(", ");
    const row = { target: "19", sense: "<=", digits: 0 } as const;
    return {
      raw: { ...spent, requests },
      rows: [
        {
          ...row,
          what: "a reload that adds one sensor to 2,000, CPU beyond idle",
          measured: beyond(spent.added),
          limit: 50,
          unit: "ms",
          note: `in ${RELOAD_MS / 1000} s each: ${words(spent.added)}; idle ${words(spent.idle)}; of the same file ${words(spent.same)}`,
        },
        {
          ...row,
          what: "the same / a reload of the same file, which is read, checked and compared",
          measured: beyond(spent.added) / beyond(spent.same),
          limit: 1.3,
          digits: 2,
        },
        { ...row, what: "its requests, all of the new sensor", measured: requests, limit: 2 },
      ],
    };
  });
}

/** Row 21. */
export async function firstViewRows({ isQuick }: BenchOptions): Promise<Outcome> {
  const text = await printed("dashboard.ts", "50", isQuick ? "3" : "7", "6");
  const [kiB = 0] = numbersOf(text, /first load +([\d.]+) KiB/);
  const [usableMs = 0] = numbersOf(text, /usable after +(\d+) ms/);
  const row = { target: "21", sense: "<=", digits: 0 } as const;
  return {
    raw: text,
    rows: [
      {
        ...row,
        what: "first view of the dashboard, CPU of the browser slowed down six times",
        measured: usableMs,
        limit: 1000,
        unit: "ms",
        note: text,
      },
      { ...row, what: "its bytes", measured: (kiB * 1024) / 1000, limit: 100, unit: "kB" },
    ],
  };
}

/** Row 23: by the Node of the bench. */
export async function fullIdleRows(options: BenchOptions): Promise<Outcome> {
  const plan = dayPlan(roundSensors(48, 2048));
  return withPlant(options, plan, async (plant) => {
    const directory = join(options.directory, "full");
    mkdirSync(directory, { recursive: true });
    const written = (name: string, content: object) => {
      writeFileSync(join(directory, name), JSON.stringify(content));
      return join(directory, name);
    };
    const site = siteOf(plant.sensors);
    const machines = site.sensors.flatMap(({ kinds }, i) => (kinds[0] === "accel" ? [i] : []));
    const sensors = site.sensors.map((sensor, i) =>
      machines.includes(i)
        ? { ...sensor, location: { company: 1, area: 1, machine: i, point: 1 } }
        : sensor,
    );
    const bearing = { point: 1, bpfo: 3.58, bpfi: 5.42, bsf: 2.36, ftf: 0.4 };
    const bands = { orders: [1, 2], bearings: true };
    const env = {
      POLL_INTERVAL_S: "60",
      SITE_FILE: written("site.json", {
        ...site,
        sensors,
        machines: machines.map((id, i) => ({
          id,
          name: `Pump ${id}`,
          speed: { sensor: site.sensors[i]?.code },
          bearings: [bearing],
          bands,
        })),
      }),
      UPLINKS_FILE: written("uplinks.json", {
        uplinks: ["plant", "cloud"].map((name) => ({
          name,
          url: plant.broker.url,
          clientId: `bench-${name}`,
          topicPrefix: name,
        })),
      }),
    };
    await plant.gateway.open();
    const { counter, program } = await plant.agent(env);
    // Bands are readings too, and come on top.
    await until("the day is read", () => counter.readings >= plant.records, 120_000);
    const samples: number[] = [];
    for (let s = 0; s < (options.isQuick ? 60 : 150); s += 5) {
      await sleep(5000);
      samples.push(residentMb(program.pid).now);
    }
    return {
      raw: samples,
      rows: [
        {
          target: "23",
          what: "idle resident memory, 55 sensors, three uplinks, findings and bands",
          measured: median(samples.slice(-6)),
          limit: 60,
          sense: "<=",
          unit: "MB",
          digits: 0,
          note: `peak ${residentMb(program.pid).peak.toFixed(0)} MB`,
        },
      ],
    };
  });
}
