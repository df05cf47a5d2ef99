/** The broker of a run, with a relay on each side: to the boxes and to the collectors. */
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "amqplib";
import type { IClientOptions } from "mqtt";
import { startMosquitto } from "../../test/support/mosquitto.ts";
import { openRabbitmqCluster } from "../../test/support/rabbitmq.ts";
import {
  clientIdOf,
  mosquittoWithRights,
  passwordOf,
  type RunRights,
  rabbitmqRights,
} from "../../test/support/rights.ts";
import { Relay } from "../chaos/relay.ts";

export interface CabledBroker {
  /** MQTT_URL of the boxes, through their relays. */
  readonly boxUrl: string;
  /** Settings that a box needs with this broker. */
  boxEnv(site: string, prefix: string): Record<string, string>;
  /** A client's way to it without a relay, and as whom: with rights, the site's user. */
  readonly clientUrl: string;
  login(site: string, prefix: string): IClientOptions;
  /** COLLECT_FROM, through the collectors' relays. */
  readonly from: string;
  readonly boxCables: readonly Relay[];
  readonly collectorCables: readonly Relay[];
  /** What can be done to it, by name. */
  readonly faults: readonly (readonly [string, () => Promise<unknown>])[];
  close(): Promise<void>;
}

/** How long a queue may take, ms. */
const QUEUE_MS = 180_000;

/** Waits until the queue of the default group exists and has a consumer. */
export async function queueStands(
  amqpUrl: string,
  queue = "gateside-collect-gateside",
): Promise<void> {
  for (const end = Date.now() + QUEUE_MS; Date.now() < end; ) {
    try {
      const connection = await connect(amqpUrl);
      connection.on("error", () => {});
      try {
        const channel = await connection.createChannel();
        channel.on("error", () => {});
        const { consumerCount } = await channel.checkQueue(queue);
        if (consumerCount > 0) return;
      } finally {
        await connection.close().catch(() => {});
      }
    } catch {
      // Not yet.
    }
    await sleep(300);
  }
  throw new Error(`no collector consumes ${queue}`);
}

export async function openRelay(port: number): Promise<Relay> {
  const relay = new Relay(port);
  await relay.listen();
  return relay;
}

/** Users of boxes, made when first asked for; without rights, anybody may do anything. */
class Logins {
  readonly #rights: RunRights | null;
  readonly #version: 4 | 5;
  readonly #ids = new Map<string, string>();

  constructor(rights: RunRights | null, version: 4 | 5) {
    this.#rights = rights;
    this.#version = version;
  }

  of(site: string, prefix: string): IClientOptions {
    const protocolVersion = this.#version;
    if (this.#rights === null) return { protocolVersion };
    const id = this.#ids.get(site) ?? clientIdOf(this.#rights(site, prefix));
    this.#ids.set(site, id);
    return { protocolVersion, username: site, password: passwordOf(site), clientId: id };
  }

  env(site: string, prefix: string): Record<string, string> {
    const { username, clientId } = this.of(site, prefix);
    if (username === undefined) return {};
    return {
      MQTT_USERNAME: username,
      MQTT_PASSWORD: passwordOf(site),
      MQTT_CLIENT_ID: clientId ?? "",
    };
  }
}

/** User and password of the collectors, as a part of their address. */
function readerOf(rights: RunRights): string {
  rights("--reader", "collector");
  return `collector:${encodeURIComponent(passwordOf("collector"))}`;
}

/** mosquitto, one process. */
export async function cabledMosquitto(hasRights: boolean): Promise<CabledBroker> {
  const options = {
    persistence: true,
    receiveMaximum: 1000,
    // Written only at a restart; after each change, it would do nothing else.
    config: ["autosave_on_changes false", "max_queued_messages 1000000"],
  };
  const guarded = hasRights ? await mosquittoWithRights(options) : null;
  const broker = guarded?.broker ?? (await startMosquitto(options));
  const logins = new Logins(guarded?.rights ?? null, 5);
  const reader = guarded === null ? "" : `${readerOf(guarded.rights)}@`;
  const box = await openRelay(broker.port);
  const collector = await openRelay(broker.port);
  return {
    boxUrl: box.url,
    boxEnv: (site, prefix) => ({
      // mosquitto 2.0 forgets shared subscriptions at a restart: a message without a subscriber must not count as delivered.
      MQTT_REQUIRE_SUBSCRIBER: "true",
      ...logins.env(site, prefix),
    }),
    clientUrl: broker.url,
    login: (site, prefix) => logins.of(site, prefix),
    from: collector.url.replace("//", `//${reader}`),
    boxCables: [box],
    collectorCables: [collector],
    faults: [["restart of the broker", () => broker.restart()]],
    async close() {
      await Promise.all([box.close(), collector.close()]);
      await (guarded ?? broker).close();
    },
  };
}

/** A RabbitMQ cluster with its MQTT plug-in; collectors read a quorum queue. */
export async function cabledRabbitmq(
  size: number,
  random: () => number,
  hasRights: boolean,
): Promise<CabledBroker> {
  const nodes = await openRabbitmqCluster(size);
  const [first] = nodes;
  if (first === undefined) throw new Error("no nodes");
  const rights = hasRights ? rabbitmqRights(first) : null;
  const logins = new Logins(rights, 4);
  const reader = rights === null ? "guest:guest" : readerOf(rights);
  const boxCables = await Promise.all(nodes.map(({ mqttUrl }) => openRelay(portOf(mqttUrl))));
  const collectorCables = await Promise.all(nodes.map(({ amqpUrl }) => openRelay(portOf(amqpUrl))));
  const killAndStart = async (some: typeof nodes) => {
    await Promise.all(some.map((node) => node.kill()));
    await Promise.all(some.map((node) => node.start()));
  };
  return {
    boxUrl: boxCables.map(({ url }) => url).join(","),
    boxEnv: (site, prefix) => ({ MQTT_VERSION: "4", ...logins.env(site, prefix) }),
    clientUrl: first.mqttUrl,
    login: (site, prefix) => logins.of(site, prefix),
    from: collectorCables.map(({ url }) => url.replace("mqtt://", `amqp://${reader}@`)).join(","),
    boxCables,
    collectorCables,
    faults: [
      [
        "kill -9 of a broker node",
        () => killAndStart(nodes.slice(Math.floor(random() * size)).slice(0, 1)),
      ],
      ["kill -9 of the whole cluster", () => killAndStart(nodes)],
      [
        "a broker node frozen for 20 s",
        async () => {
          const { pid } = nodes[Math.floor(random() * size)] ?? {};
          if (pid === undefined) return;
          process.kill(-pid, "SIGSTOP");
          await sleep(20_000);
          process.kill(-pid, "SIGCONT");
        },
      ],
      [
        "rolling restart of the broker's nodes",
        async () => {
          for (const node of nodes) {
            await node.kill();
            await node.start();
          }
        },
      ],
    ],
    async close() {
      await Promise.all([...boxCables, ...collectorCables].map((cable) => cable.close()));
      await Promise.all(nodes.map((node) => node.close()));
    },
  };
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}
