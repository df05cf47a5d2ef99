import { randomUUID } from "node:crypto";
import type { Channel, ConsumeMessage, Message } from "amqplib";
import type { Runtime } from "../../core/ports.ts";
import { messageOf } from "../../core/thrown.ts";
import { publicBroker } from "../broker-url.ts";
import { ClusterSessions } from "../cluster-sessions.ts";
import {
  boundedPayload,
  type PendingDelivery,
  type Source,
  type SourceOptions,
} from "../delivery.ts";
import type { Inbox } from "../inbox.ts";
import { closeSoon, endOf, inTime, open } from "./connection.ts";
import { ContentLimit } from "./content-limit.ts";
import { Prefetch } from "./prefetch.ts";
import { declareQueue, queueName } from "./queue.ts";
import { ReadGate } from "./read-gate.ts";

export interface AmqpSourceParts extends Runtime {
  readonly inbox: Inbox;
}

/**
 * A quorum queue that all processes of a group consume, bound to what boxes publish through RabbitMQ's MQTT plug-in.
 */
export class AmqpSource implements Source {
  readonly #parts: AmqpSourceParts;
  readonly #options: SourceOptions;
  readonly #sessions: ClusterSessions;
  readonly #queue: string;
  #channel: Channel | null = null;
  #limit: ContentLimit | null = null;
  #consumer: string | null = null;
  #gate: ReadGate | null = null;
  #isPaused = false;
  readonly #prefetch = new Prefetch();
  /** Of this connection: whether messages were asked for, and how many are not acknowledged. */
  #hasAsked = false;
  #hasMessages = false;
  #open = 0;
  /** The broker has failed over the message at the head when it was asked for by itself. */
  #isHeadProven = false;
  /** Messages that were removed unread and are not told yet. */
  #removed = 0;
  #isChanging = false;

