/**
 * Two builds side by side, round by round: node --import tsx scripts/bench/pair.ts DIR-BEFORE DIR-AFTER [--rounds 20] [--idle 60] [--store DATA-DIR]
 *
 * With --store, the last one begins with a copy of that data directory, for example one of some years (`npm run virtual -- --years N --keep FILE`).
 * CPU time of a round with one new record per sensor, of one with nothing new, and of idle time with a round every ten seconds. CPU
 * can be compared on a busy machine too, where wall time cannot.
 */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { AgentProcess } from "./agent-process.ts";
import { cpuMs, median, residentMb, sleep, writtenBytes } from "./measure.ts";
import type { MessageCounter } from "./message-counter.ts";
import {
  type BenchOptions,
  DAY,
  dayPlan,
  type Plant,
  roundSensors,
  SETTLED_MS,
  withPlant,
} from "./plant.ts";

const SENSORS = 55;
const WAVEFORMS = 15;

class Side {
  readonly #plant: Plant;
  readonly #program: AgentProcess;
  readonly #counter: MessageCounter;
  readonly fresh: number[] = [];
  readonly unchanged: number[] = [];
  written = 0;
  idleMs = 0;

  constructor(plant: Plant, program: AgentProcess, counter: MessageCounter) {
    this.#plant = plant;
    this.#program = program;
    this.#counter = counter;
  }

  get pid(): number {
    return this.#program.pid;
  }

  async round(readings: number, waveforms: number): Promise<number> {
    const { answered } = await this.#plant.gateway.report();
    const counter = this.#counter;
    const before = cpuMs(this.pid);
    const expected = [counter.readings + readings, counter.waveforms + waveforms] as const;
    await this.#program.round(DAY);
    await counter.expect(...expected);
    await this.#plant.gateway.served(answered, SENSORS);
    await sleep(SETTLED_MS);
    counter.requireNoDoubles();
    return cpuMs(this.pid) - before;
  }

  async freshRound(): Promise<void> {
    await this.#plant.gateway.advance();
    const before = writtenBytes(this.pid);
    this.fresh.push(await this.round(SENSORS, WAVEFORMS));
    this.written += writtenBytes(this.pid) - before;
  }

  poll(): Promise<void> {
    return this.#program.round(DAY);
  }
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: "string", default: "20" },
      idle: { type: "string", default: "60" },
      store: { type: "string" },
    },
  });
  const directory = mkdtempSync(join(tmpdir(), "gateside-pair-"));
  const sides: Side[] = [];
  const within = async (programs: readonly string[], work: () => Promise<void>): Promise<void> => {
    const [program, ...rest] = programs;
    if (program === undefined) return work();
    const options: BenchOptions = {
      program: resolve(program),
      directory: join(directory, `${sides.length}`),
      isQuick: false,
      isFull: false,
      noNodeRed: "not asked for",
      pairs: 1,
      say: () => {},
    };
    await withPlant(options, dayPlan(roundSensors(48, 2048)), async (plant) => {
      const store = rest.length === 0 ? values.store : undefined;
      const aged = join(options.directory, "aged");
      if (store !== undefined) cpSync(store, join(aged, "data"), { recursive: true });
      const agent = await plant.agent({}, store === undefined ? undefined : aged);
      await plant.gateway.open();
      const side = new Side(plant, agent.program, agent.counter);
      await side.round(plant.records, 5 * 48 * 3);
      sides.push(side);
      await within(rest, work);
    });
  };
  await within(positionals, async () => {
    for (let n = 0; n < 5; n++) for (const side of sides) await side.freshRound();
    for (const side of sides) side.fresh.length = side.written = 0;
    for (let n = 0; n < Number(values.rounds); n++)
      for (const side of n % 2 === 0 ? sides : sides.toReversed()) await side.freshRound();
    for (let n = 0; n < Number(values.rounds) / 2; n++)
      for (const side of sides) side.unchanged.push(await side.round(0, 0));
    const before = sides.map(({ pid }) => cpuMs(pid));
    for (let n = 0; n < Number(values.idle) / 10; n++) {
      for (const side of sides) await side.poll();
      await sleep(10_000);
    }
    const polled = sides.map(({ pid }, i) => cpuMs(pid) - (before[i] ?? 0));
    const quiet = sides.map(({ pid }) => cpuMs(pid));
    await sleep(20_000);
    sides.forEach(({ fresh, unchanged, written, pid }, i) => {
      console.log(
        `${positionals[i]}: fresh ${median(fresh).toFixed(1)} ms, ${(written / fresh.length / 1000).toFixed(0)} kB; unchanged ${median(unchanged).toFixed(1)} ms; a round each 10 s ${(polled[i] ?? 0).toFixed(0)} ms in ${values.idle} s; no polls ${((cpuMs(pid) - (quiet[i] ?? 0)) / 20).toFixed(2)} ms a second; resident ${residentMb(pid).now.toFixed(0)} MB`,
      );
    });
  });
  rmSync(directory, { recursive: true, force: true });
}

await main();
