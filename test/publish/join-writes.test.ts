import assert from "node:assert/strict";
import { connect, createServer, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { joinWrites } from "../../src/publish/join-writes.ts";

/** A connected pair: what is written to the first arrives at the second. */
async function connectedPair(t: TestContext, atOnce: (near: Socket) => void = () => {}) {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  const arrived = new Promise<Socket>((done) => server.once("connection", done));
  const near = connect(address.port, "127.0.0.1");
  joinWrites(near);
  atOnce(near);
  const far = await arrived;
  t.after(() => {
    near.destroy();
    far.destroy();
  });
  return { near, far };
}

test("joined writes – every byte arrives in order, whatever the pieces are", async (t) => {
  const { near, far } = await connectedPair(t);
  const expected: Buffer[] = [];
  const received: Buffer[] = [];
  far.on("data", (piece: Buffer) => received.push(piece));
  const piece = fc.oneof(fc.string({ unit: "binary" }), fc.uint8Array({ maxLength: 300 }));
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
      near.cork();
      for (const chunk of pieces) {
        near.write(chunk);
        expected.push(Buffer.from(chunk as string));
      }
      near.uncork();
    }),
  );
  // Larger than what is joined.
  const large = Buffer.alloc(200_000, "a");
  near.cork();
  for (const chunk of [large, large]) {
    near.write(chunk);
    expected.push(chunk);
  }
  near.uncork();
  const ended = new Promise((done) => far.once("end", done));
  near.end();
  await ended;
  assert.ok(Buffer.concat(received).equals(Buffer.concat(expected)));
});

test("joined writes – what is written before the connection stands is not lost", async (t) => {
  const { far } = await connectedPair(t, (near) => {
    near.cork();
    near.write("first ");
    near.write(Buffer.from("second"));
    near.uncork();
  });
  const text = await new Promise((done) => far.once("data", (piece) => done(String(piece))));
  assert.equal(text, "first second");
});

test("joined writes – a stream that is no socket is left alone", () => {
  const stream = new PassThrough();
  const before = stream._writev;
  joinWrites(stream);
  assert.equal(stream._writev, before);
});

test("joined writes – bursts that wait for a slow reader stay as they were written", async (t) => {
  const { near, far } = await connectedPair(t);
  far.pause();
  const expected: Buffer[] = [];
  for (let burst = 0; burst < 120; burst++) {
    near.cork();
    for (let n = 0; n < 5; n++) {
      const piece = Buffer.alloc(10_000 + burst, burst * 5 + n);
      near.write(piece);
      expected.push(piece);
    }
    near.uncork();
    // Some bursts join those that wait, some meet a socket that has written all.
    if (burst % 7 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  const received: Buffer[] = [];
  far.on("data", (piece: Buffer) => received.push(piece));
  const ended = new Promise((done) => far.once("end", done));
  near.end();
  far.resume();
  await ended;
  assert.ok(Buffer.concat(received).equals(Buffer.concat(expected)));
});
