import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { createApp, createHttpServer } from "../../src/http/server.ts";
import { uplinkMetrics } from "../../src/lib/metrics.ts";
import { deadlineMs } from "../support/deadline.ts";
import { agentStatus, OPTIONS, testParts } from "../support/http-parts.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { tempDirectory } from "../support/temp-database.ts";
import { waitUntil } from "../support/wait-until.ts";

const local = { host: "localhost" };

test("server – bound to loopback, a request with a foreign Host name is refused", async (t) => {
  const app = createApp(testParts(), OPTIONS);
  t.after(() => app.close());
  for (const host of [
    "evil.example",
    "evil.example:8080",
    "127.0.0.1.evil.example",
    "a@localhost",
    "[::2]",
  ]) {
    const answer = await app.inject({ url: "/api/v1/status", headers: { host } });
    assert.equal(answer.statusCode, 403, host);
  }
  for (const host of ["localhost", "LOCALHOST:9", "127.0.0.1:8080", "[::1]:8080", "127.9.9.9"]) {
    const answer = await app.inject({ url: "/api/v1/status", headers: { host } });
    assert.equal(answer.statusCode, 200, host);
  }
});

test("server – bound to the network, any Host name is accepted", async (t) => {
  const app = createApp(testParts(), { ...OPTIONS, host: "0.0.0.0", token: "t0ken" });
  t.after(() => app.close());
  const headers = { host: "box7.plant.example", authorization: "Bearer t0ken" };
  assert.equal((await app.inject({ url: "/api/v1/status", headers })).statusCode, 200);
});

