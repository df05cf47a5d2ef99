/** The broker of a run, with a relay on each side: to the boxes and to the collectors. */
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "amqplib";
import { startMosquitto } from "../../test/support/mosquitto.ts";
import { openRabbitmqCluster } from "../../test/support/rabbitmq.ts";
import { Relay } from "../chaos/relay.ts";

export interface CabledBroker {
  /** MQTT_URL of the boxes, through their relays. */
  readonly boxUrl: string;
  /** Settings that boxes need with this broker. */
  readonly boxEnv: Readonly<Record<string, string>>;
  /** COLLECT_FROM, through the collectors' relays. */
  readonly from: string;
  readonly boxCables: readonly Relay[];
  readonly collectorCables: readonly Relay[];
  /** What can be done to it, by name. */
  readonly faults: readonly (readonly [string, () => Promise<unknown>])[];
  close(): Promise<void>;
}

/** Waits until the queue of the default group exists and has a consumer. */
export async function queueStands(
  amqpUrl: string,
  queue = "gateside-collect-gateside",
): Promise<void> {
  for (;;) {
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
}

export async function openRelay(port: number): Promise<Relay> {
  const relay = new Relay(port);
  await relay.listen();
  return relay;
}

/** mosquitto, one process. */
export async function cabledMosquitto(): Promise<CabledBroker> {
  const broker = await startMosquitto({
    persistence: true,
    receiveMaximum: 1000,
    // Written only at a restart; after each change, it would do nothing else.
    config: ["autosave_on_changes false"],
  });
  const box = await openRelay(broker.port);
  const collector = await openRelay(broker.port);
  return {
    boxUrl: box.url,
    // mosquitto 2.0 forgets shared subscriptions at a restart: a message without a subscriber must not count as delivered.
    boxEnv: { MQTT_REQUIRE_SUBSCRIBER: "true" },
    from: collector.url,
    boxCables: [box],
    collectorCables: [collector],
    faults: [["restart of the broker", () => broker.restart()]],
    async close() {
      await Promise.all([box.close(), collector.close()]);
      await broker.close();
    },
  };
}

/** A RabbitMQ cluster with its MQTT plug-in; collectors read a quorum queue. */
export async function cabledRabbitmq(size: number, random: () => number): Promise<CabledBroker> {
  const nodes = await openRabbitmqCluster(size);
  const boxCables = await Promise.all(nodes.map(({ mqttUrl }) => openRelay(portOf(mqttUrl))));
  const collectorCables = await Promise.all(nodes.map(({ amqpUrl }) => openRelay(portOf(amqpUrl))));
  const killAndStart = async (some: typeof nodes) => {
    await Promise.all(some.map((node) => node.kill()));
    await Promise.all(some.map((node) => node.start()));
  };
  return {
    boxUrl: boxCables.map(({ url }) => url).join(","),
    boxEnv: { MQTT_VERSION: "4" },
    from: collectorCables.map(({ url }) => url.replace("mqtt://", "amqp://guest:guest@")).join(","),
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
