/**
 * Node-RED doing the same job (node-red/flow.json): http request → function → sqlite (WAL) → mqtt out QoS 1. Installed on
 * demand into .cache/node-red, apart from the project's own packages.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import type { CannedSensor } from "./canned-gateway.ts";
import { sleep } from "./measure.ts";

const CACHE = resolve(".cache", "node-red");
const NODE_MODULES = join(CACHE, "node_modules");
/** The packages of the baseline; sqlite3 is compiled if no prebuilt module fits. */
const PACKAGE = {
  name: "bench-node-red",
  private: true,
  dependencies: { "node-red": "4.1.0", "node-red-node-sqlite": "1.1.1" },
  allowScripts: { sqlite3: true },
};
const INSTALL_TIMEOUT_MS = 900_000;

/** Null if it is installed or could be installed, otherwise why not. */
export async function installNodeRed(): Promise<string | null> {
  const program = join(NODE_MODULES, "node-red", "red.js");
  const native = join(NODE_MODULES, "sqlite3", "build", "Release", "node_sqlite3.node");
  if (existsSync(program) && existsSync(native)) return null;
  mkdirSync(CACHE, { recursive: true });
  writeFileSync(join(CACHE, "package.json"), `${JSON.stringify(PACKAGE, null, 2)}\n`);
  process.stderr.write("installing Node-RED for the comparison, once …\n");
  const npm = (...words: string[]) =>
    promisify(execFile)("npm", words, { cwd: CACHE, timeout: INSTALL_TIMEOUT_MS });
  try {
    await npm("install", "--no-audit", "--no-fund", "--prefix", CACHE);
    if (!existsSync(native)) await npm("rebuild", "sqlite3", "--prefix", CACHE);
    return existsSync(native) ? null : "its sqlite3 module could not be built";
  } catch (error) {
    return error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
  }
}

export interface NodeRedOptions {
  readonly directory: string;
  readonly gatewayUrl: string;
  readonly brokerPort: number;
  readonly sensors: readonly CannedSensor[];
}

export class NodeRedProcess {
  readonly #child: ChildProcess;
  readonly #url: string;
  readonly pid: number;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.#url = url;
    this.pid = child.pid ?? 0;
  }

  static async start(options: NodeRedOptions): Promise<NodeRedProcess> {
    mkdirSync(options.directory, { recursive: true });
    const port = await freePort();
    const flow = join(options.directory, "flow.json");
    copyFileSync(join("scripts", "bench", "node-red", "flow.json"), flow);
    const child = spawn(
      process.execPath,
      [
        join(NODE_MODULES, "node-red", "red.js"),
        "--settings",
        resolve("scripts", "bench", "node-red", "settings.cjs"),
        "--userDir",
        options.directory,
      ],
      {
        cwd: CACHE,
        stdio: ["ignore", "ignore", "inherit"],
        env: {
          PATH: process.env["PATH"] ?? "",
          HOME: options.directory,
          NODE_PATH: NODE_MODULES,
          BENCH_PORT: `${port}`,
          BENCH_FLOW: flow,
          BENCH_DB: join(options.directory, "rows.db"),
          BENCH_BROKER_PORT: `${options.brokerPort}`,
          BENCH_GATEWAY: options.gatewayUrl,
          BENCH_SENSORS: JSON.stringify(options.sensors.map(({ code, kind }) => ({ code, kind }))),
        },
      },
    );
    const red = new NodeRedProcess(child, `http://127.0.0.1:${port}`);
    for (let tries = 0; ; tries++) {
      const answer = await fetch(`${red.#url}/setup`).catch(() => null);
      if (answer?.ok) return red;
      if (tries > 300 || child.exitCode !== null) throw new Error("Node-RED did not start");
      await sleep(100);
    }
  }

  async round(day: string): Promise<void> {
    await (await fetch(`${this.#url}/round?day=${day}`)).arrayBuffer();
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((done) => this.#child.once("exit", done));
    this.#child.kill("SIGKILL");
    await ended;
  }
}

function freePort(): Promise<number> {
  return new Promise((done) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => done(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