test("server – a request sent by a page of another origin is refused before it has any effect", async (t) => {
  const app = createApp(testParts(), OPTIONS);
  t.after(() => app.close());
  for (const headers of [
    { origin: "http://evil.example" },
    { origin: "null" },
    { "sec-fetch-site": "cross-site" },
  ]) {
    const answer = await app.inject({
      method: "POST",
      url: "/api/v1/backfill",
      headers: { ...local, ...headers },
      payload: {},
    });
    assert.equal(answer.statusCode, 403);
    assert.equal(answer.headers["access-control-allow-origin"], undefined);
  }
  for (const headers of [
    { origin: "http://evil.example" },
    { origin: "null" },
    { "sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors" },
    { "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors" },
  ]) {
    for (const url of ["/api/v1/status", "/metrics", "/api/v1/events"]) {
      const answer = await app.inject({ url, headers: { ...local, ...headers } });
      assert.equal(answer.statusCode, 403, `${url} ${JSON.stringify(headers)}`);
      assert.equal(answer.headers["access-control-allow-origin"], undefined);
    }
  }
  // A link on another page to the dashboard is no request of that page's.
  const link = { ...local, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" };
  assert.equal((await app.inject({ url: "/api/v1/status", headers: link })).statusCode, 200);
  for (const origin of ["null", "http://evil.example"]) {
    const headers = { ...link, origin };
    assert.equal((await app.inject({ url: "/api/v1/status", headers })).statusCode, 403, origin);
  }
  const own = { ...local, origin: "http://localhost", "sec-fetch-site": "same-origin" };
  const answer = await app.inject({
    method: "POST",
    url: "/api/v1/backfill",
    headers: own,
    payload: { from: "2026-11-01", to: "2026-11-02" },
  });
  // It has been asked: a backfill is running.
  assert.equal(answer.statusCode, 409);
});

test("server – without Sec-Fetch-Site, as over plain http, the Origin decides by scheme, host and port", async (t) => {
  const app = createApp(testParts(), { ...OPTIONS, host: "::", token: "t0ken" });
  t.after(() => app.close());
  const signIn = async (headers: Record<string, string>) =>
    (await app.inject({ method: "POST", url: "/sign-in", headers, payload: { token: "t0ken" } }))
      .statusCode;
  for (const [host, origin] of [
    ["192.0.2.7:8080", "http://192.0.2.7:8080"],
    ["[2001:db8::7]:8080", "http://[2001:db8::7]:8080"],
    ["Box7.local", "http://box7.local"],
    ["box7.local:80", "http://box7.local"],
  ] as const)
    assert.equal(await signIn({ host, origin }), 204, origin);
  for (const [host, origin] of [
    ["192.0.2.7:8080", "https://192.0.2.7:8080"],
    ["192.0.2.7:8080", "http://192.0.2.7:8081"],
    ["192.0.2.7:8080", "http://192.0.2.7"],
    ["192.0.2.7:8080", "http://192.0.2.8:8080"],
    ["192.0.2.7:8080", "null"],
    ["192.0.2.7:8080", "nothing"],
    ["not a host", "nothing"],
  ] as const)
    assert.equal(await signIn({ host, origin }), 403, origin);
  // A proxy that ends TLS says so, and the browser says the rest.
  const host = "box7.plant.example";
  const origin = "https://box7.plant.example";
  assert.equal(await signIn({ host, origin, "x-forwarded-proto": "https" }), 204);
  assert.equal(await signIn({ host, origin, "sec-fetch-site": "same-origin" }), 204);
  assert.equal(await signIn({ host, origin: "null", "sec-fetch-site": "same-origin" }), 403);
});

test("server – with a token, every path that there is except healthz requires it", async (t) => {
  const parts = testParts();
  const app = createApp(parts, { ...OPTIONS, token: "t0ken" });
  t.after(() => app.close());
  const paths = [
    "/",
    "/metrics",
    "/readyz",
    "/api/v1/status",
    "/api/v1/events",
    "/api/v1/openapi.json",
  ];
  for (const url of paths) {
    await parts.clock.advance(60_000); // One address may be wrong ten times a minute.
    for (const authorization of ["", "Bearer wrong", "Basic t0ken", "Bearer t0ken2", "bearer"]) {
      const answer = await app.inject({ url, headers: { ...local, authorization } });
      assert.equal(answer.statusCode, 401, `${url} ${authorization}`);
      assert.match(String(answer.headers["www-authenticate"]), /^Bearer/);
      assert.ok(!answer.body.includes("t0ken"));
    }
  }
  assert.equal((await app.inject({ url: "/healthz", headers: local })).statusCode, 200);
  const authorization = "Bearer t0ken";
  for (const url of ["/", "/metrics", "/readyz", "/api/v1/status"]) {
    assert.equal(
      (await app.inject({ url, headers: { ...local, authorization } })).statusCode,
      200,
      url,
    );
  }
});

test("server – sign-in sets a cookie that scripts cannot read; sign-out and inactivity end the session", async (t) => {
  const parts = testParts();
  const app = createApp(parts, { ...OPTIONS, token: "t0ken" });
  t.after(() => app.close());
  const signIn = (token: string) =>
    app.inject({ method: "POST", url: "/sign-in", headers: local, payload: { token } });
  assert.equal((await signIn("wrong")).statusCode, 401);
  const answer = await signIn("t0ken");
  assert.equal(answer.statusCode, 204);
  const setCookie = String(answer.headers["set-cookie"]);
  assert.match(setCookie, /; HttpOnly; SameSite=Strict;/);
  const cookie = setCookie.split(";")[0] ?? "";
  const status = async () =>
    (await app.inject({ url: "/api/v1/status", headers: { ...local, cookie } })).statusCode;
  assert.equal(await status(), 200);
  await parts.clock.advance(23 * 3_600_000);
  assert.equal(await status(), 200);
  await parts.clock.advance(24 * 3_600_000 + 1);
  assert.equal(await status(), 401);
});

test("server – a form sign-in without script opens the dashboard; a browser without a session gets the sign-in page", async (t) => {
  const app = createApp(testParts(), { ...OPTIONS, token: "t0ken" });
  t.after(() => app.close());
  const page = await app.inject({ url: "/", headers: local });
  assert.equal(page.statusCode, 401);
  assert.match(page.body, /<form method="post">/);
  assert.equal((await app.inject({ url: "/sign-in.css", headers: local })).statusCode, 200);
  for (const url of ["/sign-in", "/"]) {
    const send = (payload: string) =>
      app.inject({
        method: "POST",
        url,
        headers: { ...local, "content-type": "application/x-www-form-urlencoded" },
        payload,
      });
    const answer = await send("token=t0ken");
    assert.equal(answer.statusCode, 303);
    assert.equal(answer.headers.location, "/");
    assert.equal((await send("token=other")).statusCode, 401);
  }
});

test("server – after ten different wrong tokens, further wrong ones are delayed; the right one is accepted at once, because all clients behind a proxy share an address", async (t) => {
  const parts = testParts();
  const app = createApp(parts, { ...OPTIONS, token: "t0ken" });
  t.after(() => app.close());
  const signIn = (token: string, remoteAddress = "127.0.0.1") =>
    app.inject({
      method: "POST",
      url: "/sign-in",
      headers: local,
      payload: { token },
      remoteAddress,
    });
  const bearer = async (token: string) => {
    const headers = { ...local, authorization: `Bearer ${token}` };
    return (await app.inject({ url: "/api/v1/status", headers })).statusCode;
  };
  // A scraper with last year's token is no guesser, and locks nobody out.
  for (let i = 0; i < 50; i++) assert.equal(await bearer("of-last-year"), 401);
  assert.equal((await signIn("t0ken")).statusCode, 204);
  for (let i = 0; i < 9; i++) assert.equal((await signIn(`wrong ${i}`)).statusCode, 401);
  const blocked = await signIn("wrong 10");
  assert.equal(blocked.statusCode, 429);
  assert.ok(Number(blocked.headers["retry-after"]) > 0);
  assert.equal(await bearer("one-more"), 429);
  // Behind a proxy all have one address.
  assert.equal(await bearer("t0ken"), 200);
  assert.equal((await signIn("t0ken")).statusCode, 204);
  const form = await app.inject({
    method: "POST",
    url: "/sign-in",
    headers: { ...local, "content-type": "application/x-www-form-urlencoded" },
    payload: "token=wrong",
  });
  assert.equal(form.statusCode, 429);
  assert.match(form.body, /role="alert">Too many wrong tokens. Try again in \d+ s/);
  assert.equal((await signIn("guess", "10.0.0.9")).statusCode, 401);
  await parts.clock.advance(60_000);
  assert.equal((await signIn("wrong again")).statusCode, 401);
});

test("server – wrong tokens are logged: each other one that signs in, and one line for an address that is locked out", async (t) => {
  const logger = new RecordingLogger();
  const app = createApp({ ...testParts(), logger }, { ...OPTIONS, token: "t0ken" });
  t.after(() => app.close());
  const signIn = (token: string) =>
    app.inject({ method: "POST", url: "/sign-in", headers: local, payload: { token } });
  for (let i = 0; i < 40; i++) await signIn(`wrong-${Math.floor(i / 2)}`);
  const warned = logger.lines.map(({ message }) => message);
  assert.equal(warned.filter((line) => line === "sign-in with a wrong token").length, 10);
  assert.deepEqual(
    logger.lines
      .filter(({ message }) => message.startsWith("too many"))
      .map(({ fields }) => fields),
    [{ address: "127.0.0.1", seconds: 60, wrong: 10 }],
  );
  assert.equal(warned.length, 11);
  assert.doesNotMatch(logger.text, /wrong-\d/);
});

test("server – a client over TCP that resets its connection before it is accepted is not the local socket", async (t) => {
  let published = 0;
  const tryPublish = () => {
    published += 1;
    return Promise.resolve([]);
  };
  const socketPath = join(tempDirectory(t), "agent.sock");
  const server = createHttpServer(testParts({ tryPublish }), { ...OPTIONS, socketPath });
  const address = new URL(await server.listen());
  t.after(() => server.close());
  const head = "POST /api/v1/doctor/publish HTTP/1.1\\r\\nHost: localhost\\r\\n";
  const rest = "Content-Type: application/json\\r\\nContent-Length: 2\\r\\n\\r\\n{}";
  // While this process waits for the other one, it accepts nothing.
  const { status } = spawnSync(process.execPath, [
    "-e",
    `let left = 40;
     for (let n = 0; n < 40; n++) {
       const socket = require("node:net").connect(${address.port}, "127.0.0.1", () =>
         socket.write("${head}${rest}", () => socket.resetAndDestroy()));
       socket.on("close", () => --left || process.exit(0)).on("error", () => {});
     }`,
  ]);
  assert.equal(status, 0);
  // Accepted after the others: what they sent has been read.
  assert.equal((await fetch(new URL("/healthz", address))).status, 200);
  assert.equal((await fetch(new URL("/healthz", address))).status, 200);
  assert.equal(published, 0);
});

test("server – a thousand connections that send nothing, or half a request, do not lock anybody out", async (t) => {
  const server = createHttpServer(testParts(), OPTIONS);
  const address = new URL(await server.listen());
  const sockets: Socket[] = [];
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    await server.close();
  });
  const body =
    "POST /ApiWeb.svc/GetUnits HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
  const openings = ["", "GET / HT", `${body}Content-Length: 100\r\n\r\n{`];
  for (let n = 0; n < 1_000; n++) {
    const socket = connect(Number(address.port), "127.0.0.1").on("error", () => {});
    sockets.push(socket);
    await once(socket, "connect");
    socket.write(openings[n % openings.length] ?? "");
    if (n % 100 === 99) assert.equal((await fetch(new URL("/healthz", address))).status, 200);
  }
});

