import { Duplex } from "node:stream";
import { type Channel, type ChannelModel, type ConsumeMessage, connect } from "amqplib";
import type { Clock, Logger } from "../../core/ports.ts";
import { type BrokerAddress, publicBroker, tlsOptions } from "../broker-url.ts";
import { ClusterSessions } from "../cluster-sessions.ts";
import { messageOf } from "../database/failure.ts";
import { boundedPayload, type Delivery, type Source, type SourceOptions } from "../delivery.ts";
import type { Inbox } from "../inbox.ts";
import type { BrokerTls } from "../options.ts";

export interface AmqpSourceParts {
  readonly inbox: Inbox;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The exchange of RabbitMQ's MQTT plug-in, with its default name (`mqtt.exchange`). */
const EXCHANGE = "amq.topic";
/** Messages that the broker may send before it waits for us: two batches, and few enough that large ones fit in memory. */
const PREFETCH = 5000;
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
  #isPaused = false;
  /** Consuming and cancelling happen one after the other. */
  #turn: Promise<void> = Promise.resolve();

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
    return this.#sessions.run((onOpen) => this.#session(signal, onOpen), signal);
  }

  /** amqplib writes at once. */
  flush(): void {}

  /** No more is requested; messages in flight still arrive, limited by PREFETCH. */
  pause(): void {
    this.#isPaused = true;
    this.#turn = this.#turn.then(() => this.#cancel()).catch(() => {});
  }

  resume(): void {
    this.#isPaused = false;
    this.#turn = this.#turn.then(() => this.#consume()).catch(() => {});
  }

  async #session(signal: AbortSignal, onOpen: () => void): Promise<void> {
    const address = this.#sessions.address;
    const connection = await open(address, this.#options.tls);
    const ended = endOf(connection);
    const onAbort = () => void closeSoon(connection);
    try {
      const channel = await inTime(connection.createChannel());
      const channelEnded = endOf(channel);
      await inTime(this.#setUp(channel));
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
      this.#consumer = null;
      await closeSoon(connection);
    }
  }

  async #setUp(channel: Channel): Promise<void> {
    await channel.prefetch(PREFETCH);
    await declareQueue(channel, this.#options);
    this.#channel = channel;
    await this.#consume();
  }

  async #consume(): Promise<void> {
    const channel = this.#channel;
    if (channel === null || this.#isPaused || this.#consumer !== null) return;
    const { consumerTag } = await channel.consume(this.#queue, (message) =>
      this.#receive(channel, message),
    );
    this.#consumer = consumerTag;
  }

  async #cancel(): Promise<void> {
    const tag = this.#consumer;
    if (this.#channel === null || tag === null) return;
    this.#consumer = null;
    await this.#channel.cancel(tag);
  }

  /** Null if the broker has ended the consumer: the queue was deleted, or its node is gone. */
  #receive(channel: Channel, message: ConsumeMessage | null): void {
    if (message === null) {
      channel.emit("error", new Error("the broker ended the consumer"));
      return;
    }
    const delivery: Delivery = {
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
