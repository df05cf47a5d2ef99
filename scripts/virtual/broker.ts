/**
 * An MQTT broker in virtual time, 3.1.1 and 5: sessions, retained messages, wills, QoS 1 in order. Whoever wants to know what
 * it accepted listens to `onPublish`. Its faults strike at a PUBLISH that is chosen by its number.
 */
import mqttPacket, { type Packet } from "mqtt-packet";
import type { Network } from "./network.ts";
import type { Host, VirtualSocket } from "./virtual-socket.ts";

export interface Message {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly properties?: object;
}

/** Where the connection breaks at a PUBLISH: before it is accepted, before its acknowledgement, right after that. */
export type CutPlace = "before" | "accepted" | "acknowledged";

interface Session {
  readonly clientId: string;
  readonly subscriptions: Map<string, 0 | 1 | 2>;
  connection: Connection | null;
  isKept: boolean;
  readonly queue: Message[];
}

interface Connection {
  readonly socket: VirtualSocket;
  readonly version: 4 | 5;
  will: Message | null;
}

type Connect = Extract<Packet, { cmd: "connect" }>;
type Publish = Extract<Packet, { cmd: "publish" }>;
type Subscribe = Extract<Packet, { cmd: "subscribe" }>;

const QUEUE_MAX = 10_000;

export class Broker {
  readonly address: string;
  readonly retained = new Map<string, Message>();
  onPublish: (message: Message, clientId: string) => void = () => {};
  /** PUBLISHes are refused (5), or end the connection (3.1.1). */
  isRefusing = false;
  ackDelayMs = 0;
  readonly #network: Network;
  readonly #host: Host;
  readonly #receiveMaximum: number;
  readonly #sessions = new Map<string, Session>();
  /** By the number of the PUBLISH. */
  readonly #strikes = new Map<
    number,
    { readonly at: CutPlace; readonly act: (() => void) | null }
  >();
  #publishes = 0;
  #messageId = 0;

  constructor(network: Network, host: Host, receiveMaximum: number) {
    this.#network = network;
    this.#host = host;
    this.#receiveMaximum = receiveMaximum;
    this.address = String(network.freePort());
    const accept = (socket: VirtualSocket) => this.#accept(socket);
    network.listen(this.address, { host, allowHalfOpen: false, accept });
  }

  get url(): string {
    return `mqtt://127.0.0.1:${this.address}`;
  }
  /** At the n-th PUBLISH from now on: breaks the connection, or does something else instead. */
  strike(n: number, at: CutPlace, act: (() => void) | null = null): void {
    this.#strikes.set(this.#publishes + n, { at, act });
  }
  cut(): void {
    this.#network.reset(this.address);
  }
  /** Restarts without what it held in memory. */
  forget(): void {
    this.retained.clear();
    this.#sessions.clear();
    this.cut();
  }

