import { randomUUID } from "node:crypto";
import { Duplex } from "node:stream";
import { type Channel, type ChannelModel, type ConsumeMessage, connect } from "amqplib";
import type { Clock, Logger } from "../../core/ports.ts";
import { type BrokerAddress, publicBroker, tlsOptions } from "../broker-url.ts";
import { ClusterSessions } from "../cluster-sessions.ts";
import { messageOf } from "../database/failure.ts";
import {
  boundedPayload,
  type PendingDelivery,
  type Source,
  type SourceOptions,
} from "../delivery.ts";
import type { Inbox } from "../inbox.ts";
import type { BrokerTls } from "../options.ts";
import { ReadGate } from "./read-gate.ts";

export interface AmqpSourceParts {
  readonly inbox: Inbox;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The exchange of RabbitMQ's MQTT plug-in, with its default name (`mqtt.exchange`). */
const EXCHANGE = "amq.topic";
/** Messages that the broker may send before it waits for us follow their size: as many as have about these bytes. */
const PREFETCH_BYTES = 24 << 20;
/** The largest messages have 4 MB; and two batches of small ones. */
const PREFETCH_MIN = 6;
const PREFETCH_MAX = 10_000;
/** Messages over which their size is averaged. */
const AVERAGED = 50;
const HEARTBEAT_S = 30;
const CONNECT_TIMEOUT_MS = 20_000;
/** A starting node accepts connections and requests, and may never answer them; after this there is another attempt, ms. */
const SETUP_TIMEOUT_MS = 10_000;
/** The same for closing, ms. */
const CLOSE_TIMEOUT_MS = 2000;

/**
 * A quorum queue that all processes of a group consume, bound to what boxes publish through RabbitMQ's MQTT plug-in.
 */
export class AmqpSource implements Source {
  readonly #parts: AmqpSourceParts;
  readonly #options: SourceOptions;
  readonly #sessions: ClusterSessions;
  readonly #queue: string;
  #channel: Channel | null = null;
  #consumer: string | null = null;
  #gate: ReadGate | null = null;
  #isPaused = false;
  #prefetch = PREFETCH_MIN;
  /** Average size of the last messages, bytes. */
  #meanBytes: number | null = null;
  #isChanging = false;

  constructor(parts: AmqpSourceParts, options: SourceOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#sessions = new ClusterSessions(options.addresses, parts);
    this.#queue = queueName(options);
  }

  get isConnected(): boolean {
    return this.#channel !== null;
  }

  run(signal: AbortSignal): Promise<void> {
    // AMQP has no client id: one for the life of the process.
    this.#sessions.beginAtOwn(randomUUID());
    return this.#sessions.run((onOpen, ending) => this.#session(ending, onOpen), signal);
  }

  /** amqplib writes at once. */
  flush(): void {}

  /** Not a byte more is read, whatever the broker has sent. */
  pause(): void {
    this.#isPaused = true;
    this.#gate?.close();
  }

  resume(): void {
    this.#isPaused = false;
    this.#gate?.open();
  }

