/** The built agent as a process, next to a canned gateway and a broker. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { CannedSensor } from "./canned-gateway.ts";
import { cpuMs, sleep } from "./measure.ts";

/** Flags that the packages start it with; see systemd/gateside.service. */
export const NODE_FLAGS = [
  "--max-semi-space-size=4",
  "--max-old-space-size=128",
  "--single-threaded-gc",
  "--no-separate-gc-phases",
] as const;

/** Builds from before the launcher do not have it. */
export function entryOf(program: string): string {
  return existsSync(join(program, "launch.js")) ? "launch.js" : "gateside.js";
}

export interface AgentOptions {
  /** Directory of the built bundle. */
  readonly program: string;
  readonly directory: string;
  readonly gatewayUrl: string;
  readonly brokerUrl: string;
  readonly sensors: readonly CannedSensor[];
  readonly env?: Readonly<Record<string, string>>;
  readonly nodeFlags?: readonly string[];
  /** Runtime, by default that of the bench. */
  readonly node?: string;
  /** File that is started, by default what the package starts. */
  readonly entry?: string;
}

export class AgentProcess {
  readonly #child: ChildProcess;
  readonly address: string;
  readonly pid: number;
  readonly dataDir: string;
  /** CPU until HTTP answered, ms. */
  readonly listeningCpuMs: number;

  private constructor(child: ChildProcess, address: string, dataDir: string) {
    this.#child = child;
    this.address = address;
    this.dataDir = dataDir;
    this.pid = child.pid ?? 0;
    this.listeningCpuMs = cpuMs(this.pid);
  }

  static async start(options: AgentOptions): Promise<AgentProcess> {
    mkdirSync(options.directory, { recursive: true });
    const siteFile = join(options.directory, "site.json");
    const dataDir = join(options.directory, "data");
    writeFileSync(siteFile, JSON.stringify(siteOf(options.sensors)));
    const child = spawn(
      options.node ?? process.execPath,
      [
        ...(options.nodeFlags ?? NODE_FLAGS),
        join(options.program, options.entry ?? entryOf(options.program)),
        "run",
      ],
      {
        cwd: options.directory,
        stdio: ["ignore", "pipe", "inherit"],
        env: {
          PATH: process.env["PATH"] ?? "",
          MALLOC_ARENA_MAX: "1",
          GATEWAY_URL: options.gatewayUrl,
          GATEWAY_TIMEZONE: "UTC",
          MQTT_URL: options.brokerUrl,
          SITE_FILE: siteFile,
          DATA_DIR: dataDir,
          HTTP_PORT: "0",
          POLL_INTERVAL_S: "3600",
          BACKFILL_DAYS: "0",
          LATE_GRACE_S: "0",
          PUBLISH_WAVEFORMS: "always",
          ...options.env,
        },
      },
    );
    const address = await new Promise<string>((resolve, reject) => {
      child.once("exit", (code) => reject(new Error(`the agent ended with ${code}`)));
      createInterface({ input: child.stdout as NodeJS.ReadableStream }).on("line", (line) => {
        // Output of flags such as --trace-deopt is not the agent's log.
        if (!line.startsWith("{")) return void process.stderr.write(`${line}\n`);
        const entry = JSON.parse(line) as { msg: string; level: number; address?: string };
        if (entry.address !== undefined) resolve(entry.address);
        if (entry.level >= 50) process.stderr.write(`${line}\n`);
      });
    });
    return new AgentProcess(child, address, dataDir);
  }

  /**
   * Requests one read of every sensor's day: what a poll round does, at a time of our choice. The last responses of the
   * previous round may still wait for their commit; then it asks again.
   */
  async round(day: string): Promise<void> {
    for (let tries = 0; ; tries++) {
      const answer = await fetch(`${this.address}/api/v1/backfill`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ from: day, to: day }),
      });
      const text = await answer.text();
      if (answer.status === 202) return;
      if (answer.status !== 409 || tries > 1000) throw new Error(`${answer.status} ${text}`);
      await sleep(20);
    }
  }

  /** One value of /metrics. Labels besides the given one do not matter. Throws if there is none. */
  async metric(name: string, label = ""): Promise<number> {
    const text = await (await fetch(`${this.address}/metrics`)).text();
    const line = text
      .split("\n")
      .find((other) => /^[a-z_]+/.exec(other)?.[0] === name && other.includes(label));
    if (line === undefined) throw new Error(`/metrics has no ${name} with ${label}`);
    return Number(line.slice(line.lastIndexOf(" ")));
  }

  async json<T>(path: string): Promise<T> {
    return (await (await fetch(this.address + path)).json()) as T;
  }

  /** Another site file, and the signal to read it. */
  reload(sensors: readonly CannedSensor[]): void {
    writeFileSync(join(dirname(this.dataDir), "site.json"), JSON.stringify(siteOf(sensors)));
    process.kill(this.pid, "SIGHUP");
  }

  /** May be called again: a row that stops its agent early ends like any other. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGTERM");
    await ended;
  }
}

export function siteOf(sensors: readonly CannedSensor[]) {
  return {
    site: "bench",
    sensors: sensors.map(({ code, kind }) => ({
      code,
      type: kind === "accel" ? 3 : 40,
      kinds: [kind],
      ...(kind === "accel" ? { machineClass: "group2-rigid", speedRpm: 1480 } : {}),
    })),
  };
}
