/** Brokers with the rights that `deploy/` ships, and what a client tries at them. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import mqtt, { type IClientOptions, type MqttClient } from "mqtt";
import { type Mosquitto, type MosquittoOptions, startMosquitto } from "./mosquitto.ts";
import type { Rabbitmq } from "./rabbitmq.ts";

interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `rights.sh` of a broker with these words; a user's password is `of USER`. */
export type RunRights = (...words: string[]) => Outcome;

export const passwordOf = (user: string) => `of ${user}`;

function script(path: string, words: readonly string[], env: object): Outcome {
  const user = words.at(words[0]?.startsWith("--") ? 1 : 0) ?? "";
  return spawnSync("bash", [path, ...words], {
    input: `${passwordOf(user)}\n`,
    encoding: "utf8",
    env: { ...process.env, ...env },
  });
}

/** mosquitto with the dynamic security plug-in as it is shipped, everything else denied. */
export async function mosquittoWithRights(options: MosquittoOptions = {}): Promise<{
  readonly broker: Mosquitto;
  readonly rights: RunRights;
  /** The file with the administrator's connection. */
  readonly connection: string;
  close(): Promise<void>;
}> {
  const directory = mkdtempSync(join(tmpdir(), "gateside-rights-"));
  const file = join(directory, "dynamic-security.json");
  spawnSync("mosquitto_ctrl", ["dynsec", "init", file, "admin"], { input: "of-admin\nof-admin\n" });
  const shipped = readFileSync("deploy/mosquitto/mosquitto.conf", "utf8").split("\n");
  const plugin = shipped.find((line) => line.startsWith("plugin ")) ?? "";
  const config = ["allow_anonymous false", plugin, `plugin_opt_config_file ${file}`];
  const broker = await startMosquitto({
    ...options,
    config: [...config, ...(options.config ?? [])],
  });
  const words = ["-h 127.0.0.1", `-p ${broker.port}`, "-u admin", "-P of-admin", ""];
  const connection = join(directory, "mosquitto_ctrl");
  writeFileSync(connection, words.join("\n"), { mode: 0o600 });
  const rights: RunRights = (...words) =>
    script("deploy/mosquitto/rights.sh", words, { XDG_CONFIG_HOME: directory });
  const denied = rights("--deny");
  if (denied.status !== 0) throw new Error(denied.stderr);
  return {
    broker,
    rights,
    connection,
    async close() {
      await broker.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

export function rabbitmqRights(rabbit: Rabbitmq): RunRights {
  return (...words) =>
    script("deploy/rabbitmq/rights.sh", words, {
      PATH: `${rabbit.tools}:${process.env["PATH"]}`,
    });
}

/** The client id that `rights.sh` has printed; throws if it has failed. */
export function clientIdOf({ stdout, stderr }: Outcome): string {
  const id = /^MQTT_USERNAME=\S+\nMQTT_CLIENT_ID=(gateside-\S+)\n$/.exec(stdout)?.[1];
  if (id === undefined) throw new Error(stdout + stderr);
  return id;
}

/** What a client may do; a broker refuses by a reason code or by closing the connection. */
export async function tries(
  url: string,
  options: IClientOptions,
  use: (client: MqttClient) => Promise<unknown>,
): Promise<"allowed" | "refused"> {
  let client: MqttClient;
  try {
    client = await mqtt.connectAsync(url, { reconnectPeriod: 0, connectTimeout: 5000, ...options });
  } catch {
    return "refused";
  }
  client.on("error", () => {});
  const closed = new Promise<"refused">((done) => client.once("close", () => done("refused")));
  const used = use(client).then(
    () => "allowed" as const,
    () => "refused" as const,
  );
  const outcome = await Promise.race([used, closed]);
  await client.endAsync(true);
  return outcome;
}

export const publishing =
  (topic: string, retain = false, payload = "1") =>
  (client: MqttClient) =>
    client.publishAsync(topic, payload, { qos: 1, retain });

export const subscribing = (topic: string) => async (client: MqttClient) => {
  const [grant] = await client.subscribeAsync(topic, { qos: 1 });
  if (grant === undefined || grant.qos > 2) throw new Error("refused");
};

/** Dies with this will. */
export async function dieWith(url: string, options: IClientOptions, will: IClientOptions["will"]) {
  const dying = await mqtt
    .connectAsync(url, { ...options, ...(will === undefined ? {} : { will }), reconnectPeriod: 0 })
    .catch(() => null);
  dying?.on("error", () => {});
  dying?.stream.destroy();
  await dying?.endAsync(true);
}
