/** The agent as the package runs it, under attack: started with the unit's flags, watched from outside. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..", "..");

/** What ExecStart of the unit gives Node. */
function unitFlags(): string[] {
  const unit = readFileSync(join(ROOT, "systemd", "gateside.service"), "utf8");
  const line = /^ExecStart=\S+ (.*) \S+(?:launch|gateside)\.js/m.exec(unit);
  if (line?.[1] === undefined) throw new Error("the unit has no ExecStart as expected");
  return line[1].split(" ");
}

/** MemoryHigh of the unit, MB. */
export function memoryHighMb(): number {
  const unit = readFileSync(join(ROOT, "systemd", "gateside.service"), "utf8");
  return Number(/^MemoryHigh=(\d+)M/m.exec(unit)?.[1]);
}

export interface Victim {
  readonly url: string;
  readonly directory: string;
  /** Everything it wrote to its log. */
  log(): string;
  hasEnded(): boolean;
  metrics(): Promise<string>;
  /** Peak of resident memory, MB, from the kernel's account. */
  peakMb(): number;
  /** Longest time that its event loop was blocked since it was ready, ms. */
  longestHoldMs(): number;
  stop(): Promise<void>;
}

export async function startVictim(
  site: object,
  settings: Readonly<Record<string, string>>,
): Promise<Victim> {
  const directory = mkdtempSync(join(tmpdir(), "gateside-attack-"));
  const holdFile = join(directory, "loop-hold");
  writeFileSync(join(directory, "site.json"), JSON.stringify(site));
  const child: ChildProcess = spawn(
    process.execPath,
    [
      ...unitFlags(),
      "--import",
      join(import.meta.dirname, "loop-hold.mjs"),
      join(ROOT, "dist", "gateside.js"),
      "run",
    ],
    {
      cwd: directory,
      env: {
        PATH: process.env["PATH"] ?? "",
        MALLOC_ARENA_MAX: "1",
        LOOP_HOLD_FILE: holdFile,
        SITE_FILE: "site.json",
        DATA_DIR: "data",
        MQTT_URL: "mqtt://127.0.0.1:9",
        HTTP_PORT: "0",
        BACKFILL_DAYS: "0",
        ...settings,
      },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let log = "";
  child.stdout?.on("data", (text: Buffer) => {
    log += text.toString();
  });
  child.stderr?.on("data", (text: Buffer) => {
    log += text.toString();
  });
  const ended = once(child, "exit");
  const url = await waitFor(
    () => /"address":"(http:[^"]+)"/.exec(log)?.[1],
    30_000,
    () => log,
  );
  writeFileSync(`${holdFile}.go`, "");
  const status = `/proc/${child.pid}/status`;
  let peak = 0;
  const look = () => {
    if (!existsSync(status)) return;
    const found = /VmHWM:\s+(\d+) kB/.exec(readFileSync(status, "utf8"));
    peak = Math.max(peak, Number(found?.[1] ?? 0) / 1_024);
  };
  return {
    url,
    directory,
    log: () => log,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    metrics: async () => (await fetch(`${url}/metrics`)).text(),
    peakMb: () => {
      look();
      return peak;
    },
    longestHoldMs: () => (existsSync(holdFile) ? Number(readFileSync(holdFile, "utf8")) : 0),
    async stop() {
      look();
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), 15_000);
      await ended;
      clearTimeout(timer);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Waits for a value; throws with details if it does not appear. */
export async function waitFor<T>(
  look: () => T | undefined | null | false | Promise<T | undefined | null | false>,
  timeoutMs: number,
  say: () => string = () => "",
): Promise<T> {
  const until = Date.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== null && found !== false) return found;
    if (Date.now() > until) throw new Error(`nothing came within ${timeoutMs} ms\n${say()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
