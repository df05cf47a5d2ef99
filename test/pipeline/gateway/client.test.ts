import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createSocketServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import type { DayRequest } from "../../../src/core/day.ts";
import { CallFailure } from "../../../src/core/failure.ts";
import type { Clock } from "../../../src/core/ports.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createMetrics } from "../../../src/lib/metrics.ts";
import {
  createGatewayClient,
  type GatewayClient,
  type GatewayClientOptions,
} from "../../../src/pipeline/gateway/client.ts";
import { createWireNames } from "../../../src/pipeline/wire/wire-names.ts";
import { deadlineMs } from "../../support/deadline.ts";
import { ManualClock } from "../../support/manual-clock.ts";

const EMPTY_DAY = '[{"Configs":[],"Key":{"Description":"OK","StatusNumber":0},"Value":[]}]';
const REQUEST = { sensor: { code: "10234", type: 3 }, kind: "rpm", date: "2026-11-20" } as const;

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;

async function serve(t: TestContext, handler: Handler): Promise<string> {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (piece) => {
      body += piece;
    });
    request.on("end", () => handler(request, response, body));
  });
  return listen(t, server);
}

async function listen(t: TestContext, server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A server that speaks in raw bytes. */
async function serveSocket(t: TestContext, onRequest: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createSocketServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("data", () => onRequest(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function clientFor(
  t: TestContext,
  url: string,
  options: Partial<GatewayClientOptions> = {},
  clock: Clock = systemClock,
) {
  const metrics = createMetrics();
  const client = createGatewayClient(
    { clock, metrics },
    {
      url,
      names: createWireNames({ word: "acme", service: "SensorService.svc" }),
      timeoutMs: deadlineMs(2_000),
      concurrency: 2,
      bodyBytesMax: 10_000_000,
      ...options,
    },
  );
  t.after(() => client.close());
  return client;
}

async function readAll(
  client: GatewayClient,
  signal = new AbortController().signal,
  request: DayRequest = REQUEST,
) {
  const answer = await client.read(request, signal);
  const pieces: Uint8Array[] = [];
  for await (const piece of answer.body) pieces.push(Buffer.from(piece));
  return { text: Buffer.concat(pieces).toString(), gatewayTimeMs: answer.gatewayTimeMs };
}

async function failureOf(work: Promise<unknown>): Promise<CallFailure> {
  const error = await work.then(
    () => assert.fail("no failure"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof CallFailure, String(error));
  return error;
}

test("gateway client – posts the three fields under the vendor's names to the operation's path", async (t) => {
  const seen: unknown[] = [];
  const url = await serve(t, (request, response, body) => {
    seen.push([request.method, request.url, request.headers["content-type"], JSON.parse(body)]);
    assert.equal(request.headers["x-key"], "secret");
    response.end(EMPTY_DAY);
  });
  const client = clientFor(t, `${url}/base/`, { headers: { "X-Key": "secret" } });
  const { text, gatewayTimeMs } = await readAll(client);
  assert.equal(text, EMPTY_DAY);
  assert.ok(Math.abs((gatewayTimeMs ?? 0) - Date.now()) < deadlineMs(5_000));
  assert.deepEqual(seen, [
    [
      "POST",
      "/base/SensorService.svc/getRPMData",
      "application/json",
      { acmeType: 3, acmeCode: "10234", date: "2026-11-20" },
    ],
  ]);
  assert.equal(client.state.isUp, true);
  assert.ok(!JSON.stringify(client.state).includes("secret"));
});

test("gateway client – decodes gzip, although it never requests it", async (t) => {
  const url = await serve(t, (request, response) => {
    assert.equal(request.headers["accept-encoding"], "identity");
    response.setHeader("content-encoding", "gzip");
    response.end(gzipSync(EMPTY_DAY));
  });
  assert.equal((await readAll(clientFor(t, url))).text, EMPTY_DAY);
});

test("gateway client – a truncated gzip body is truncated; one that expands beyond the limit is too_large", async (t) => {
  let body = gzipSync(EMPTY_DAY).subarray(0, 30);
  const url = await serve(t, (_request, response) => {
    response.setHeader("content-encoding", "gzip");
    response.end(body);
  });
  assert.equal((await failureOf(readAll(clientFor(t, url)))).failureClass, "truncated");
  body = gzipSync(Buffer.alloc(2_000_000, 0x20));
  const small = clientFor(t, url, { bodyBytesMax: 1_000_000 });
  assert.equal((await failureOf(readAll(small))).failureClass, "too_large");
});

test("gateway client – decodes deflate with and without the head of zlib, whose limit counts what it expands to", async (t) => {
  for (const packed of [deflateSync, deflateRawSync]) {
    let text = EMPTY_DAY;
    const url = await serve(t, (_request, response) => {
      response.setHeader("content-encoding", "deflate");
      const body = packed(text);
      response.write(body.subarray(0, 1));
      response.end(body.subarray(1));
    });
    assert.equal((await readAll(clientFor(t, url))).text, EMPTY_DAY, packed.name);
    text = EMPTY_DAY.repeat(20_000);
    const small = clientFor(t, url, { bodyBytesMax: 1_000_000 });
    assert.equal((await failureOf(readAll(small))).failureClass, "too_large");
  }
});

test("gateway client – an error object of WCF is told by its message, also with a trace that is cut", async (t) => {
  const url = await serve(t, (_request, response) => {
    response.writeHead(500, { "content-type": "application/json" });
    const trace = "at Plant.Service ".repeat(2_000);
    response.end(`{"ExceptionDetail":null,"Message":"No \\"node\\" 7","StackTrace":"${trace}"}`);
  });
  const { message } = await failureOf(readAll(clientFor(t, url)));
  assert.equal(message, 'the gateway returned HTTP 500: No "node" 7');
});

test("gateway client – a 401 that offers Windows sign-in alone says what can be done, and is not repeated for a minute", async (t) => {
  let offered: string[] = ["Negotiate", "NTLM"];
  const url = await serve(t, (_request, response) => {
    response.writeHead(401, { "www-authenticate": offered });
    response.end("denied");
  });
  const windows = await failureOf(readAll(clientFor(t, url)));
  assert.match(
    windows.message,
    /only Windows sign-in \(Negotiate, NTLM\).*allow anonymous or Basic/,
  );
  assert.deepEqual(
    [windows.retryAfterMs, windows.httpStatus, windows.failureClass],
    [60_000, 401, "configuration"],
  );
  for (const other of [["NTLM", 'Basic realm="a, b"'], ['Basic realm="NTLM"'], []]) {
    offered = other;
    const failure = await failureOf(readAll(clientFor(t, url)));
    assert.deepEqual(
      [failure.retryAfterMs, failure.message],
      [null, "the gateway returned HTTP 401: denied"],
    );
  }
});

for (const [status, failureClass] of [
  [301, "configuration"],
  [401, "configuration"],
  [403, "configuration"],
  [407, "configuration"],
  [400, "request"],
  [404, "request"],
  [405, "request"],
  [413, "request"],
  [415, "request"],
  [408, "transient"],
  [429, "transient"],
  [500, "transient"],
  [503, "transient"],
] as const) {
  test(`gateway client – HTTP ${status} is of class ${failureClass}`, async (t) => {
    let calls = 0;
    const url = await serve(t, (_request, response) => {
      calls += 1;
      response.writeHead(status, { location: "/elsewhere", "retry-after": "7000" });
      response.end("<html>  <b>Request\nError</b> key-123</html>");
    });
    const client = clientFor(t, url, { headers: { authorization: "key-123" } });
    const failure = await failureOf(readAll(client));
    assert.equal(failure.failureClass, failureClass);
    assert.equal(failure.httpStatus, status);
    assert.equal(failure.statusNumber, null);
    assert.equal(failure.retryAfterMs, 600_000);
    assert.equal(failure.snippet, "<html> <b>Request Error</b> ***</html>");
    assert.equal(calls, 1);
    assert.equal(client.state.lastErrorClass, failureClass);
    assert.equal(client.state.isUp, false);
  });
}

test("gateway client – a closed port is transient and attributed to the gateway", async (t) => {
  const server = createServer();
  const url = await listen(t, server);
  await new Promise((resolve) => server.close(resolve));
  const failure = await failureOf(readAll(clientFor(t, url)));
  assert.deepEqual([failure.failureClass, failure.code], ["transient", "connect"]);
  assert.match(
    failure.message,
    /nothing accepts connections at its address and port \(ECONNREFUSED\)$/,
  );
  assert.equal(failure.isGatewayFault, true);
});

test("gateway client – an unknown host is transient", async (t) => {
  const failure = await failureOf(readAll(clientFor(t, "http://gateway.invalid:1")));
  assert.deepEqual([failure.failureClass, failure.code], ["transient", "name_resolution"]);
});

test("gateway client – plain text where TLS is expected is a configuration error", async (t) => {
  const url = await serve(t, (_request, response) => response.end(EMPTY_DAY));
  const failure = await failureOf(readAll(clientFor(t, url.replace("http:", "https:"))));
  assert.deepEqual([failure.failureClass, failure.code], ["configuration", "tls"]);
});

test("gateway client – a connection closed without a response fails that call, without a retry on a new one", async (t) => {
  let requests = 0;
  const url = await serveSocket(t, (socket) => {
    requests += 1;
    socket.destroy();
  });
  const failure = await failureOf(readAll(clientFor(t, url)));
  assert.deepEqual([failure.failureClass, failure.isGatewayFault], ["transient", false]);
  assert.equal(requests, 1);
});

test("gateway client – a stale kept-alive connection causes one immediate retry on a new one", async (t) => {
  const used = new WeakSet<Socket>();
  let stale = 0;
  const url = await serveSocket(t, (socket) => {
    if (used.has(socket)) {
      stale += 1;
      return socket.resetAndDestroy();
    }
    used.add(socket);
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${EMPTY_DAY.length}\r\n\r\n${EMPTY_DAY}`);
  });
  const client = clientFor(t, url, { concurrency: 1 });
  for (let turn = 0; turn < 3; turn += 1) assert.equal((await readAll(client)).text, EMPTY_DAY);
  assert.equal(stale, 2);
});

test("gateway client – settings are never sent twice automatically", async (t) => {
  let requests = 0;
  const url = await serveSocket(t, (socket) => {
    requests += 1;
    if (requests > 1) return socket.resetAndDestroy();
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${EMPTY_DAY.length}\r\n\r\n${EMPTY_DAY}`);
  });
  const client = clientFor(t, url, { concurrency: 1 });
  await readAll(client);
  const failure = await failureOf(client.post("saveSettings", {}, new AbortController().signal));
  assert.equal(failure.failureClass, "transient");
  assert.equal(requests, 2);
});

test("gateway client – settings are not lost on a kept-alive connection that went stale", async (t) => {
  const used = new WeakSet<Socket>();
  const url = await serveSocket(t, (socket) => {
    if (used.has(socket)) return socket.resetAndDestroy();
    used.add(socket);
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${EMPTY_DAY.length}\r\n\r\n${EMPTY_DAY}`);
  });
  const client = clientFor(t, url, { concurrency: 1 });
  await readAll(client);
  const answer = await client.post("saveSettings", {}, new AbortController().signal);
  assert.equal(answer.statusNumber, 0);
});

for (const [name, head] of [
  ["shorter than announced", "Content-Length: 5000"],
  ["chunked without its end", "Transfer-Encoding: chunked"],
] as const) {
  test(`gateway client – a body ${name} is truncated after the bytes that came`, async (t) => {
    const sent = EMPTY_DAY.slice(0, 20);
    const url = await serveSocket(t, (socket) => {
      const body = head.startsWith("T") ? `14\r\n${sent}\r\n` : sent;
      socket.end(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n${body}`);
    });
    const answer = await clientFor(t, url).read(REQUEST, new AbortController().signal);
    let text = "";
    const reading = (async () => {
      for await (const piece of answer.body) text += Buffer.from(piece).toString();
    })();
    assert.equal((await failureOf(reading)).failureClass, "truncated");
    assert.equal(text, sent);
  });
}

test("gateway client – silence before the response head, or between bytes, ends a call", async (t) => {
  let head = "";
  const url = await serveSocket(t, (socket) => {
    if (head !== "") socket.write(head);
  });
  const deadlines = { gapMs: 60 };
  const silent = await failureOf(readAll(clientFor(t, url, { timeoutMs: 20, deadlines })));
  assert.deepEqual([silent.failureClass, silent.code], ["transient", "first_byte_timeout"]);
  head = "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n[";
  const stalled = await failureOf(readAll(clientFor(t, url, { deadlines })));
  assert.deepEqual([stalled.failureClass, stalled.code], ["truncated", "gap_timeout"]);
});

test("gateway client – a drip-fed body is ended by the rate limit and by the total time limit", async (t) => {
  const url = await serve(t, (_request, response) => {
    const timer = setInterval(() => response.write(" "), 5);
    response.on("close", () => clearInterval(timer));
  });
  const slow = clientFor(t, url, { timeoutMs: 2_000, deadlines: { slowAfterMs: 60 } });
  assert.equal((await failureOf(readAll(slow))).code, "too_slow");
  const long = clientFor(t, url, { timeoutMs: 2_000, deadlines: { totalMs: 100 } });
  assert.equal((await failureOf(readAll(long))).code, "total_timeout");
});

test("gateway client – the total time limit counts from the request, also while nothing has arrived", async (t) => {
  const url = await serve(t, () => {});
  const failure = await failureOf(readAll(clientFor(t, url, { deadlines: { totalMs: 60 } })));
  assert.deepEqual([failure.failureClass, failure.code], ["transient", "total_timeout"]);
});

test("gateway client – the rate of a body does not count the time until the response head", async (t) => {
  const clock = new ManualClock();
  const url = await serve(t, (_request, response) => {
    void clock.advance(85_000).then(() => {
      response.write(EMPTY_DAY.slice(0, 10));
      // Several looks at the rate later.
      setTimeout(() => response.end(EMPTY_DAY.slice(10)), 100);
    });
  });
  const client = clientFor(t, url, { deadlines: { slowAfterMs: 20 } }, clock);
  assert.equal((await readAll(client)).text, EMPTY_DAY);
});

test("gateway client – a body over the limit is abandoned", async (t) => {
  const url = await serve(t, (_request, response) => response.end(" ".repeat(5_000)));
  const failure = await failureOf(readAll(clientFor(t, url, { bodyBytesMax: 4_000 })));
  assert.equal(failure.failureClass, "too_large");
});

test("gateway client – an aborted call ends at once, before and after the response head, and frees its slot", async (t) => {
  let answers = false;
  const url = await serve(t, (_request, response) => {
    if (answers) response.end(EMPTY_DAY);
    else if (head) response.write("[");
  });
  let head = false;
  const client = clientFor(t, url, { concurrency: 1 });
  const first = new AbortController();
  const waiting = failureOf(readAll(client, first.signal));
  setImmediate(() => first.abort());
  assert.equal((await waiting).failureClass, "aborted");
  head = true;
  const second = new AbortController();
  const answer = await client.read(REQUEST, second.signal);
  const next = answer.body[Symbol.asyncIterator]();
  await next.next();
  second.abort();
  const failure = await failureOf(next.next());
  assert.equal(failure.failureClass, "aborted");
  answers = true;
  assert.equal((await readAll(client)).text, EMPTY_DAY);
});

test("gateway client – a signal shared by many calls has one listener, and none when they have ended", async (t) => {
  const held: ServerResponse[] = [];
  const url = await serve(t, (_request, response) => held.push(response));
  const client = clientFor(t, url, { concurrency: 12 });
  const { signal } = new AbortController();
  const listeners = () => getEventListeners(signal, "abort").length;
  const wokenUp = readAll(client, signal);
  // These wait for the first answer, then for a connection, then for theirs.
  const calls = Array.from({ length: 30 }, () => readAll(client, signal));
  assert.equal(listeners(), 1);
  let most = 0;
  while (held.length === 0) await new Promise((resolve) => setImmediate(resolve));
  held.shift()?.end(EMPTY_DAY);
  await wokenUp;
  const all = Promise.all(calls);
  let isOver = false;
  void all.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    most = Math.max(most, listeners());
    for (const response of held.splice(0)) response.end(EMPTY_DAY);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await all;
  assert.equal(most, 1);
  assert.equal(listeners(), 0);
});

test("gateway client – a reader that stops early frees its slot", async (t) => {
  const url = await serve(t, (_request, response) => response.end(" ".repeat(3_000_000)));
  const client = clientFor(t, url, { concurrency: 1 });
  for (let turn = 0; turn < 2; turn += 1) {
    const answer = await client.read(REQUEST, new AbortController().signal);
    for await (const piece of answer.body) if (piece.length > 0) break;
  }
  assert.equal((await readAll(client)).text.length, 3_000_000);
});

test("gateway client – a slow reader pauses the socket, not the call", async (t) => {
  const url = await serve(t, (_request, response) => response.end(" ".repeat(8_000_000)));
  const gapMs = deadlineMs(15);
  const client = clientFor(t, url, { deadlines: { gapMs } });
  const answer = await client.read(REQUEST, new AbortController().signal);
  let bytes = 0;
  for await (const piece of answer.body) {
    // The pause is the subject: three times the deadline for a gap.
    if (bytes === 0) await new Promise((resolve) => setTimeout(resolve, 3 * gapMs));
    bytes += piece.length;
  }
  assert.equal(bytes, 8_000_000);
});

for (const { limit, deadlines, code } of [
  { limit: "the deadline between bytes", deadlines: { gapMs: 60 }, code: "gap_timeout" },
  {
    limit: "the rate limit",
    deadlines: { gapMs: 600_000, slowAfterMs: 60, bytesPerSecondMin: 100_000_000 },
    code: "too_slow",
  },
]) {
  test(`gateway client – a body that was paused, resumed, and then falls silent is ended by ${limit}`, async (t) => {
    const url = await serve(t, (_request, response) => void response.write(" ".repeat(1_000_000)));
    const client = clientFor(t, url, { deadlines: { ...deadlines, totalMs: 600_000 } });
    const answer = await client.read(REQUEST, new AbortController().signal);
    let bytes = 0;
    const reading = async () => {
      for await (const piece of answer.body) {
        // The pause is the subject: longer than the deadline.
        if (bytes === 0) await new Promise((resolve) => setTimeout(resolve, 200));
        bytes += piece.length;
      }
    };
    const failure = await failureOf(reading());
    assert.deepEqual([failure.code, bytes], [code, 1_000_000]);
  });
}

test("gateway client – a response whose body was never begun gives its connection back when it is cancelled", async (t) => {
  const url = await serve(t, (_request, response) => response.end(" ".repeat(3_000_000)));
  const client = clientFor(t, url, { concurrency: 1 });
  const answer = await client.read(REQUEST, new AbortController().signal);
  answer.cancel();
  assert.equal((await readAll(client)).text.length, 3_000_000);
});

test("gateway client – while the first call wakes the service, no other is sent; then as many as allowed", async (t) => {
  const waiting: ServerResponse[] = [];
  let most = 0;
  const url = await serve(t, (_request, response) => {
    waiting.push(response);
    most = Math.max(most, waiting.length);
  });
  const client = clientFor(t, url, { concurrency: 2 });
  const calls = Array.from({ length: 5 }, () => readAll(client));
  const answerOne = async () => {
    while (waiting.length === 0) await new Promise((resolve) => setImmediate(resolve));
    waiting.shift()?.end(EMPTY_DAY);
  };
  while (waiting.length === 0) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(most, 1);
  await answerOne();
  while (waiting.length < 2) await new Promise((resolve) => setImmediate(resolve));
  for (let turn = 0; turn < 4; turn += 1) await answerOne();
  await Promise.all(calls);
  assert.equal(most, 2);
});

test("gateway client – a first call that times out has woken the service: the others do not wait for another one", async (t) => {
  const timeoutMs = deadlineMs(75);
  let calls = 0;
  const url = await serve(t, (_request, response) => {
    calls += 1;
    // The first two hang for good.
    if (calls > 2) response.end(EMPTY_DAY);
  });
  const client = clientFor(t, url, { concurrency: 2, timeoutMs });
  const first = failureOf(readAll(client)).then(({ message }) => message);
  const second = failureOf(readAll(client)).then(({ message }) => message);
  const third = readAll(client).then(() => calls);
  assert.equal(await first, `no response within ${3 * timeoutMs} ms`);
  assert.equal(await third, 3, "while the second one hangs");
  assert.equal(await second, `no response within ${timeoutMs} ms`);
});

test("gateway client – after 15 idle minutes a call may again take three times as long", async (t) => {
  const timeoutMs = deadlineMs(75);
  const url = await serve(t, (_request, response) => {
    // The delay is the subject: longer than one deadline, much shorter than three.
    setTimeout(() => response.end(EMPTY_DAY), 1.2 * timeoutMs);
  });
  const clock = new ManualClock();
  const client = createGatewayClient(
    { clock, metrics: createMetrics() },
    {
      url,
      names: createWireNames({ word: "sensor", service: "SensorService.svc" }),
      timeoutMs,
      concurrency: 1,
      bodyBytesMax: 1_000,
    },
  );
  t.after(() => client.close());
  assert.equal((await readAll(client)).text, EMPTY_DAY);
  assert.equal((await failureOf(readAll(client))).code, "first_byte_timeout");
  await clock.advance(15 * 60_000 + 1);
  assert.equal((await readAll(client)).text, EMPTY_DAY);
});

for (const [name, answer, expected] of [
  ["an array", '[{"Key":{"StatusNumber":503,"Description":"no"},"Configs":[],"Value":[]}]', 503],
  ["one object", '{"Key":{"StatusNumber":0,"Description":"no"}}', 0],
  ["wrapped", '{"saveSettingsResult":[{"Key":{"StatusNumber":"506","Description":"no"}}]}', 506],
  ["bare", '\uFEFF {"StatusNumber":502,"Description":"no"}', 502],
] as const) {
  test(`gateway client – post reads an outcome written as ${name}`, async (t) => {
    const bodies: string[] = [];
    const url = await serve(t, (request, response, body) => {
      bodies.push(`${request.url} ${body}`);
      response.end(answer);
    });
    const outcome = await clientFor(t, url).post(
      "saveSettings",
      { sensorCode: 10234, Range: 8 },
      new AbortController().signal,
    );
    assert.deepEqual([outcome.statusNumber, outcome.description], [expected, "no"]);
    assert.deepEqual(bodies, ['/SensorService.svc/saveSettings {"acmeCode":10234,"Range":8}']);
  });
}

test("gateway client – post distinguishes an HTML page and an empty response from an outcome", async (t) => {
  let body = "<html>Sign in</html>";
  const url = await serve(t, (_request, response) => response.end(body));
  const client = clientFor(t, url);
  const page = await failureOf(client.post("saveSettings", {}, new AbortController().signal));
  assert.deepEqual([page.failureClass, page.snippet], ["not_json", "<html>Sign in</html>"]);
  body = "";
  const empty = await failureOf(client.post("saveSettings", {}, new AbortController().signal));
  assert.equal(empty.failureClass, "truncated");
});

test("gateway client – a status number is kept as the last error of a healthy gateway", async (t) => {
  const url = await serve(t, (_request, response) => response.end(EMPTY_DAY));
  const client = clientFor(t, url);
  await readAll(client);
  client.note("service_status", "the gateway returned status 17: no such sensor", null);
  assert.equal(client.state.isUp, true);
  assert.equal(client.state.lastErrorClass, "service_status");
  assert.match(client.state.lastError ?? "", /17: no such sensor/);
  client.note("not_json", "the response is not JSON", null);
  assert.equal(client.state.isUp, false);
});

test("gateway client – a day that keeps failing while others are read says nothing about the gateway; all of them do", async (t) => {
  let isDown = false;
  const url = await serve(t, (_request, response, body) => {
    if (isDown || body.includes("2026-11-19")) response.writeHead(500);
    response.end(EMPTY_DAY);
  });
  const client = clientFor(t, url);
  const bad = { ...REQUEST, date: "2026-11-19" };
  const readBad = () => failureOf(readAll(client, undefined, bad));
  const readGood = async () => {
    await readAll(client);
    client.noteRead({ sensor: REQUEST.sensor.code, kind: REQUEST.kind, day: REQUEST.date });
  };
  await readGood();
  // It may be the first of many.
  await readBad();
  assert.equal(client.state.isUp, false);
  await readGood();
  for (let i = 0; i < 2; i++) await readBad();
  assert.equal(client.state.isUp, true);
  assert.match(client.state.lastError ?? "", /500/);
  isDown = true;
  await failureOf(readAll(client));
  await readBad();
  assert.equal(client.state.isUp, false);
});
