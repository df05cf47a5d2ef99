import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createServer as createTlsServer } from "node:tls";
import { gzipSync } from "node:zlib";
import { CallFailure } from "../../../src/core/failure.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createMetrics } from "../../../src/lib/metrics.ts";
import { createGatewayClient, type GatewayClient } from "../../../src/pipeline/gateway/client.ts";
import { createWireNames } from "../../../src/pipeline/wire/wire-names.ts";
import { startSimulator } from "../../../src/simulator/server.ts";
import { createCertificates } from "../../support/certificates.ts";

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;
const REQUEST = { sensor: { code: "10234", type: 40 }, kind: "rpm", date: "2026-11-20" } as const;
const DATE = "Fri, 20 Nov 2026 11:00:07 GMT";
const BODY = '[{"Configs":[],"Key":{"Description":"OK","StatusNumber":0},"Value":[]}]';
const PACKED = gzipSync(BODY);

const okHead = [
  "HTTP/1.1 200 OK",
  `Date: ${DATE}`,
  "Content-Type: application/json",
  "Server: Microsoft-HTTPAPI/2.0",
  "Content-Encoding: gzip",
  `Content-Length: ${PACKED.length}`,
];
const busyHead = [
  "HTTP/1.1 503 Service Unavailable",
  `Date: ${DATE}`,
  "Server: Microsoft-HTTPAPI/2.0",
  "Retry-After: 7",
  "Content-Length: 0",
];
const bytesOf = (head: readonly string[], body: Uint8Array) =>
  Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), body]);
const OK = bytesOf(okHead, PACKED);
const BUSY = bytesOf(busyHead, new Uint8Array());

/**
 * Long enough for the other end to read a piece by itself, which no event shows here. Two that arrive together only make
 * the test weaker.
 */
const apart = () => new Promise((resolve) => setTimeout(resolve, 2));

interface Bench {
  readonly client: GatewayClient;
  /** What the next answers look like, piece by piece. */
  pieces: () => readonly Uint8Array[];
}

async function bench(t: TestContext, isTls: boolean): Promise<Bench> {
  const directory = mkdtempSync(join(tmpdir(), "gateside-heads-"));
  const certificates = isTls ? createCertificates(directory) : null;
  const sockets = new Set<Socket>();
  const serve = (socket: Socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("error", () => {});
    let question = "";
    socket.on("data", (data: Buffer) => {
      question += data.toString();
      if (!question.endsWith("}")) return;
      question = "";
      void (async () => {
        for (const piece of made.pieces()) {
          socket.write(piece);
          await apart();
        }
      })();
    });
  };
  const server: Server = certificates
    ? createTlsServer(
        { cert: certificates.read("serverCert"), key: certificates.read("serverKey") },
        serve,
      )
    : createServer(serve);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const client = createGatewayClient(
    { clock: systemClock, metrics: createMetrics() },
    {
      url: `${isTls ? "https" : "http"}://127.0.0.1:${port}`,
      names: createWireNames({ word: "sensor", service: "SensorService.svc" }),
      ca: () => certificates?.read("ca").toString() ?? null,
      timeoutMs: 20_000,
      concurrency: 1,
      bodyBytesMax: 1_000_000,
    },
  );
  t.after(async () => {
    await client.close();
    for (const socket of sockets) socket.destroy();
    server.close();
    rmSync(directory, { recursive: true });
  });
  const made: Bench = { client, pieces: () => [] };
  return made;
}

async function readWhole(client: GatewayClient) {
  const answer = await client.read(REQUEST, new AbortController().signal);
  const pieces: Buffer[] = [];
  for await (const piece of answer.body) pieces.push(Buffer.from(piece));
  return { time: answer.gatewayTimeMs, text: Buffer.concat(pieces).toString() };
}

async function refusalOf(client: GatewayClient): Promise<CallFailure> {
  try {
    await readWhole(client);
  } catch (error) {
    if (error instanceof CallFailure) return error;
    throw error;
  }
  throw new Error("the answer was taken");
}

const singleBytes = (bytes: Buffer) => Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
/** The first line, then a cut at the given byte and beside it: four pieces or more at every place. */
function* cutsOf(bytes: Buffer, head: readonly string[]): Generator<Buffer[]> {
  const firstLine = (head[0]?.length ?? 0) + 2;
  const headEnd = bytes.indexOf("\r\n\r\n") + 4;
  for (let at = firstLine + 1; at < headEnd - 1; at++) {
    const middle = (at + headEnd) >> 1;
    const places = [0, firstLine, at, at + 1, Math.max(middle, at + 1), headEnd, bytes.length];
    yield places
      .slice(1)
      .map((to, n) => bytes.subarray(places[n], to))
      .filter((piece) => piece.length > 0);
  }
}

