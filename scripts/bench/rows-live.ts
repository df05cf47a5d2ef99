/** Targets 11, 12 and 14: sensors of fixed cadence, the event loop, and the memory of an idle agent. */
import type { AgentProcess } from "./agent-process.ts";
import { cpuMs, median, percentile, residentMb, sleep, until } from "./measure.ts";
import {
  type BenchOptions,
  dayPlan,
  type Outcome,
  type Row,
  small,
  waveform,
  withPlant,
} from "./plant.ts";

/** Cadences of real sensors: battery-powered ones send every few minutes, these are the fast ones. */
const CADENCES_S = [10, 15, 20, 30] as const;
const RECORD_LAG_MS = 400;
/** A record that takes longer is lost: the longest cadence and its commit window, with room for a busy machine, ms. */
const ARRIVED_MS = 60_000;

async function loopDelayMs(agent: AgentProcess): Promise<{ p99: number; max: number }> {
  const at = async (quantile: string) =>
    1000 * (await agent.metric("gateside_event_loop_delay_seconds", `quantile="${quantile}"`));
  return { p99: await at("p99"), max: await at("max") };
}

/** Records appear at the gateway at their own cadence, which the agent must learn so that it does not poll in vain. */
export async function cadenceRows(options: BenchOptions): Promise<Outcome> {
  const sensors = [
    ...CADENCES_S.flatMap((cadenceS, i) =>
      small(5, 0, cadenceS).map((sensor, n) => ({ ...sensor, code: `${20_000 + i * 5 + n}` })),
    ),
    ...waveform(2, 0, 2048, 30),
  ];
  const plan = dayPlan(sensors, { clockMs: null, lagMs: RECORD_LAG_MS });
  return withPlant(options, plan, async (plant) => {
    const arrivals = new Map<string, number>();
    await plant.gateway.open();
    await plant.gateway.beginCadence();
    const agent = await plant.agent({ POLL_INTERVAL_S: "60" });
    agent.counter.onReading = (topic, payload, at) => {
      const time = /"time":"([^"]+)"/.exec(payload.toString())?.[1] ?? "";
      arrivals.set(`${topic.split("/")[2]} ${Date.parse(time)}`, at);
    };
    await sleep(options.isFull ? 180_000 : 90_000);
    const before = await plant.gateway.report();
    const cpu = cpuMs(agent.program.pid);
    const seconds = options.isFull ? 240 : 120;
    await sleep(seconds * 1000);
    const after = await plant.gateway.report();
    const cpuUsed = cpuMs(agent.program.pid) - cpu;
    const shown = after.shown.slice(before.shown.length);
    const arrivalOf = ({ code, timeMs }: (typeof shown)[number]) =>
      arrivals.get(`${code} ${timeMs}`);
    await until(
      "the last records at the subscriber",
      () => shown.every((record) => arrivalOf(record) !== undefined),
      ARRIVED_MS,
    );
    agent.counter.requireNoDoubles();
    const waits = shown.map((record) => ((arrivalOf(record) ?? 0) - record.visibleAt) / 1000);
    const requests = after.requests - before.requests;
    const delay = await loopDelayMs(agent.program);
    const note = `${shown.length} records of ${sensors.length} sensors in ${seconds} s`;
    const rows: Row[] = [
      {
        target: "11",
        what: "requests per new record, sensors of fixed cadence",
        measured: requests / shown.length,
        limit: 1.3,
        sense: "<=",
        note,
      },
      {
        target: "11b",
        what: "visible at the gateway to the subscriber, median",
        measured: median(waits),
        limit: 5,
        sense: "<=",
        unit: "s",
      },
      {
        target: "11c",
        what: "visible at the gateway to the subscriber, p95",
        measured: percentile(waits, 95),
        limit: 15,
        sense: "<=",
        unit: "s",
      },
      {
        target: "12",
        what: "event-loop delay p99, steady",
        measured: delay.p99,
        limit: 20,
        sense: "<=",
        unit: "ms",
        digits: 1,
        note: `max ${delay.max.toFixed(0)} ms`,
      },
    ];
    return { rows, raw: { requests, waits, delay, cpuMs: cpuUsed, seconds } };
  });
}

/** Ten triaxial sensors, a week of 48 measurements a day. */
export async function backfillRows(options: BenchOptions): Promise<Outcome> {
  const pastDays = options.isQuick ? 2 : 7;
  const sensors = waveform(10, 48, 4096);
  return withPlant(options, dayPlan(sensors, { pastDays, stepS: 1200 }), async (plant) => {
    await plant.gateway.open();
    const agent = await plant.agent({
      BACKFILL_DAYS: String(pastDays),
      PUBLISH_WAVEFORMS: "alarm",
    });
    const startedAt = performance.now();
    const delays: { p99: number; max: number }[] = [];
    while (agent.counter.readings < plant.records) {
      if (performance.now() - startedAt > 600_000) throw new Error("the backfill does not end");
      await sleep(2000);
      delays.push(await loopDelayMs(agent.program));
    }
    await agent.counter.expect(plant.records, 0);
    agent.counter.requireNoDoubles();
    const wallS = (performance.now() - startedAt) / 1000;
    const cpu = cpuMs(agent.program.pid);
    const peak = residentMb(agent.program.pid).peak;
    const p99 = Math.max(...delays.map((delay) => delay.p99));
    const max = Math.max(...delays.map((delay) => delay.max));
    return {
      raw: { delays, wallS, cpuMs: cpu, bytes: plant.bytes, peakMb: peak },
      rows: [
        {
          target: "12b",
          what: `event-loop delay p99, backfill of ${pastDays} days of waveforms`,
          measured: p99,
          limit: 100,
          sense: "<=",
          unit: "ms",
          digits: 1,
          note: `max ${max.toFixed(0)} ms; ${plant.records} records, ${(plant.bytes / 1e6).toFixed(0)} MB in ${wallS.toFixed(0)} s, CPU ${(cpu / 1000).toFixed(1)} s, peak ${peak.toFixed(0)} MB`,
        },
      ],
    };
  });
}

export async function idleRows(options: BenchOptions): Promise<Outcome> {
  return withPlant(options, dayPlan(small(50, 144)), async (plant) => {
    await plant.gateway.open();
    const agent = await plant.agent({ POLL_INTERVAL_S: "60" });
    await agent.counter.expect(plant.records, 0);
    const seconds = options.isQuick ? 60 : 150;
    const cpu = cpuMs(agent.program.pid);
    const samples: number[] = [];
    for (let s = 0; s < seconds; s += 5) {
      await sleep(5000);
      samples.push(residentMb(agent.program.pid).now);
    }
    const share = (cpuMs(agent.program.pid) - cpu) / 10 / seconds;
    return {
      raw: { samples, cpuShare: share },
      rows: [
        {
          target: "14",
          what: "idle resident memory, 50 sensors polled",
          measured: median(samples.slice(-6)),
          limit: 65,
          sense: "<=",
          unit: "MB",
          digits: 0,
          note: `${share.toFixed(2)} % of a core over ${seconds} s`,
        },
      ],
    };
  });
}