test("server – every response has the security headers, including errors", async (t) => {
  const app = createApp(testParts(), { ...OPTIONS, token: "t0ken" });
  t.after(() => app.close());
  for (const url of ["/healthz", "/api/v1/status", "/nowhere"]) {
    const { headers } = await app.inject({ url, headers: local });
    const policy = String(headers["content-security-policy"]);
    assert.match(policy, /default-src 'none'/);
    assert.ok(!/unsafe|\*|https?:/.test(policy), policy);
    assert.equal(headers["x-content-type-options"], "nosniff");
  }
});

test("health – 503 names the failing component; readiness requires gateway, broker and buffer", async (t) => {
  const parts = testParts();
  const app = createApp(parts, OPTIONS);
  t.after(() => app.close());
  const get = async (url: string) => {
    const answer = await app.inject({ url, headers: local });
    return { status: answer.statusCode, body: answer.json() };
  };
  assert.equal((await get("/healthz")).status, 200);
  parts.setHealth([
    { name: "loop", isWell: true, detail: "" },
    { name: "database", isWell: false, detail: "disk I/O error" },
  ]);
  const failing = await get("/healthz");
  assert.equal(failing.status, 503);
  assert.equal(failing.body.checks.database.detail, "disk I/O error");

  const ready = await get("/readyz");
  assert.equal(ready.status, 200);
  assert.deepEqual(ready.body.checks.broker.uplinks, { main: { ok: true, detail: "connected" } });
  const { gateway, buffer, links } = agentStatus();
  const unready = [
    ["gateway", { gateway: { ...gateway, isUp: false, lastError: "connect ECONNREFUSED" } }],
    ["broker", { links: links.map((link) => ({ ...link, isConnected: false })) }],
    ["broker", { links: links.map((link) => ({ ...link, hostOnline: false })) }],
    ["broker", { links: [] }],
    ["buffer", { buffer: { ...buffer, isWritable: false } }],
    ["buffer", { buffer: { ...buffer, alarm: "disk full" } }],
  ] as const;
  for (const [name, change] of unready) {
    parts.setStatus(agentStatus(change));
    const answer = await get("/readyz");
    assert.equal(answer.status, 503);
    for (const [part, check] of Object.entries(answer.body.checks)) {
      assert.equal((check as { ok: boolean }).ok, part !== name, `${name}: ${part}`);
    }
  }
});

