/**
 * Start and first day of several builds or runtimes, in turns on one machine:
 *   node --import tsx scripts/bench/start.ts [--pairs 5] [--only start,day,idle] NAME=PROGRAM[,node=FILE][,flags=A+B][,entry=FILE] …
 * `start`: a store with a day of 55 sensors, one new record of each at the gateway; CPU and wall time until the agent listens and until
 * the first and the last of the new readings are at a subscriber. `day`: the first read of that day by an agent with an empty store.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { AgentProcess, NODE_FLAGS } from "./agent-process.ts";
import { cpuMs, median, residentMb, sleep, until } from "./measure.ts";
import { type BenchOptions, DAY, dayPlan, roundSensors, SETTLED_MS, withPlant } from "./plant.ts";

interface Variant {
  readonly name: string;
  readonly program: string;
  readonly node: string;
  /** What is started; null for the package's own entry file. */
  readonly entry: string | null;
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const SENSORS = 55;
const WAVEFORMS = 5 * 48 * 3;

function variantOf(text: string): Variant {
  const [head = "", ...rest] = text.split(",");
  const [name = "", program = "dist"] = head.split("=");
  const given = new Map(
    rest.map((part) => [part.split("=")[0], part.slice(part.indexOf("=") + 1)]),
  );
  const env = given
    .get("env")
    ?.split("+")
    .map((pair) => pair.split(":") as [string, string]);
  return {
    name,
    program: resolve(program),
    node: given.get("node") ?? process.execPath,
    entry: given.get("entry") ?? null,
    flags: given.get("flags")?.split("+") ?? NODE_FLAGS,
    env: Object.fromEntries(env ?? []),
  };
}

/** Figures of one trial, by name. */
type Figures = Record<string, number>;

async function trial(
  options: BenchOptions,
  variant: Variant,
  only: ReadonlySet<string>,
): Promise<Figures> {
  return withPlant(options, dayPlan(roundSensors(48, 2048)), async (plant) => {
    const figures: Figures = {};
    const directory = join(options.directory, "trial");
    rmSync(directory, { recursive: true, force: true });
    const { node, program, entry, flags, env } = variant;
    const start = () =>
      AgentProcess.start({
        program,
        directory,
        gatewayUrl: plant.gateway.url,
        brokerUrl: plant.broker.url,
        sensors: plant.sensors,
        node,
        ...(entry === null ? {} : { entry }),
        nodeFlags: flags,
        env,
      });
    const counter = await plant.subscriber("gateside");
    let agent = await start();
    await sleep(2000);
    await plant.gateway.open();
    const { answered } = await plant.gateway.report();
    const [cpu, startedAt] = [cpuMs(agent.pid), performance.now()];
    await agent.round(DAY);
    await counter.expect(plant.records, WAVEFORMS);
    await plant.gateway.served(answered, plant.sensors.length);
    figures["day wall ms"] = counter.lastAt - startedAt;
    await sleep(SETTLED_MS);
    figures["day CPU ms"] = cpuMs(agent.pid) - cpu;
    figures["day peak MB"] = residentMb(agent.pid).peak;
    await agent.stop();
    if (only.has("start")) {
      await plant.gateway.advance();
      const before = counter.readings;
      let firstAt = 0;
      let firstCpu = 0;
      counter.onReading = () => {
        if (firstAt !== 0) return;
        firstAt = performance.now();
        firstCpu = cpuMs(agent.pid);
      };
      const at = performance.now();
      // The process is registered before it listens, so that its CPU at the first reading can be read.
      agent = await start();
      figures["listen CPU ms"] = agent.listeningCpuMs;
      figures["listen wall ms"] = performance.now() - at;
      await until("a reading", () => counter.readings >= before + SENSORS, 60_000);
      figures["first reading CPU ms"] = firstCpu;
      figures["first reading wall ms"] = firstAt - at;
      figures["last reading CPU ms"] = cpuMs(agent.pid);
      figures["start peak MB"] = residentMb(agent.pid).peak;
      if (only.has("idle")) {
        await sleep(75_000);
        figures["idle MB"] = residentMb(agent.pid).now;
      }
      await agent.stop();
      counter.onReading = null;
    }
    counter.requireNoDoubles();
    return figures;
  });
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: {
      pairs: { type: "string", default: "5" },
      only: { type: "string", default: "start,day" },
    },
    allowPositionals: true,
  });
  const variants = positionals.map(variantOf);
  const directory = mkdtempSync(join(tmpdir(), "gateside-start-"));
  const options: BenchOptions = {
    program: "",
    directory,
    isQuick: true,
    isFull: false,
    noNodeRed: "not needed",
    pairs: Number(values.pairs),
    say: () => {},
  };
  const all = new Map<string, Figures[]>(variants.map(({ name }) => [name, []]));
  try {
    for (let pair = 0; pair < options.pairs; pair++) {
      for (const variant of variants) {
        all.get(variant.name)?.push(await trial(options, variant, new Set(values.only.split(","))));
      }
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  const names = Object.keys([...all.values()][0]?.[0] ?? {});
  console.log(`| figure (median of ${options.pairs}) | ${[...all.keys()].join(" | ")} |`);
  console.log(`| --- |${" --- |".repeat(all.size)}`);
  for (const name of names) {
    const cells = [...all.values()].map((trials) => {
      const list = trials.map((one) => one[name] ?? Number.NaN);
      return `${median(list).toFixed(0)} (${Math.min(...list).toFixed(0)}–${Math.max(...list).toFixed(0)})`;
    });
    console.log(`| ${name} | ${cells.join(" | ")} |`);
  }
}

void main();