  async #session(signal: AbortSignal, onOpen: () => void): Promise<void> {
    const address = this.#sessions.address;
    const connection = await open(address, this.#options.tls);
    const ended = endOf(connection);
    const gate = new ReadGate(connection);
    const end = () => {
      gate.open();
      return closeSoon(connection);
    };
    const onAbort = () => void end();
    try {
      const channel = await inTime(connection.createChannel());
      const channelEnded = endOf(channel);
      await inTime(this.#setUp(channel));
      this.#gate = gate;
      if (this.#isPaused) gate.close();
      onOpen();
      const broker = publicBroker(address);
      this.#parts.logger.info({ broker, queue: this.#queue }, "connected");
      signal.addEventListener("abort", onAbort, { once: true });
      if (signal.aborted) onAbort();
      const reason = await Promise.race([ended, channelEnded]);
      if (!signal.aborted) throw new Error(reason);
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#channel = null;
      this.#gate = null;
      await end();
    }
  }

  async #setUp(channel: Channel): Promise<void> {
    await declareQueue(channel, this.#options);
    await this.#consume(channel);
    this.#channel = channel;
  }

  /** The limit of a consumer is that of the moment when it begins. */
  async #consume(channel: Channel): Promise<void> {
    await channel.prefetch(this.#prefetch);
    const { consumerTag } = await channel.consume(this.#queue, (message) =>
      this.#receive(channel, message),
    );
    this.#consumer = consumerTag;
  }

  /** Begins to consume anew once the limit is far from what fits. */
  #followSize(channel: Channel, bytes: number): void {
    const mean = this.#meanBytes ?? bytes;
    this.#meanBytes = mean + (bytes - mean) / AVERAGED;
    const wanted = Math.floor(PREFETCH_BYTES / Math.max(this.#meanBytes, 1));
    const next = Math.min(PREFETCH_MAX, Math.max(PREFETCH_MIN, wanted));
    if (this.#isChanging || (next < this.#prefetch * 2 && next > this.#prefetch / 2)) return;
    if (next === this.#prefetch || this.#consumer === null) return;
    this.#isChanging = true;
    const tag = this.#consumer;
    this.#prefetch = next;
    // A failure ends the channel, and the next session begins with the new limit.
    void channel
      .cancel(tag)
      .then(() => this.#consume(channel))
      .catch(() => {})
      .finally(() => {
        this.#isChanging = false;
      });
  }

  /** Null if the broker has ended the consumer: the queue was deleted, or its node is gone. */
  #receive(channel: Channel, message: ConsumeMessage | null): void {
    if (message === null) {
      channel.emit("error", new Error("the broker ended the consumer"));
      return;
    }
    const delivery: PendingDelivery = {
      topic: topicOf(message),
      dots: "levels",
      payload: boundedPayload(message.content),
      bytes: message.content.length,
      receivedMs: this.#parts.clock.now(),
      acknowledge: () => {
        if (this.#channel === channel) channel.ack(tagOnly(message));
      },
    };
    this.#parts.inbox.push(delivery);
    this.#followSize(channel, delivery.bytes);
  }
}

type QueueOptions = Pick<SourceOptions, "group" | "prefix" | "topics">;

/** Each prefix has a queue of its own: collectors reject what is not below theirs. */
function queueName({ group, prefix }: Pick<SourceOptions, "group" | "prefix">): string {
  const suffix = prefix === "gateside" ? "" : `-${prefix.replaceAll("/", ".")}`;
  return `gateside-collect-${group}${suffix}`;
}

async function declareQueue(channel: Channel, options: QueueOptions): Promise<void> {
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
      failures.push(`${publicBroker(address)}: ${messageOf(error)}`);
    }
  }
  throw new Error(failures.join("; "));
}

async function open(address: BrokerAddress, tls: BrokerTls): Promise<ChannelModel> {
  const url = new URL(address.url);
  url.searchParams.set("heartbeat", String(HEARTBEAT_S));
  const connecting = connect(url.href, {
    ...tlsOptions(tls),
    timeout: CONNECT_TIMEOUT_MS,
    servername: address.host,
    clientProperties: { connection_name: "gateside collect" },
  });
  // One that arrives nevertheless is not used any more.
  return inTime(connecting).catch((error: unknown) => {
    connecting.then(closeSoon, () => {});
    throw error;
  });
}

/**
 * Boxes publish over MQTT. A client that reaches the AMQP port may let a message return from a queue of its own under
 * any routing key, which then proves nothing: such a topic is below no prefix.
 */
function topicOf({ fields, properties }: ConsumeMessage): string {
  const topic = fields.routingKey.replaceAll(".", "/");
  return properties.headers?.["x-death"] === undefined ? topic : `/dead-lettered/${topic}`;
}

/** `ack` needs only the delivery tag; the message's content must not be held until then. */
function tagOnly({ fields, properties }: ConsumeMessage): ConsumeMessage {
  return { fields, properties, content: EMPTY };
}
const EMPTY = Buffer.alloc(0);

function endOf(part: ChannelModel | Channel): Promise<string> {
  return new Promise((resolve) => {
    part.on("error", (error: Error) => resolve(messageOf(error)));
    part.on("close", () => resolve("the broker closed the connection"));
  });
}

/** Rejects if the broker does not respond in time. */
async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const text = `no response within ${SETUP_TIMEOUT_MS / 1000} s`;
    timer = setTimeout(() => reject(new Error(text)), SETUP_TIMEOUT_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A clean close if the broker responds, otherwise the connection is cut. */
async function closeSoon(connection: ChannelModel): Promise<void> {
  const stream: unknown = Reflect.get(connection.connection, "stream");
  const timer = setTimeout(() => {
    if (stream instanceof Duplex) stream.destroy(new Error("the broker does not respond"));
  }, CLOSE_TIMEOUT_MS);
  await Promise.race([
    connection.close().catch(() => {}),
    new Promise((resolve) => setTimeout(resolve, CLOSE_TIMEOUT_MS + 100).unref()),
  ]);
  clearTimeout(timer);
}