test("metrics – the contract's names exist, and gauges follow the status", async (t) => {
  const parts = testParts();
  uplinkMetrics(parts.metrics, "main");
  const app = createApp(parts, OPTIONS);
  t.after(() => app.close());
  const scrape = async () => (await app.inject({ url: "/metrics", headers: local })).body;
  const text = await scrape();
  for (const line of [
    'gateside_gateway_up{site="plant-7"} 1',
    'gateside_broker_connected{site="plant-7"} 1',
    'gateside_link_connected{link="mqtt",uplink="main",site="plant-7"} 1',
    'gateside_outbox_readings{site="plant-7"} 3',
    'gateside_lane_outbox_readings{uplink="main",lane="json",site="plant-7"} 3',
    'gateside_delivered_total{uplink="main",site="plant-7"} 0',
    'gateside_dropped_total{reason="buffer_full",site="plant-7"} 0',
    'gateside_records_rejected_total{reason="no_time",site="plant-7"} 0',
    'gateside_delivery_failures_total{reason="lost",uplink="main",site="plant-7"} 0',
    'gateside_outbox_oldest_age_seconds{site="plant-7"} 5.25',
    'gateside_database_bytes{site="plant-7"} 4096',
    'gateside_freshness_seconds_count{site="plant-7",uplink="main"} 0',
    'gateside_gateway_clock_skew_seconds{site="plant-7"} 0.25',
  ]) {
    assert.ok(text.split("\n").includes(line), line);
  }
  assert.match(text, /gateside_event_loop_delay_seconds\{quantile="p99",site="plant-7"\} /);
  for (const line of text.split("\n")) assert.match(line, /^(#.*|gateside_.*|)$/);
  for (const line of text.split("\n")) {
    if (line !== "" && !line.startsWith("#")) assert.match(line, /[{,]site="plant-7"[,}]/);
  }
  const { gateway, buffer } = agentStatus();
  const unknown = { ...buffer, hoursUntilFull: null };
  const down = { ...gateway, isUp: false, skewMs: 7_200_000 };
  parts.setStatus(agentStatus({ gateway: down, buffer: unknown }));
  const later = (await scrape()).split("\n");
  assert.ok(later.includes('gateside_gateway_up{site="plant-7"} 0'));
  // A reading waits as long as the gateway's clock says, which is two hours ahead of ours.
  assert.ok(later.includes('gateside_outbox_oldest_age_seconds{site="plant-7"} 7205'));
  assert.ok(
    later.includes('gateside_buffer_hours_until_full{site="plant-7"} NaN'),
    "as the text format spells it",
  );
});

test("metrics – state, age, battery and zone of each sensor in the site file, by the gateway's clock, and of no other", async (t) => {
  const parts = testParts();
  const app = createApp(parts, OPTIONS);
  t.after(() => app.close());
  const scrape = async () => (await app.inject({ url: "/metrics", headers: local })).body;
  const [sensor] = agentStatus().sensors;
  assert.ok(sensor);
  const { gateway, nowMs } = agentStatus();
  const of = (name: string, more = "") =>
    `gateside_sensor_${name}{sensor="10234",name="Pump 4"${more},site="plant-7"}`;
  parts.setStatus(
    agentStatus({
      gateway: { ...gateway, skewMs: 3_600_000 },
      sensors: [
        {
          ...sensor,
          name: "Pump 4",
          zone: "C",
          state: "silent",
          lastReadingMs: nowMs,
          batteryV: 3.6,
        },
        { ...sensor, code: "2", state: "unknown", lastReadingMs: null, batteryV: null, zone: null },
      ],
    }),
  );
  const lines = (await scrape()).split("\n");
  for (const line of [
    `${of("state", ',state="silent"')} 1`,
    `${of("state", ',state="online"')} 0`,
    `${of("reading_age_seconds")} 3600`,
    `${of("battery_volts")} 3.6`,
    `${of("zone")} 3`,
    'gateside_sensor_state{sensor="2",name="",state="unknown",site="plant-7"} 1',
  ]) {
    assert.ok(lines.includes(line), line);
  }
  assert.ok(!lines.some((line) => /^gateside_sensor_(zone|battery).*sensor="2"/.test(line)));
  parts.setStatus(agentStatus({ sensors: [] }));
  assert.doesNotMatch(await scrape(), /^gateside_sensor_state\{/m);
});

test("server – a connection that does not finish its request is closed, and close does not wait for idle ones", async (t) => {
  const server = createHttpServer(testParts(), OPTIONS);
  const address = new URL(await server.listen());
  const idle = connect(Number(address.port), address.hostname);
  await new Promise((resolve) => idle.once("connect", resolve));
  const ended = new Promise((resolve) => idle.once("close", resolve));
  t.after(() => idle.destroy());
  assert.equal(server.address, address.href.replace(/\/$/, ""));
  await server.close();
  await ended;
  assert.equal(server.address, null);
});

test("server – if two servers use one port, the second reports it", async (t) => {
  const first = createHttpServer(testParts(), OPTIONS);
  const address = new URL(await first.listen());
  t.after(() => first.close());
  const second = createHttpServer(testParts(), { ...OPTIONS, port: Number(address.port) });
  t.after(() => second.close());
  await assert.rejects(second.listen(), { code: "EADDRINUSE" });
});

test("events – a stream starts with the status, sends readings as they are stored, and ends with the server", async (t) => {
  const parts = testParts();
  const server = createHttpServer(parts, OPTIONS);
  const address = await server.listen();
  t.after(() => server.close());
  const answer = await fetch(`${address}/api/v1/events`);
  assert.equal(answer.headers.get("content-type"), "text/event-stream; charset=utf-8");
  assert.ok(answer.headers.get("content-security-policy"));
  const reader = (answer.body ?? assert.fail("no body")).getReader();
  const decoder = new TextDecoder();
  let text = "";
  const until = async (pattern: RegExp): Promise<void> => {
    while (!pattern.test(text)) {
      const { done, value } = await reader.read();
      assert.ok(!done, "the stream ended early");
      text += decoder.decode(value, { stream: true });
    }
  };
  await until(/^event: status\ndata: \{.*\}\n\n/m);
  assert.equal(parts.subscribers, 1);
  const reading = parts.history.add({
    sensor: "40001",
    kind: "rpm",
    timeMs: 0,
    values: { rpm: 1480 },
  });
  parts.emit({ type: "reading", reading });
  await until(/^event: reading\ndata: \{.*"values":\{"rpm":1480\}.*\}\n\n/m);
  await server.close();
  for (;;) if ((await reader.read()).done) break;
  assert.equal(parts.subscribers, 0);
});

test("events – a client that reconnects receives what it missed, or learns that events may be missing", {
  timeout: deadlineMs(10_000),
}, async (t) => {
  const parts = testParts();
  const server = createHttpServer(parts, OPTIONS);
  const address = await server.listen();
  t.after(() => server.close());
  const store = (rpm: number) => {
    const values = { rpm };
    const reading = parts.history.add({ sensor: "40001", kind: "rpm", timeMs: rpm, values });
    parts.emit({ type: "reading", reading });
    return reading.seq;
  };
  /** Reads until the pattern is there, then leaves. */
  const visit = async (pattern: RegExp, last: string | null, act: () => void = () => {}) => {
    const leaving = new AbortController();
    const headers = last === null ? {} : { "last-event-id": last };
    const answer = await fetch(`${address}/api/v1/events`, { headers, signal: leaving.signal });
    const reader = (answer.body ?? assert.fail("no body")).getReader();
    act();
    let text = "";
    while (!pattern.test(text)) {
      const { done, value } = await reader.read();
      assert.ok(!done, `the stream ended early: ${text}`);
      text += new TextDecoder().decode(value);
    }
    leaving.abort();
    return text;
  };
  for (let n = 0; n < 5; n++) store(n);
  let seq = 0;
  const first = await visit(/"rpm":1480\}/, null, () => {
    seq = store(1480);
  });
  assert.match(first, new RegExp(`^id: ${seq}\\nevent: reading$`, "m"));
  store(1481);
  store(1482);
  const second = await visit(/"rpm":1482\}/, String(seq));
  assert.match(second, /"rpm":1481\}.*"rpm":1482\}/s);
  assert.doesNotMatch(second, /"rpm":1480\}|skipped/);
  // From before this stream was kept, or nonsense.
  const third = await visit(/event: skipped\ndata: \{"count":null\}/, String(seq - 2));
  assert.doesNotMatch(third, /event: reading/);
  await visit(/event: status/, "-1; drop");
  // What is kept is bounded: beyond that, the client must retry.
  for (let n = 0; n < 1500; n++) store(n);
  await visit(/event: skipped\ndata: \{"count":null\}/, String(seq));
});

