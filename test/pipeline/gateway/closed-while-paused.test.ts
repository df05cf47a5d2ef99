import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { CallFailure } from "../../../src/core/failure.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createMetrics } from "../../../src/lib/metrics.ts";
import { createGatewayClient } from "../../../src/pipeline/gateway/client.ts";
import { createWireNames } from "../../../src/pipeline/wire/wire-names.ts";
import { deadlineMs } from "../../support/deadline.ts";

const REQUEST = { sensor: { code: "10234", type: 3 }, kind: "rpm", date: "2026-11-20" } as const;
/** More than a reader that does not read lets arrive before the connection is paused, less than the socket holds. */
const BODY = Buffer.from(randomBytes(120_000).toString("hex"));
const chunked = (bytes: Buffer) =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);
const LAST_CHUNK = Buffer.from("0\r\n\r\n");
const LENGTH = `Content-Length: ${BODY.length}`;
const CHUNKED = "Transfer-Encoding: chunked";
const COMPLETE = "complete";
const TRUNCATED = "truncated";

/**
 * A gateway whose response arrives in two parts and whose connection then ends, while the reader is busy with its first
 * piece. Resolves with what the reader got.
 */
async function readBusily(
  t: TestContext,
  head: string,
  body: Buffer,
  end: (socket: Socket) => void,
  isProxied = false,
): Promise<{ result: string; next: string }> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    socket.on("data", () => {
      const isFirst = sockets.length === 1;
      const text = isFirst ? head : `HTTP/1.1 200 OK\r\n${LENGTH}\r\n`;
      socket.write(`${text}Content-Type: application/json\r\n\r\n`);
      if (!isFirst) return void socket.write(BODY);
      socket.write(body, () => end(socket));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = createGatewayClient(
    { clock: systemClock, metrics: createMetrics() },
    {
      // A proxy is requested in the same way: by the path, or by the whole URL.
      url: isProxied ? "http://gateway.invalid" : url,
      proxy: isProxied ? url : null,
      names: createWireNames({ word: "acme", service: "SensorService.svc" }),
      timeoutMs: deadlineMs(5_000),
      concurrency: 1,
      bodyBytesMax: 10_000_000,
    },
  );
  t.after(() => client.close());
  const read = async (isBusy: boolean): Promise<string> => {
    const { body: pieces } = await client.read(REQUEST, new AbortController().signal);
    const got: Buffer[] = [];
    try {
      for await (const piece of pieces) {
        got.push(Buffer.from(piece));
        // The pause is the subject: everything arrives meanwhile, as during the conversion of a long record.
        if (isBusy && got.length === 1) await new Promise((resolve) => setTimeout(resolve, 200));
      }
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error;
      return error.failureClass;
    }
    return Buffer.concat(got).equals(BODY) ? COMPLETE : "damaged";
  };
  return { result: await read(true), next: await read(false) };
}

const close = (socket: Socket) => void socket.end();
const reset = (socket: Socket) => void socket.resetAndDestroy();
const keep = () => {};

for (const [name, head, body, end, expected] of [
  ["its length", `HTTP/1.1 200 OK\r\nConnection: close\r\n${LENGTH}\r\n`, BODY, close, COMPLETE],
  [
    "chunks",
    `HTTP/1.1 200 OK\r\nConnection: close\r\n${CHUNKED}\r\n`,
    Buffer.concat([chunked(BODY), LAST_CHUNK]),
    close,
    COMPLETE,
  ],
  ["nothing but the end of the connection", "HTTP/1.0 200 OK\r\n", BODY, close, COMPLETE],
  ["a length, kept alive", `HTTP/1.1 200 OK\r\n${LENGTH}\r\n`, BODY, keep, COMPLETE],
  [
    "a length that is not reached",
    `HTTP/1.1 200 OK\r\nConnection: close\r\n${LENGTH}\r\n`,
    BODY.subarray(0, -7),
    close,
    TRUNCATED,
  ],
  [
    "chunks without the last",
    `HTTP/1.1 200 OK\r\nConnection: close\r\n${CHUNKED}\r\n`,
    chunked(BODY),
    close,
    TRUNCATED,
  ],
  [
    "a length that a reset prevents",
    `HTTP/1.1 200 OK\r\nConnection: close\r\n${LENGTH}\r\n`,
    BODY.subarray(0, -7),
    reset,
    TRUNCATED,
  ],
] as const) {
  test(`gateway client – a connection that ends while its reader is busy does not end the process: a body with ${name} is ${expected}`, async (t) => {
    const { result, next } = await readBusily(t, head, body, end);
    assert.equal(result, expected);
    assert.equal(next, COMPLETE);
  });
}

test("gateway client – the same holds behind a proxy", async (t) => {
  const head = `HTTP/1.1 200 OK\r\nConnection: close\r\n${LENGTH}\r\n`;
  const { result, next } = await readBusily(t, head, BODY, close, true);
  assert.deepEqual([result, next], [COMPLETE, COMPLETE]);
});
