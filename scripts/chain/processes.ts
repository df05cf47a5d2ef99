/** The programs of the chain as processes that are killed and started again. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Client } from "pg";
import type { Simulator } from "../../src/simulator/simulator.ts";
import { cpuMs } from "../bench/measure.ts";

const PROGRAM = resolve("dist/gateside.js");

/** A process that is started again whenever it is killed. */
export class Kept {
  readonly #start: () => ChildProcess;
  #child: ChildProcess;

  constructor(start: () => ChildProcess) {
    this.#start = start;
    this.#child = start();
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async kill(): Promise<void> {
    await this.end("SIGKILL");
    this.start();
  }

  start(): void {
    this.#child = this.#start();
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((done) => child.once("exit", done));
    child.kill(signal);
    await ended;
  }
}

/** A command of the built program; its log at level `error` goes to our standard error. */
export function program(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): ChildProcess {
  return spawn(process.execPath, [PROGRAM, ...words], {
    env: { PATH: process.env["PATH"], LOG_LEVEL: "error", ...env },
    stdio: ["ignore", "ignore", "inherit"],
  });
}

/** A real agent on a simulated gateway; it keeps its directory when killed and restarted. */
export function createAgent(options: {
  readonly simulator: Simulator;
  readonly site: string;
  readonly home: string;
  readonly brokerUrl: string;
  readonly env?: Readonly<Record<string, string>>;
}): Kept {
  const { simulator, site, home, brokerUrl } = options;
  mkdirSync(home);
  const siteFile = join(home, "site.json");
  writeFileSync(siteFile, JSON.stringify(simulator.siteFile(site)));
  const env = {
    GATEWAY_URL: simulator.url,
    GATEWAY_TIMEZONE: "UTC",
    MQTT_URL: brokerUrl,
    SITE_FILE: siteFile,
    DATA_DIR: join(home, "data"),
    HTTP_PORT: "off",
    POLL_INTERVAL_S: "2",
    BACKFILL_DAYS: "0",
    PUBLISH_WAVEFORMS: "never",
    ...options.env,
  };
  return new Kept(() => program(["run"], env));
}

/** A process and everything it has started, as process ids. */
export function processTree(pid: number): readonly number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const parent = Number(
        /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${name}/status`, "utf8"))?.[1],
      );
      children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
    } catch {
      // It has ended in the meantime.
    }
  }
  const below = (root: number): number[] => [root, ...(children.get(root) ?? []).flatMap(below)];
  return below(pid);
}

/** CPU of a process and of everything it has started, ms. */
export function treeCpuMs(pid: number): number {
  return processTree(pid).reduce((total, one) => total + ownCpuMs(one), 0);
}

function ownCpuMs(pid: number): number {
  try {
    return cpuMs(pid);
  } catch {
    return 0;
  }
}

export async function ask<R extends object>(url: string, sql: string): Promise<R[]> {
  const client = new Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query<R>(sql)).rows;
  } finally {
    await client.end();
  }
}