test("events – a stream ends soon after its session; a client that never signed in gets none", {
  timeout: deadlineMs(10_000),
}, async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const server = createHttpServer(testParts(), { ...OPTIONS, token: "t0ken" });
  const address = await server.listen();
  t.after(() => server.close());
  assert.equal((await fetch(`${address}/api/v1/events`)).status, 401);
  const body = JSON.stringify({ token: "t0ken" });
  const headers = { "content-type": "application/json" };
  const signIn = await fetch(`${address}/sign-in`, { method: "POST", headers, body });
  const cookie = signIn.headers.get("set-cookie")?.split(";")[0] ?? "";
  const stream = await fetch(`${address}/api/v1/events`, { headers: { cookie } });
  const other = await fetch(`${address}/api/v1/events`, {
    headers: { authorization: "Bearer t0ken" },
  });
  const reader = (stream.body ?? assert.fail("no body")).getReader();
  t.mock.timers.tick(15_000);
  await fetch(`${address}/sign-out`, { method: "POST", headers: { cookie } });
  t.mock.timers.tick(15_000);
  for (;;) if ((await reader.read()).done) break;
  // The bearer of the token stays.
  const otherReader = (other.body ?? assert.fail("no body")).getReader();
  let text = "";
  while (text.split("still here").length < 3) {
    const { done, value } = await otherReader.read();
    assert.ok(!done);
    text += new TextDecoder().decode(value);
  }
  await otherReader.cancel();
});

