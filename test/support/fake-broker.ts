import { createServer, type Socket } from "node:net";

/** A PUBLISH as it came over the wire. */
interface WirePublish {
  readonly topic: string;
  readonly packetId: number;
  readonly packetBytes: number;
  /** Topic, properties and payload among them. */
  readonly packet: Buffer;
}

export interface FakeBrokerOptions {
  readonly version: 4 | 5;
  /** Bytes of MQTT 5 CONNACK properties, e.g. [0x21, 0, 1] for receive maximum 1. */
  readonly connackProperties?: readonly number[];
  /** What to do with a PUBLISH; acknowledges it by default. */
  onPublish?(publish: WirePublish, connection: FakeConnection): void;
  /** What to do with a PUBLISH of QoS 0; nothing by default. */
  onUnanswered?(publish: WirePublish, connection: FakeConnection): void;
  onConnect?(connection: FakeConnection): void;
  /** Asked for each CONNECT: true closes the connection without an answer. */
  unanswered?(): boolean;
  /** CONNACK with this code, then the connection is closed. */
  readonly refusal?: number;
  /** The code for a topic in SUBACK; without it there is no SUBACK. */
  granted?(topic: string): number;
  /** Leaves PINGREQ unanswered. */
  readonly ignoresPings?: boolean;
}

interface FakeConnection {
  /** 1 for the first session, and so on. */
  readonly number: number;
  ack(packetId: number): void;
  /** MQTT 5 DISCONNECT with a reason, then the socket is closed. */
  disconnect(reason: number): void;
  destroy(): void;
  /** Closes the connection in good order, without a word of MQTT. */
  end(): void;
  /** Any bytes. */
  send(bytes: Uint8Array): void;
}

export interface FakeBroker {
  readonly url: string;
  /** CONNECTs so far. */
  readonly connects: number;
  readonly publishes: WirePublish[];
  /** Most publishes that were unanswered at once. */
  readonly unansweredMax: number;
  close(): Promise<void>;
}

/** A broker that does what real ones do only on bad days. It speaks just enough MQTT, written here byte by byte. */
export async function startFakeBroker(options: FakeBrokerOptions): Promise<FakeBroker> {
  const isV5 = options.version === 5;
  const sockets = new Set<Socket>();
  const publishes: WirePublish[] = [];
  let connects = 0;
  let unansweredMax = 0;

  const serve = (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    let unanswered = 0;
    let connection: FakeConnection | null = null;
    const open = () => {
      if (options.unanswered?.() === true) return void socket.end();
      connects += 1;
      const properties = options.connackProperties ?? [];
      if (options.refusal !== undefined) {
        const refusal = isV5 ? [0x20, 3, 0, options.refusal, 0] : [0x20, 2, 0, options.refusal];
        socket.end(Buffer.from(refusal));
        return;
      }
      const body = isV5 ? [0, 0, properties.length, ...properties] : [0, 0];
      socket.write(Buffer.from([0x20, body.length, ...body]));
      const opened: FakeConnection = {
        number: connects,
        ack(packetId) {
          unanswered -= 1;
          socket.write(Buffer.from([0x40, 2, packetId >> 8, packetId & 0xff]));
        },
        disconnect: (reason) => socket.end(Buffer.from([0xe0, 2, reason, 0])),
        destroy: () => socket.destroy(),
        end: () => socket.end(),
        send: (bytes) => void socket.write(bytes),
      };
      connection = opened;
      options.onConnect?.(opened);
    };
    const handle = (packet: Buffer, bodyAt: number) => {
      const type = (packet[0] ?? 0) >> 4;
      if (type === 1) open();
      const { granted } = options;
      if (type === 8 && granted !== undefined) {
        const id = [packet[bodyAt] ?? 0, packet[bodyAt + 1] ?? 0];
        const topics = subscriptionsIn(packet.subarray(bodyAt + 2 + (isV5 ? 1 : 0)));
        const codes = topics.map((topic) => granted(topic));
        const body = [...id, ...(isV5 ? [0] : []), ...codes];
        socket.write(Buffer.from([0x90, body.length, ...body]));
      }
      if (type === 12 && options.ignoresPings !== true) socket.write(Buffer.from([0xd0, 0]));
      if (type !== 3 || !connection) return;
      const topicBytes = packet.readUInt16BE(bodyAt);
      const topic = packet.toString("utf8", bodyAt + 2, bodyAt + 2 + topicBytes);
      const qos = ((packet[0] ?? 0) >> 1) & 3;
      const packetId = qos === 0 ? 0 : packet.readUInt16BE(bodyAt + 2 + topicBytes);
      const publish = { topic, packetId, packetBytes: packet.length, packet };
      publishes.push(publish);
      if (qos === 0) return options.onUnanswered?.(publish, connection);
      unanswered += 1;
      unansweredMax = Math.max(unansweredMax, unanswered);
      if (options.onPublish) options.onPublish(publish, connection);
      else connection.ack(packetId);
    };
    let pending = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => {
      pending = Buffer.concat([pending, chunk]);
      for (;;) {
        let length = 0;
        let at = 1;
        let shift = 0;
        while (at < pending.length) {
          const byte = pending[at++] ?? 0;
          length += (byte & 0x7f) * 2 ** shift;
          shift += 7;
          if (byte < 0x80) break;
        }
        if (at < 2 || pending.length < at + length || (pending[at - 1] ?? 0) >= 0x80) return;
        handle(pending.subarray(0, at + length), at);
        pending = pending.subarray(at + length);
      }
    });
  };

  const server = createServer(serve);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    url: `mqtt://127.0.0.1:${address.port}`,
    get connects() {
      return connects;
    },
    publishes,
    get unansweredMax() {
      return unansweredMax;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Topic filters of a SUBSCRIBE, whose properties are empty. */
function subscriptionsIn(payload: Buffer): string[] {
  const filters: string[] = [];
  for (let at = 0; at < payload.length; ) {
    const end = at + 2 + payload.readUInt16BE(at);
    filters.push(payload.toString("utf8", at + 2, end));
    at = end + 1;
  }
  return filters;
}
