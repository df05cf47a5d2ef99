/** The queue that all processes of a group consume, and its binding to what boxes publish. */
import type { Channel } from "amqplib";
import { messageOf } from "../../core/thrown.ts";
import { publicBroker } from "../broker-url.ts";
import type { SourceOptions } from "../delivery.ts";
import { brokerText } from "../unreached.ts";
import { closeSoon, endOf, inTime, open } from "./connection.ts";

/** The exchange of RabbitMQ's MQTT plug-in, with its default name (`mqtt.exchange`). */
const EXCHANGE = "amq.topic";

type QueueOptions = Pick<SourceOptions, "group" | "prefix" | "topics">;

/** Each prefix has its own queue: collectors reject what is not below theirs. */
export function queueName({ group, prefix }: Pick<SourceOptions, "group" | "prefix">): string {
  const suffix = prefix === "gateside" ? "" : `-${prefix.replaceAll("/", ".")}`;
  return `gateside-collect-${group}${suffix}`;
}

/** Rejects if the broker refuses it. */
export async function declareQueue(channel: Channel, options: QueueOptions): Promise<void> {
  const queue = queueName(options);
  await channel.assertQueue(queue, { durable: true, arguments: { "x-queue-type": "quorum" } });
  await channel.bindQueue(queue, EXCHANGE, options.topics.bindingKey);
}

/**
 * Creates queue and binding and ends: RabbitMQ acknowledges what no queue takes, so both exist before the first box
 * publishes. Tries the addresses in turn; rejects if none accepts it.
 */
export async function declareOnce(options: SourceOptions): Promise<string> {
  const failures: string[] = [];
  for (const address of options.addresses) {
    try {
      const connection = await open(address, options.tls);
      try {
        const channel = await inTime(connection.createChannel());
        const refused = endOf(channel).then((reason) => Promise.reject(new Error(reason)));
        await Promise.race([inTime(declareQueue(channel, options)), refused]);
        return queueName(options);
      } finally {
        await closeSoon(connection);
      }
    } catch (error) {
      failures.push(`${publicBroker(address)}: ${brokerText(messageOf(error))}`);
    }
  }
  throw new Error(failures.join("; "));
}
