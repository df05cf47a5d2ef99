import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import mqtt from "mqtt";
import type { Entry } from "../../src/collect/database/sorted-batch.ts";
import { parseMessage } from "../../src/collect/parse/parse-message.ts";
import { DEFAULT_TOPIC, SiteTopics } from "../../src/collect/site-topics.ts";
import { DeadlineError, deadlineMs } from "./deadline.ts";
import { until } from "./wait-until.ts";

const BASE_MS = Date.now() - 3_600_000;

/** A reading as an agent would publish it; `n` makes it another one. */
export function readingPayload(n: number, members: Record<string, unknown> = {}): string {
  const time = new Date(BASE_MS + n * 10).toISOString();
  const sensor = String(100 + (n % 5));
  return JSON.stringify({
    v: 1,
    id: createHash("md5").update(`${n} ${sensor}`).digest("hex"),
    site: "plant-7",
    sensor,
    kind: "rpm",
    name: `Shaft ${sensor}`,
    time,
    values: { rpm: 1480 + n, battery: 3.6 },
    units: { rpm: "rpm", battery: "V" },
    quality: {},
    attributes: { version: 10 },
    historical: true,
    ...members,
  });
}

export const READING_TOPIC = "gateside/plant-7/100/rpm/history";

const TOPICS = new SiteTopics("gateside", DEFAULT_TOPIC);

/** A message as a source has it, received now. */
export function deliveryOf(topic: string, content: string | Uint8Array) {
  const payload = Buffer.from(content);
  return {
    topic,
    dots: "kept" as const,
    payload,
    bytes: payload.length,
    receivedMs: Date.now(),
    acknowledge() {},
  };
}

/** As a source hands it to the writer. */
export function entry(topic: string, text: string | Buffer): Entry {
  const delivery = deliveryOf(topic, text);
  return { delivery, item: parseMessage(delivery, { topics: TOPICS, keepDays: null }) };
}

/** Publishes at QoS 1 and waits for the broker's word for all of them. */
export async function publishAll(
  url: string,
  messages: readonly { topic: string; payload: string | Buffer; retain?: boolean }[],
): Promise<void> {
  // 3.1.1, which RabbitMQ 3.10 speaks, too.
  const client = await mqtt.connectAsync(url, { protocolVersion: 4, reconnectPeriod: 0 });
  try {
    await Promise.all(
      messages.map(({ topic, payload, retain = false }) =>
        client.publishAsync(topic, payload, { qos: 1, retain }),
      ),
    );
  } finally {
    await client.endAsync();
  }
}

export interface CollectProcess {
  readonly child: ChildProcess;
  readonly lines: Record<string, unknown>[];
  /** The first log line with this message, seen before or yet to come. */
  logged(msg: string, timeoutMs?: number): Promise<Record<string, unknown>>;
  /** Sends the signal; the exit code once ended. */
  end(signal?: NodeJS.Signals): Promise<number | null>;
}

const PROGRAM = resolve("dist/launch.js");

/** What to give node:test as `skip` where `gateside collect` runs as a process. */
export const skipWithoutBuild: string | false = existsSync(PROGRAM)
  ? false
  : "dist/ is not built (npm run build)";

/** `gateside collect` as its own process, as it is built. */
export function startCollect(
  from: string,
  to: string,
  extra: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): CollectProcess {
  const child = spawn(
    process.execPath,
    [PROGRAM, "collect", "--from", from, "--to", to, ...extra],
    { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, ...env } },
  );
  const lines: Record<string, unknown>[] = [];
  const waiting = new Set<() => void>();
  let rest = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    const parts = (rest + chunk.toString()).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) lines.push(JSON.parse(part) as Record<string, unknown>);
    for (const look of waiting) look();
  });
  const ended = new Promise<number | null>((done) => child.once("exit", (code) => done(code)));
  return {
    child,
    lines,
    logged: (msg, timeoutMs = 30_000) =>
      new Promise((done, fail) => {
        const timer = setTimeout(() => {
          waiting.delete(look);
          fail(
            new DeadlineError(
              `not logged: ${msg}\n${lines.map((l) => JSON.stringify(l)).join("\n")}`,
            ),
          );
        }, deadlineMs(timeoutMs));
        const look = () => {
          const line = lines.find((l) => l["msg"] === msg);
          if (line === undefined) return;
          clearTimeout(timer);
          waiting.delete(look);
          done(line);
        };
        waiting.add(look);
        look();
      }),
    end: (signal = "SIGTERM") => {
      child.kill(signal);
      return ended;
    },
  };
}

/** Reads until the result passes, and returns it; rejects with the last result after `timeoutMs`. */
export async function readUntil<T>(
  read: () => Promise<T>,
  passes: (result: T) => boolean,
  timeoutMs = 30_000,
): Promise<T> {
  let result: T | undefined;
  const look = async () => {
    result = await read();
    return passes(result) ? result : undefined;
  };
  return until(() => `the last result is ${JSON.stringify(result)}`, look, timeoutMs);
}