for (const isTls of [false, true]) {
  const name = isTls ? "https" : "http";
  const skip = isTls && !hasOpenssl ? "openssl is not installed here" : false;

  test(`100 Continue – unasked, once or twice, whole or in pieces, it makes no read fail, over ${name}`, {
    skip,
  }, async (t) => {
    const made = await bench(t, isTls);
    const interim = Buffer.from("HTTP/1.1 100 Continue\r\n\r\n");
    const before = Buffer.concat([interim, Buffer.from("HTTP/1.1 100 \r\nX: y\r\n\r\n")]);
    const responses: readonly (readonly Uint8Array[])[] = [
      [interim, OK],
      [Buffer.concat([before, OK])],
      singleBytes(Buffer.concat([before, OK])),
      [OK],
    ];
    for (const pieces of [...responses, ...responses]) {
      made.pieces = () => pieces;
      assert.deepEqual(await readWhole(made.client), { time: Date.parse(DATE), text: BODY });
    }
  });

  test(`split heads – a response that arrives byte by byte is read completely, over ${name}`, {
    skip,
  }, async (t) => {
    const made = await bench(t, isTls);
    made.pieces = () => singleBytes(OK);
    for (let n = 0; n < 2; n++) {
      assert.deepEqual(await readWhole(made.client), { time: Date.parse(DATE), text: BODY });
    }
    made.pieces = () => singleBytes(BUSY);
    const refusal = await refusalOf(made.client);
    assert.equal(refusal.httpStatus, 503);
    assert.equal(refusal.retryAfterMs, 7_000);
  });

  test(`split heads – wherever a response head is split, no header is lost, over ${name}`, {
    skip,
  }, async (t) => {
    const made = await bench(t, isTls);
    for (const pieces of cutsOf(OK, okHead)) {
      made.pieces = () => pieces;
      const at = pieces.map((piece) => piece.length).join(" + ");
      assert.deepEqual(await readWhole(made.client), { time: Date.parse(DATE), text: BODY }, at);
    }
    for (const pieces of cutsOf(BUSY, busyHead)) {
      made.pieces = () => pieces;
      assert.equal((await refusalOf(made.client)).retryAfterMs, 7_000);
    }
  });
}

test("split heads – the simulator's heads sent in pieces equal whole ones", async (t) => {
  const simulator = await startSimulator({ port: 0, clock: systemClock });
  t.after(() => simulator.close());
  const sensor = simulator.plant.sensors.find(({ kinds }) => kinds.includes("rpm"));
  assert.ok(sensor);
  const client = createGatewayClient(
    { clock: systemClock, metrics: createMetrics() },
    {
      url: simulator.url,
      names: createWireNames({ word: "sensor", service: "SensorService.svc" }),
      timeoutMs: 10_000,
      concurrency: 1,
      bodyBytesMax: 10_000_000,
    },
  );
  t.after(() => client.close());
  const date = new Date(simulator.clock.now()).toISOString().slice(0, 10);
  const request = { sensor: { code: sensor.code, type: sensor.type }, kind: "rpm", date } as const;
  const read = async () => {
    const answer = await client.read(request, new AbortController().signal);
    let bytes = 0;
    for await (const piece of answer.body) bytes += piece.length;
    return { time: answer.gatewayTimeMs, bytes };
  };
  const whole = await read();
  for (const bytes of [undefined, 7]) {
    const fault = simulator.faults.add({
      name: "head-in-pieces",
      ms: 1,
      ...(bytes === undefined ? {} : { bytes }),
    });
    const seen = await read();
    assert.ok(Math.abs((seen.time ?? 0) - simulator.clock.now()) < 60_000, "Date is lost");
    assert.ok(seen.bytes >= whole.bytes);
    fault.remove();
  }
  simulator.faults.add({ name: "head-in-pieces", ms: 1 });
  simulator.faults.add({ name: "unavailable", seconds: 7 });
  await assert.rejects(read(), (error) => {
    assert.ok(error instanceof CallFailure);
    assert.equal(error.retryAfterMs, 7_000);
    return true;
  });
});