  constructor(parts: AmqpSourceParts, options: SourceOptions) {
    this.#parts = parts;
    this.#options = options;
    const spreadMs = options.reconnectSpreadS * 1000;
    this.#sessions = new ClusterSessions(options.addresses, parts, { spreadMs });
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

  /** Not a byte more is read, even if the broker has sent more. */
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
      // What is acknowledged from here on meets a closing channel, and comes again.
      this.#channel = null;
      gate.open();
      return closeSoon(connection);
    };
    const onAbort = () => void end();
    let channel: Channel | null = null;
    try {
      channel = await inTime(connection.createChannel());
      const channelEnded = endOf(channel);
      this.#open = 0;
      this.#hasAsked = false;
      this.#isChanging = false;
      const failed = ended.then(failing);
      await Promise.race([inTime(declareQueue(channel, this.#options)), failed]);
      // Before it consumes: over a message that cannot be delivered, each attempt gets so far, and no pause is needed.
      onOpen();
      const over = Promise.race([ended, channelEnded]);
      await Promise.race([inTime(this.#setUp(channel, over)), failed]);
      this.#gate = gate;
      if (this.#isPaused) gate.close();
      const broker = publicBroker(address);
      this.#parts.logger.info({ broker, queue: this.#queue }, "connected");
      signal.addEventListener("abort", onAbort, { once: true });
      if (signal.aborted) onAbort();
      const reason = await Promise.race([ended, channelEnded]);
      if (!signal.aborted) throw new Error(reason);
    } catch (error) {
      if (this.#hasAsked && this.#hasMessages && INTERNAL_ERROR.test(messageOf(error)))
        this.#prefetch.failed(this.#open);
      throw error;
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#gate = null;
      await end();
      if (channel !== null) this.#parts.inbox.drop(channel);
    }
  }

  async #setUp(channel: Channel, ended: Promise<string>): Promise<void> {
    this.#channel = channel;
    this.#limit = new ContentLimit(channel);
    // None are known of a queue whose nodes are down: over such a one the broker fails, too, and it is no message's fault.
    this.#hasMessages = (await channel.checkQueue(this.#queue)).messageCount > 0;
    this.#isHeadProven &&= this.#hasMessages;
    if (this.#hasMessages && this.#prefetch.isHeadBroken) await this.#clearHead(channel, ended);
    await this.#consume(channel);
    // Only now it is certain that what was removed had been in the way.
    for (; this.#removed > 0; this.#removed -= 1) this.#tellRemoved();
  }

  /**
   * Over the head of the queue the broker has failed again and again. It is asked for by itself first, not to be removed: one that arrives is
   * acknowledged after its commit like every other. If the broker fails over that, too, the message is removed unread in
   * the next session, because the broker cannot send it: reading it ends this connection as well.
   */
  async #clearHead(channel: Channel, ended: Promise<string>): Promise<void> {
    const isProven = this.#isHeadProven;
    this.#isHeadProven = false;
    try {
      const message = await channel.get(this.#queue, { noAck: isProven });
      this.#prefetch.removed();
      if (message === false) return;
      // The head was removed by another collector. This message no broker has any more: it outlasts the session.
      if (isProven) this.#parts.inbox.push(this.#deliveryOf(message, () => {}));
      else this.#accept(channel, message);
    } catch (error) {
      const reason = await ended;
      if (isBrokenHead(reason)) {
        this.#isHeadProven = !isProven;
        if (isProven) this.#removed += 1;
      }
      if (isProven || !isBrokenHead(reason)) this.#prefetch.removed();
      throw error;
    }
  }

  #tellRemoved(): void {
    const { inbox, clock, logger } = this.#parts;
    logger.error(
      { queue: this.#queue },
      "RabbitMQ could not deliver a message (its topic exceeds 255 bytes) and delivered nothing after it; it is removed",
    );
    inbox.push({
      topic: UNDELIVERABLE,
      dots: "levels",
      payload: Buffer.alloc(0),
      bytes: 0,
      receivedMs: clock.now(),
      acknowledge() {},
    });
  }

  /** The limit of a consumer is that of the moment when it begins. */
  async #consume(channel: Channel): Promise<void> {
    await channel.prefetch(this.#prefetch.count);
    this.#hasAsked = true;
    const { consumerTag } = await channel.consume(this.#queue, (message) =>
      this.#receive(channel, message),
    );
    this.#consumer = consumerTag;
  }

  /** Begins to consume anew once the limit is far from what fits. */
  #follow(channel: Channel): void {
    if (this.#isChanging || this.#consumer === null || !this.#prefetch.acknowledged()) return;
    this.#isChanging = true;
    const tag = this.#consumer;
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
    // Of a session that is ending; it comes again.
    if (this.#channel !== channel) return;
    this.#prefetch.received(this.#accept(channel, message).bytes);
  }

  #accept(channel: Channel, message: Message): PendingDelivery {
    this.#open += 1;
    const tag = tagOnly(message);
    const delivery = this.#deliveryOf(message, () => {
      if (this.#channel !== channel) return;
      try {
        channel.ack(tag);
      } catch {
        // It is closing, and says so before it is known here: the broker delivers the message again.
        return;
      }
      this.#open -= 1;
      this.#follow(channel);
    });
    this.#parts.inbox.push({ ...delivery, session: channel });
    return delivery;
  }

  #deliveryOf(message: Message, acknowledge: () => void): PendingDelivery {
    return {
      topic: topicOf(message),
      dots: "levels",
      payload: boundedPayload(message.content),
      bytes: this.#limit?.bytes ?? message.content.length,
      receivedMs: this.#parts.clock.now(),
      acknowledge,
    };
  }
}

/** Over a message that it cannot send; over a queue whose nodes are down it adds a reason. */
function isBrokenHead(reason: string): boolean {
  return INTERNAL_ERROR.test(reason) && !/Cannot get a message/i.test(reason);
}

/** AMQP's reply code of a broker that failed over its own work. */
const INTERNAL_ERROR = /\b541\b/;
/** Below no prefix, so that it is kept in `rejected`. */
const UNDELIVERABLE = "/undeliverable/longer-than-255-bytes";

function failing(reason: string): never {
  throw new Error(reason);
}

/**
 * Boxes publish over MQTT. A client that reaches the AMQP port may let a message return from its own queue under
 * any routing key, which then proves nothing: such a topic is below no prefix.
 */
function topicOf({ fields, properties }: Message): string {
  const topic = fields.routingKey.replaceAll(".", "/");
  return properties.headers?.["x-death"] === undefined ? topic : `/dead-lettered/${topic}`;
}

/** `ack` needs only the delivery tag; content and headers must not be held until then. */
function tagOnly({ fields, properties }: Message): Message {
  return { fields, properties: { ...properties, headers: undefined }, content: EMPTY };
}
const EMPTY = Buffer.alloc(0);
