/** A site around a fake gateway: a real broker, a subscriber, and the built program as its agent. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import {
  type FakeGateway,
  type GatewayCall,
  type GatewayReply,
  startFakeGateway,
} from "./fake-gateway.ts";
import {
  type Mosquitto,
  type MosquittoOptions,
  type RecordingSubscriber,
  recordMessages,
  type SeenMessage,
  startMosquitto,
} from "./mosquitto.ts";
import { type BuiltAgent, spawnAgent } from "./plant.ts";

export interface FakeSiteOptions {
  readonly answer: (call: GatewayCall) => string | GatewayReply;
  readonly sensors: readonly Readonly<Record<string, unknown>>[];
  readonly site?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly broker?: MosquittoOptions;
}

export interface FakeSite {
  readonly gateway: FakeGateway;
  readonly broker: Mosquitto;
  readonly messages: RecordingSubscriber;
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  startAgent(env?: Readonly<Record<string, string>>): BuiltAgent;
}

/** Everything is taken down when the test ends. */
export async function startFakeSite(t: TestContext, options: FakeSiteOptions): Promise<FakeSite> {
  const directory = mkdtempSync(join(tmpdir(), "gateside-contract-"));
  const gateway = await startFakeGateway(t, options.answer);
  const broker = await startMosquitto(options.broker);
  const messages = await recordMessages(broker.url);
  const agents: BuiltAgent[] = [];
  t.after(async () => {
    for (const agent of agents) await agent.kill();
    await messages.close();
    await broker.close();
    rmSync(directory, { recursive: true, force: true });
  });
  writeFileSync(
    join(directory, "site.json"),
    JSON.stringify({ site: options.site ?? "plant-7", sensors: options.sensors }),
  );
  const env = {
    GATEWAY_URL: gateway.url,
    GATEWAY_TIMEZONE: "UTC",
    MQTT_URL: broker.url,
    SITE_FILE: "site.json",
    DATA_DIR: "data",
    HTTP_PORT: "0",
    POLL_INTERVAL_S: "1",
    COMMIT_INTERVAL_S: "0",
    BACKFILL_DAYS: "0",
    DISK_FREE_MIN_MB: "0",
    ...options.env,
  };
  return {
    gateway,
    broker,
    messages,
    directory,
    env,
    startAgent(more = {}) {
      const agent = spawnAgent({ ...env, ...more }, directory);
      agents.push(agent);
      return agent;
    },
  };
}

/** The JSON payload of a message. */
export function payloadOf(message: SeenMessage | undefined): Record<string, unknown> {
  const value: unknown = JSON.parse(message?.text ?? "null");
  return typeof value === "object" && value !== null ? { ...value } : {};
}
