/** Row 20: what a large site costs from the start to its first reading, with a full buffer of readings that wait for the broker. */
import { join } from "node:path";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { openStore } from "../../src/pipeline/store/sqlite-store.ts";
import { COUNT } from "../../test/support/count.ts";
import { append, mainOf, readingOf } from "../../test/support/temp-database.ts";
import { AgentProcess } from "./agent-process.ts";
import { cpuMs, median, until } from "./measure.ts";
import {
  type BenchOptions,
  dayPlan,
  MIDNIGHT_MS,
  type Outcome,
  type Plant,
  small,
  withPlant,
} from "./plant.ts";

const SENSORS = 2000;
const READINGS_EACH = 75;
const MINUTE_MS = 60_000;
const BUFFER_MB = 24;

/** More than it holds, and nothing of it delivered. */
async function fillBuffer(dataDir: string, codes: readonly string[]): Promise<void> {
  const store = openStore({
    dataDir,
    historyDays: 60,
    waveformDays: 30,
    count: COUNT,
    bufferMaxMb: BUFFER_MB,
    diskFreeMinMb: 0,
    clock: systemClock,
    logger: silentLogger,
    commitWindowMs: 0,
    uplinks: mainOf("json"),
  });
  for (let first = READINGS_EACH; first > 0; first -= 5) {
    for (let from = 0; from < codes.length; from += 100) {
      const answers = codes.slice(from, from + 100).map((code) => {
        const readings = Array.from({ length: 5 }, (_, n) =>
          readingOf(code, MIDNIGHT_MS - (first - n) * MINUTE_MS, {
            values: { rpm: 1480 + (n % 7), battery: 3.58, module_temperature: 24.5 },
            units: { rpm: "rpm", battery: "V", module_temperature: "degC" },
          }),
        );
        return append(store, readings);
      });
      const outcomes = await Promise.allSettled(answers);
      if (outcomes.some(({ status }) => status === "rejected")) first = 0;
    }
  }
  await store.close();
}

interface Start {
  readonly listeningMs: number;
  readonly firstMs: number;
  /** In the buffer. */
  readonly readings: number;
}

interface StatusJson {
  readonly buffer: { readonly readings: number };
}

async function oneStart(options: BenchOptions, plant: Plant, run: number): Promise<Start> {
  const directory = join(options.directory, `start-${run}`);
  const codes = plant.sensors.map(({ code }) => code);
  await fillBuffer(join(directory, "data"), codes);
  const counter = await plant.subscriber("gateside");
  let agent: AgentProcess | null = null;
  let firstMs: number | null = null;
  counter.onReading = () => {
    if (agent !== null) firstMs ??= cpuMs(agent.pid);
  };
  agent = await AgentProcess.start({
    program: options.program,
    directory,
    gatewayUrl: plant.gateway.url,
    brokerUrl: plant.broker.url,
    sensors: plant.sensors,
    env: { BUFFER_MAX_MB: String(BUFFER_MB) },
    ...(options.nodeFlags === undefined ? {} : { nodeFlags: options.nodeFlags }),
  });
  try {
    await until("a reading", () => firstMs !== null, 60_000);
    const { readings } = (await agent.json<StatusJson>("/api/v1/status")).buffer;
    return { listeningMs: agent.listeningCpuMs, firstMs: firstMs ?? Number.NaN, readings };
  } finally {
    counter.onReading = null;
    await agent.stop();
    await counter.close();
  }
}

export async function fullStartRows(options: BenchOptions): Promise<Outcome> {
  const starts: Start[] = [];
  await withPlant(options, dayPlan(small(SENSORS, 1)), async (plant) => {
    await plant.gateway.open();
    for (let run = 0; run < options.pairs; run += 1) {
      starts.push(await oneStart(options, plant, run));
      options.say("a start with a full buffer");
    }
  });
  const words = (times: readonly number[]) => times.map((ms) => ms.toFixed(0)).join(", ");
  const first = starts.map(({ firstMs }) => firstMs);
  return {
    raw: starts,
    rows: [
      {
        target: "20",
        what: "start to first reading, 2,000 sensors and a full buffer, CPU",
        measured: median(first),
        limit: 600,
        sense: "<=",
        unit: "ms",
        digits: 0,
        note: `${words(first)}; until it listens ${words(starts.map((one) => one.listeningMs))}; ${BUFFER_MB} MB, ${starts[0]?.readings ?? 0} readings`,
      },
    ],
  };
}
