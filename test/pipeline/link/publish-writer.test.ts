import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { test } from "node:test";
import fc from "fast-check";
import { type IPublishPacket, parser } from "mqtt-packet";
import type { Message } from "../../../src/core/message.ts";
import { PublishWriter, publishPacketBytes } from "../../../src/pipeline/link/publish-writer.ts";

/** Keeps a copy of each piece; takes the next one only on request, as a socket under back-pressure. */
class Slow extends Writable {
  readonly pieces: Buffer[] = [];
  #taken: ((error?: Error) => void)[] = [];
  readonly #isSlow: boolean;
  constructor(isSlow = false) {
    super({ highWaterMark: 1 });
    this.#isSlow = isSlow;
  }
  override _write(piece: Buffer, _encoding: string, done: (error?: Error) => void): void {
    if (!this.#isSlow) {
      this.pieces.push(Buffer.from(piece));
      return done();
    }
    this.#taken.push((error) => {
      // Read as late as the kernel might: the memory must not have been written to meanwhile.
      if (!error) this.pieces.push(Buffer.from(piece));
      done(error);
    });
  }
  take(error?: Error): void {
    this.#taken.shift()?.(error);
  }
}

/** What a broker reads in these bytes. */
function packetsIn(pieces: readonly Buffer[], version: 4 | 5): IPublishPacket[] {
  const packets: IPublishPacket[] = [];
  const read = parser({ protocolVersion: version });
  read.on("packet", (packet) => {
    assert.ok(packet.cmd === "publish");
    packets.push(packet);
  });
  read.on("error", (error: Error) => assert.fail(error));
  for (const piece of pieces) read.parse(piece);
  return packets;
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

// Without lone surrogates: those are no Unicode text, and JSON.stringify escapes them.
const text = (maxLength: number) => fc.string({ unit: "grapheme", maxLength });
const message: fc.Arbitrary<Message> = fc.record(
  {
    topic: text(40).map((topic) => `t/${topic.replaceAll(/[+#\0]/g, "_")}`),
    payload: fc.oneof(
      text(300),
      fc.uint8Array({ maxLength: 20_000 }),
      fc.constant("é".repeat(9000)),
    ),
    qos: fc.constantFrom(0 as const, 1 as const),
    retain: fc.boolean(),
    contentType: text(20),
    userProperties: fc.dictionary(text(20), text(200), { maxKeys: 4 }),
    correlationData: fc.uint8Array({ maxLength: 200 }),
  },
  { requiredKeys: ["topic", "payload", "qos", "retain"] },
);

test("publish writer – a broker reads every message as it was given, in order, in both versions", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(message, { maxLength: 30 }),
      fc.constantFrom(4 as const, 5 as const),
      async (messages, version) => {
        const stream = new Slow();
        const writer = new PublishWriter(stream, version);
        messages.forEach((given, index) => {
          writer.write(
            given,
            given.qos === 0 ? 0 : index + 1,
            given.retain,
            publishPacketBytes(given, version),
            null,
          );
        });
        await turn();
        const packets = packetsIn(stream.pieces, version);
        assert.equal(packets.length, messages.length);
        packets.forEach((packet, index) => {
          const given = messages[index] as Message;
          assert.equal(packet.topic, given.topic);
          assert.deepEqual(Buffer.from(packet.payload), Buffer.from(given.payload as string));
          assert.equal(packet.qos, given.qos);
          assert.equal(packet.retain, given.retain);
          assert.equal(packet.dup, false);
          if (given.qos === 1) assert.equal(packet.messageId, index + 1);
          if (version === 4) return;
          assert.equal(packet.properties?.contentType, given.contentType);
          assert.deepEqual({ ...packet.properties?.userProperties }, { ...given.userProperties });
          assert.deepEqual(
            packet.properties?.correlationData,
            given.correlationData && Buffer.from(given.correlationData),
          );
        });
      },
    ),
    { numRuns: 200 },
  );
});

const small = (n: number): Message => ({
  topic: "a/b",
  payload: `reading ${n}`,
  qos: 1,
  retain: false,
});
const bytesOf = (given: Message) => publishPacketBytes(given, 5);

test("publish writer – the messages of one turn are written in one piece", async () => {
  const stream = new Slow();
  const writer = new PublishWriter(stream, 5);
  for (let n = 1; n <= 100; n++) writer.write(small(n), n, false, bytesOf(small(n)), null);
  assert.equal(stream.pieces.length, 0);
  await turn();
  assert.equal(stream.pieces.length, 1);
  assert.equal(packetsIn(stream.pieces, 5).length, 100);
});

test("publish writer – a burst is passed on within its turn once it has 256 KiB, and nothing is passed on for nothing", async () => {
  const stream = new Slow();
  const writer = new PublishWriter(stream, 5);
  const large: Message = { ...small(1), payload: "x".repeat(100_000) };
  for (let n = 1; n <= 2; n++) writer.write(large, n, false, bytesOf(large), null);
  assert.equal(stream.pieces.length, 0);
  writer.write(large, 3, false, bytesOf(large), null);
  assert.equal(packetsIn(stream.pieces, 5).length, 2);
  writer.flush();
  writer.flush();
  await turn();
  assert.equal(stream.pieces.length, 2);
  assert.equal(packetsIn(stream.pieces, 5).length, 3);
});

test("publish writer – memory that the kernel still needs is not overwritten", async () => {
  const stream = new Slow(true);
  const writer = new PublishWriter(stream, 5);
  for (let burst = 0; burst < 10; burst++) {
    for (let n = 1; n <= 20; n++) {
      const id = 20 * burst + n;
      writer.write(small(id), id, false, bytesOf(small(id)), null);
    }
    await turn();
  }
  for (let burst = 0; burst < 10; burst++) {
    stream.take();
    await turn();
  }
  const texts = packetsIn(stream.pieces, 5).map(({ payload }) => payload.toString());
  assert.deepEqual(
    texts,
    Array.from({ length: 200 }, (_, n) => `reading ${n + 1}`),
  );
});

test("publish writer – QoS 0 is reported when it has been written, and not if the connection fails first", async () => {
  const stream = new Slow(true);
  stream.on("error", () => {});
  const writer = new PublishWriter(stream, 5);
  const left = new Set<string>();
  const given: Message = { ...small(1), qos: 0 };
  writer.write(given, 0, false, bytesOf(given), () => left.add("first"));
  await turn();
  assert.equal(left.size, 0);
  stream.take();
  await turn();
  assert.deepEqual([...left], ["first"]);
  writer.write(given, 0, false, bytesOf(given), () => left.add("second"));
  await turn();
  stream.take(new Error("reset"));
  await turn();
  assert.deepEqual([...left], ["first"]);
});

test("publish writer – a text that MQTT cannot encode does not affect its neighbours", async () => {
  const stream = new Slow();
  const writer = new PublishWriter(stream, 5);
  const impossible: Message = { ...small(2), topic: "a".repeat(65_536) };
  writer.write(small(1), 1, false, bytesOf(small(1)), null);
  assert.throws(() => writer.write(impossible, 2, false, bytesOf(impossible), null), RangeError);
  writer.write(small(3), 3, false, bytesOf(small(3)), null);
  await turn();
  const ids = packetsIn(stream.pieces, 5).map(({ messageId }) => messageId);
  assert.deepEqual(ids, [1, 3]);
});
