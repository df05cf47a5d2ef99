import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import { createApp, createHttpServer } from "../../src/http/server.ts";
import { filledParts } from "../support/filled-parts.ts";
import { OPTIONS } from "../support/http-parts.ts";

/** Seeded by fast-check, which prints the seed and the smallest failing case. */
const RUNS = Number(process.env["FUZZ_RUNS"] ?? 500);

test("fuzz – API paths and queries: no 5xx except 501", async (t) => {
  const app = createApp(filledParts(), OPTIONS);
  t.after(() => app.close());
  const paths = [
    "status",
    "sensors",
    "sensors/10234",
    "readings",
    "trend",
    "waveforms",
    "waveform/9",
    "spectrum/9",
    "gaps",
    "faults",
    "backfill",
    "audit",
    "alarms",
    "alarms/audit",
    "sensors/10234/spectra",
  ];
  const names = [
    "sensor",
    "kind",
    "from",
    "to",
    "limit",
    "cursor",
    "order",
    "buckets",
    "values",
    "unit",
    "q",
    "area",
    "state",
    "count",
    "history",
  ];
  const text = fc.oneof(
    fc.constantFrom(
      "10234",
      "accel",
      "0",
      "1",
      "-5",
      "6",
      "99999999999999999999",
      "1e999",
      "-Infinity",
      "2026-11-20T00:00:00Z",
      "-999999999999999",
    ),
    fc.string(),
  );
  const query = fc.array(fc.tuple(fc.constantFrom(...names), text), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(fc.constantFrom(...paths), fc.webPath()),
      query,
      async (path, pairs) => {
        const sure: [string, string][] = [
          ["sensor", "10234"],
          ["kind", "accel"],
        ];
        const search = new URLSearchParams(pairs.length % 2 === 0 ? [...sure, ...pairs] : pairs);
        const url = `/api/v1/${path.replace(/^\/+/, "")}?${search}`;
        const { statusCode, body } = await app.inject({ url, headers: { host: "localhost" } });
        assert.ok(statusCode < 500, `${url} ${statusCode} ${body}`);
      },
    ),
    { numRuns: RUNS },
  );
});

test("fuzz – a number beyond all bounds is refused like any other that is too large", async (t) => {
  const app = createApp(filledParts(), OPTIONS);
  t.after(() => app.close());
  for (const path of ["audit?limit=", "alarms?history=", "sensors/10234/spectra?count="])
    for (const number of ["1e999", "Infinity", "-Infinity"]) {
      const url = `/api/v1/${path}${number}`;
      const { statusCode, body } = await app.inject({ url, headers: { host: "localhost" } });
      assert.equal(statusCode, 400, `${url} ${body}`);
      assert.match(body, /must be a finite number/);
    }
});

test("fuzz – no operation walks a body that would exhaust the stack", async (t) => {
  const app = createApp(filledParts(), OPTIONS);
  t.after(() => app.close());
  const answer = await app.inject({
    method: "POST",
    url: "/api/v1/settings",
    headers: { host: "localhost", "content-type": "application/json" },
    payload: `${'{"a":'.repeat(5000)}1${"}".repeat(5000)}`,
  });
  assert.equal(answer.statusCode, 400, answer.body);
  assert.match(answer.body, /nested deeper than 64/);
});

test("fuzz – bytes that are not HTTP are refused, and the server keeps running", async (t) => {
  const server = createHttpServer(filledParts(), OPTIONS);
  const address = new URL(await server.listen());
  t.after(() => server.close());
  const send = (bytes: Uint8Array | string) =>
    new Promise<string>((resolve) => {
      let answer = "";
      const socket = connect(Number(address.port), address.hostname, () => socket.end(bytes));
      socket.on("data", (data) => {
        answer += data.toString("latin1");
      });
      socket.on("error", () => resolve(answer));
      socket.on("close", () => resolve(answer));
    });
  const garbage = [
    "\r\n\r\n",
    "GET /",
    "GET / HTTP/9.9\r\n\r\n",
    `GET /${"a".repeat(40_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${"a".repeat(40_000)}\r\n\r\n`,
    "POST /ApiWeb.svc/GetUnits HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST /ApiWeb.svc/GetUnits HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    "GET /healthz HTTP/1.1\r\n\r\n",
    "GET /healthz HTTP/1.1\r\nHost: localhost\r\nhost: localhost\r\n\r\n",
    "GET /%zz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
    new Uint8Array(5000).map((_, i) => (i * 7919) % 256),
  ];
  for (const bytes of garbage)
    assert.match((await send(bytes)).slice(0, 12), /^(HTTP\/1\.1 4\d\d)?$/, String(bytes));
  assert.equal((await fetch(`${address.href}healthz`)).status, 200);
});