test("events – a client that does not read loses only its own events, and learns how many", async (t) => {
  const parts = testParts();
  const server = createHttpServer(parts, OPTIONS);
  const address = new URL(await server.listen());
  t.after(() => server.close());
  const socket = connect(Number(address.port), address.hostname);
  t.after(() => socket.destroy());
  socket.write("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  let text = "";
  await new Promise<void>((resolve) => {
    socket.on("data", (data) => {
      text += data.toString("latin1");
      if (text.includes("event: status")) resolve();
    });
  });
  socket.pause();
  const values = { text: "x".repeat(100_000) };
  const reading = parts.history.add({ sensor: "40001", kind: "rpm", timeMs: 0, values });
  const before = process.memoryUsage.rss();
  for (let n = 0; n < 2000; n++) {
    parts.emit({ type: "reading", reading });
    if (n % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  // 200 MB were offered; the socket's own buffers and ours hold a few.
  assert.ok(process.memoryUsage.rss() - before < 100 * 1024 * 1024);
  text = "";
  socket.resume();
  const skipped = () =>
    [...text.matchAll(/event: skipped\ndata: \{"count":(\d+)\}/g)].reduce(
      (sum, [, count]) => sum + Number(count),
      0,
    );
  // The next event that fits carries the count.
  await waitUntil("the count of what was skipped", () => {
    parts.emit({ type: "reading", reading: { ...reading, values: "{}" } });
    return skipped() >= 1000;
  });
});

test("events – the number of streams is limited", async (t) => {
  const server = createHttpServer(testParts(), OPTIONS);
  const address = await server.listen();
  t.after(() => server.close());
  const ending = new AbortController();
  t.after(() => ending.abort());
  for (let n = 0; n < 32; n++) {
    const { status } = await fetch(`${address}/api/v1/events`, { signal: ending.signal });
    assert.equal(status, 200);
  }
  const refused = await fetch(`${address}/api/v1/events`);
  assert.equal(refused.status, 503);
  assert.ok(refused.headers.get("retry-after"));
});

test("server – the limits are set on the listener itself", async (t) => {
  const app = createApp(testParts(), OPTIONS);
  t.after(() => app.close());
  await app.ready();
  const { headersTimeout, requestTimeout, keepAliveTimeout, timeout, maxConnections } = app.server;
  assert.deepEqual(
    { headersTimeout, requestTimeout, keepAliveTimeout, timeout, maxConnections },
    {
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      keepAliveTimeout: 30_000,
      timeout: 60_000,
      maxConnections: 256,
    },
  );
});