  #accept(socket: VirtualSocket): void {
    const parser = mqttPacket.parser();
    let session: Session | null = null;
    parser.on("packet", (packet) => {
      if (socket.destroyed) return;
      if (packet.cmd === "connect") session = this.#connect(packet, socket);
      else if (session?.connection?.socket !== socket) socket.destroy();
      else this.#take(packet, session, session.connection);
    });
    parser.on("error", () => socket.destroy());
    socket.on("data", (bytes: Buffer) => void parser.parse(bytes));
    socket.on("error", () => {});
    socket.on("close", () => {
      if (session?.connection?.socket === socket) this.#leave(session, session.connection);
    });
  }

  #connect(packet: Connect, socket: VirtualSocket): Session {
    const version = packet.protocolVersion === 5 ? 5 : 4;
    const { clientId, clean = true, will } = packet;
    const known = this.#sessions.get(clientId);
    const takenOver = known?.connection ?? null;
    if (known && takenOver !== null) {
      this.#leave(known, takenOver);
      takenOver.socket.destroy();
    }
    const isPresent = known !== undefined && !clean && this.#sessions.has(clientId);
    const session: Session = isPresent
      ? known
      : { clientId, subscriptions: new Map(), connection: null, isKept: false, queue: [] };
    session.isKept = version === 5 ? (packet.properties?.sessionExpiryInterval ?? 0) > 0 : !clean;
    const message = will && {
      ...will,
      payload: Buffer.from(will.payload),
      retain: will.retain === true,
    };
    session.connection = { socket, version, will: (message as Message | undefined) ?? null };
    this.#sessions.set(clientId, session);
    const properties =
      version === 5 ? { properties: { receiveMaximum: this.#receiveMaximum } } : {};
    this.#write(session.connection, {
      cmd: "connack",
      returnCode: 0,
      reasonCode: 0,
      sessionPresent: isPresent,
      ...properties,
    });
    for (const waiting of session.queue.splice(0)) this.#deliver(session, waiting);
    return session;
  }

  #take(packet: Packet, session: Session, connection: Connection): void {
    const { cmd } = packet;
    if (cmd === "publish") this.#publish(packet, session, connection);
    else if (cmd === "subscribe") this.#subscribe(packet, session, connection);
    else if (cmd === "pingreq") this.#write(connection, { cmd: "pingresp" });
    else if (cmd === "unsubscribe") {
      const { unsubscriptions, messageId = 0 } = packet;
      for (const filter of unsubscriptions) session.subscriptions.delete(filter);
      this.#write(connection, {
        cmd: "unsuback",
        messageId,
        granted: unsubscriptions.map(() => 0),
      });
    } else if (cmd === "disconnect") {
      // 4: with will.
      if (packet.reasonCode !== 4) connection.will = null;
      connection.socket.end();
    }
  }

  #publish(packet: Publish, { clientId }: Session, connection: Connection): void {
    const strike = this.#strikes.get(++this.#publishes);
    const breakOff = strike?.act ?? (() => connection.socket.breakOff());
    if (strike?.at === "before") return breakOff();
    const isRefused = this.isRefusing && packet.qos > 0;
    if (isRefused && connection.version === 4) return connection.socket.breakOff();
    if (!isRefused) this.accept(this.#messageOf(packet), clientId);
    if (strike?.at === "accepted") return breakOff();
    if (packet.qos > 0)
      this.#acknowledge(packet.messageId as number, isRefused ? 0x97 : 0, connection);
    if (strike?.at === "acknowledged") this.#network.world.after(this.ackDelayMs + 10, breakOff);
  }

  #acknowledge(messageId: number, reasonCode: number, connection: Connection): void {
    const answer = () => this.#write(connection, { cmd: "puback", messageId, reasonCode });
    if (this.ackDelayMs === 0) answer();
    else this.#network.world.after(this.ackDelayMs, () => this.#host.enter(answer));
  }

  #messageOf({ topic, payload, qos, retain, properties }: Publish): Message {
    return {
      topic,
      payload: Buffer.from(payload),
      qos,
      retain,
      ...(properties ? { properties } : {}),
    };
  }

  /** Also for what another than a client publishes. */
  accept(message: Message, clientId = ""): void {
    if (message.retain) {
      if (message.payload.length === 0) this.retained.delete(message.topic);
      else this.retained.set(message.topic, message);
    }
    this.onPublish(message, clientId);
    for (const session of this.#sessions.values()) {
      const granted = [...session.subscriptions].filter(([filter]) =>
        matches(filter, message.topic),
      );
      if (granted.length === 0) continue;
      const qos = Math.min(message.qos, Math.max(...granted.map(([, one]) => one))) as 0 | 1;
      this.#deliver(session, { ...message, qos, retain: false });
    }
  }

  #subscribe(
    { subscriptions, messageId }: Subscribe,
    session: Session,
    connection: Connection,
  ): void {
    const isNew = subscriptions.map(({ topic }) => !session.subscriptions.has(topic));
    for (const { topic, qos } of subscriptions) session.subscriptions.set(topic, qos);
    this.#write(connection, {
      cmd: "suback",
      messageId: messageId as number,
      granted: subscriptions.map(({ qos }) => Math.min(qos, 1)),
    });
    subscriptions.forEach(({ topic, rh = 0 }, i) => {
      if (rh === 2 || (rh === 1 && isNew[i] !== true)) return;
      for (const message of this.retained.values())
        if (matches(topic, message.topic)) this.#deliver(session, { ...message, retain: true });
    });
  }

  #deliver(session: Session, message: Message): void {
    const { connection } = session;
    if (connection !== null) {
      const messageId = (this.#messageId = (this.#messageId % 65_535) + 1);
      const id = message.qos > 0 ? { messageId } : {};
      this.#write(connection, {
        cmd: "publish",
        dup: false,
        ...message,
        qos: Math.min(message.qos, 1) as 0 | 1,
        ...id,
      });
    } else if (session.isKept && message.qos > 0 && session.queue.length < QUEUE_MAX)
      session.queue.push(message);
  }

  #leave(session: Session, { will }: Connection): void {
    session.connection = null;
    if (!session.isKept) this.#sessions.delete(session.clientId);
    if (will !== null) this.accept(will, session.clientId);
  }

  #write({ socket, version }: Connection, packet: Packet): void {
    if (!socket.destroyed) socket.write(mqttPacket.generate(packet, { protocolVersion: version }));
  }
}

function matches(filter: string, topic: string): boolean {
  if (topic.startsWith("$") !== filter.startsWith("$")) return false;
  const levels = topic.split("/");
  const wanted = filter.split("/");
  for (let i = 0; i < wanted.length; i++) {
    if (wanted[i] === "#") return true;
    if (i >= levels.length || (wanted[i] !== "+" && wanted[i] !== levels[i])) return false;
  }
  return levels.length === wanted.length;
}
