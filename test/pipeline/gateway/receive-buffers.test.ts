import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import { gzipSync } from "node:zlib";
import { systemClock } from "../../../src/lib/clock.ts";
import { createMetrics } from "../../../src/lib/metrics.ts";
import { createGatewayClient } from "../../../src/pipeline/gateway/client.ts";
import { ReceiveBuffers } from "../../../src/pipeline/gateway/receive-buffers.ts";
import { createWireNames } from "../../../src/pipeline/wire/wire-names.ts";
import { deadlineMs } from "../../support/deadline.ts";

const REQUEST = { sensor: { code: "10234", type: 3 }, kind: "rpm", date: "2026-11-20" } as const;
const BODY = randomBytes(6_000_000);

async function reader(t: TestContext, answer: (response: ServerResponse) => void) {
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => answer(response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const client = createGatewayClient(
    { clock: systemClock, metrics: createMetrics() },
    {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      names: createWireNames({ word: "acme", service: "SensorService.svc" }),
      timeoutMs: deadlineMs(5_000),
      concurrency: 1,
      bodyBytesMax: 10_000_000,
    },
  );
  t.after(() => client.close());
  return async () => (await client.read(REQUEST, new AbortController().signal)).body;
}

const turns = async (count: number) => {
  for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve));
};
const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** Reads at the given pace, looks at each piece before and after the pause, and returns what arrived and in how many buffers. */
async function readSlowly(body: AsyncIterable<Uint8Array>, pace: (piece: number) => number) {
  const hash = createHash("sha256");
  const memory = new Set<ArrayBufferLike>();
  let pieces = 0;
  for await (const piece of body) {
    memory.add(piece.buffer);
    const before = digest(piece);
    await turns(pace(pieces));
    assert.equal(digest(piece), before, `piece ${pieces} changed while it was read`);
    hash.update(piece);
    pieces += 1;
  }
  return { digest: hash.digest("hex"), buffers: memory.size, pieces };
}

test("receive buffers – a chunk does not change while a slow reader holds it and more data arrives", async (t) => {
  const read = await reader(t, (response) => response.end(BODY));
  for (const pace of [() => 0, () => 3, (piece: number) => (piece * 7) % 5]) {
    const seen = await readSlowly(await read(), pace);
    assert.equal(seen.digest, digest(BODY));
    assert.ok(seen.pieces > 20);
  }
});

test("receive buffers – a whole day reuses the same memory", async (t) => {
  const read = await reader(t, (response) => response.end(BODY));
  for (let day = 0; day < 3; day++) {
    const { buffers, digest: seen } = await readSlowly(await read(), () => 0);
    assert.equal(seen, digest(BODY));
    assert.ok(buffers <= 8, `${buffers} buffers for one answer`);
  }
});

// By hand: how much arrives at a time over a real connection depends on what else the machine does.
test("receive buffers – a reader that is slower than the connection pauses it, and two buffers do for a whole day", () => {
  const buffers = new ReceiveBuffers();
  const socket = new Readable({ read: () => undefined });
  buffers.socket = socket as Socket;
  buffers.headRead();
  const { buffer: next, callback } = buffers.onread;
  assert.ok(typeof next === "function");
  const memory = new Set<ArrayBufferLike>();
  for (let piece = 0; piece < 100; piece++) {
    const buffer: Uint8Array = next();
    memory.add(buffer.buffer);
    const isGoingOn = callback(buffer.length, buffer);
    assert.equal(isGoingOn, false, "the connection waits for the reader");
    const read = socket.read() as Uint8Array;
    assert.equal(read.buffer, buffer.buffer, "no copy");
    buffers.hold(read);
    buffers.release(read);
  }
  assert.ok(memory.size <= 2, `${memory.size} buffers`);
});

test("receive buffers – chunked responses in odd pieces, and one that the reader abandons, corrupt nothing", async (t) => {
  let turn = 0;
  const read = await reader(t, (response) => {
    turn += 1;
    for (let at = 0; at < 500_000; at += 1 + ((at * 31) % 9_001)) {
      response.write(BODY.subarray(at, at + 1 + ((at * 31) % 9_001)));
    }
    response.end();
  });
  let expected: string | null = null;
  for (let n = 0; n < 4; n++) {
    if (n === 2) {
      for await (const piece of await read()) if (piece.length > 0) break;
      continue;
    }
    const { digest: seen } = await readSlowly(await read(), (piece) => piece % 3);
    assert.equal(seen, (expected ??= seen));
  }
  assert.equal(turn, 4);
});

test("receive buffers – a compressed response arrives complete", async (t) => {
  const read = await reader(t, (response) => {
    response.setHeader("content-encoding", "gzip");
    response.end(gzipSync(BODY, { level: 1 }));
  });
  for (let n = 0; n < 2; n++) {
    assert.equal((await readSlowly(await read(), (piece) => piece % 2)).digest, digest(BODY));
  }
});
