import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import type { HttpOptions } from "../../src/http/parts.ts";
import { createApp } from "../../src/http/server.ts";
import { countTurns } from "../support/count-turns.ts";
import { partsWithFeatures } from "../support/features.ts";
import { agentStatus, NOW, OPTIONS, testParts } from "../support/http-parts.ts";
import { tempDirectory } from "../support/temp-database.ts";

type After = { after(end: () => Promise<void> | void): void };

function api(t: After, parts = testParts(), options: Partial<HttpOptions> = {}) {
  const app = createApp(parts, { ...OPTIONS, ...options });
  t.after(() => app.close());
  const get = async (url: string, headers: Record<string, string> = {}) => {
    const answer = await app.inject({ url, headers: { host: "localhost", ...headers } });
    return {
      status: answer.statusCode,
      headers: answer.headers,
      raw: answer.rawPayload,
      json: () => answer.json(),
    };
  };
  const post = async (url: string, payload: object | string) => {
    const headers = { host: "localhost", "content-type": "application/json" };
    const answer = await app.inject({ method: "POST", url, headers, payload });
    return { status: answer.statusCode, json: answer.json() };
  };
  return { app, parts, get, post };
}

test("api – a wrong, unknown or missing parameter is a 400 that names it; another method is a 405", async (t) => {
  const { app, get, post } = api(t);
  for (const [url, word] of [
    ["/api/v1/readings", "sensor"],
    ["/api/v1/readings?sensor=1", "kind"],
    ["/api/v1/readings?sensor=1&kind=nothing", "kind must be one of accel, .*, rpm"],
    ["/api/v1/readings?sensor=1&kind=rpm&limit=0", "limit"],
    ["/api/v1/readings?sensor=1&kind=rpm&limit=1001", "limit"],
    [
      "/api/v1/readings?sensor=1&kind=rpm&form=2026-01-01",
      'has no "form", only sensor, kind, from, ',
    ],
    [
      "/api/v1/readings?sensor=1&kind=rpm&from=yesterday",
      "from has an invalid format: ISO 8601 with zone",
    ],
    ["/api/v1/readings?sensor=1&kind=rpm&from=2026-02-31T25:00Z", "from"],
    ["/api/v1/readings?sensor=1&kind=rpm&from=2&to=1", "from is after to"],
    ["/api/v1/readings?sensor=1&kind=rpm&cursor=x", "cursor"],
    ["/api/v1/trend?sensor=1&kind=rpm&buckets=9999", "buckets"],
    ["/api/v1/sensors?state=asleep", "state"],
    ["/api/v1/waveform/abc", "fileId"],
    ["/api/v1/waveform/1?unit=7", "unit"],
    ["/api/v1/gaps?limit=-1", "limit"],
  ] as const) {
    const { status, json } = await get(url);
    assert.equal(status, 400, url);
    assert.match(json().error.message, new RegExp(word), url);
  }
  for (const body of [
    "{",
    "[]",
    "null",
    "{}",
    { from: "2026-01-01" },
    { from: "x", to: "2026-01-01" },
    { from: "2026-01-02", to: "2026-01-01" },
  ]) {
    assert.equal((await post("/api/v1/backfill", body)).status, 400, JSON.stringify(body));
  }
  const nothing = await get("/api/v1/nothing");
  assert.equal(nothing.status, 404);
  assert.match(String(nothing.raw), /nothing at .*openapi\.json lists the API/);
  const url = "/api/v1/waveform/1?unit=0";
  const other = await app.inject({ method: "DELETE", url, headers: { host: "localhost" } });
  assert.equal(other.statusCode, 405);
  assert.equal(other.headers.allow, "GET, HEAD");
});

test("api – a JSON body has the types of its schema, and an optional member that is null is not given", async (t) => {
  const { post } = api(t, testParts({ backfill: null }));
  const warn = t.mock.method(console, "warn");
  const days = { from: "2026-11-01", to: "2026-11-02" };
  const alarm = `/api/v1/alarms/${"0".repeat(32)}`;
  for (const [url, body, status] of [
    ["/api/v1/backfill", { ...days, sensor: 10234 }, 400],
    ["/api/v1/backfill", { ...days, sensor: null }, 501],
    [`${alarm}/note`, { note: 5 }, 400],
    [`${alarm}/note`, { note: null }, 400],
    [`${alarm}/note`, { by: null, note: "5" }, 501],
    [`${alarm}/shelve`, { minutes: "5" }, 400],
    [`${alarm}/shelve`, { minutes: true }, 400],
    [`${alarm}/shelve`, { minutes: 5, note: null }, 501],
    [`${alarm}/shelve`, { until: 1_800_000_000_000 }, 501],
    [`${alarm}/shelve`, { until: "1800000000000" }, 501],
    [`${alarm}/acknowledge`, { minutes: 5 }, 400],
  ] as const) {
    assert.equal((await post(url, body)).status, status, `${url} ${JSON.stringify(body)}`);
  }
  assert.equal(warn.mock.callCount(), 0, "the validator complains about our own schemas");
});

test("api – readings are paged in both orders without duplicates or gaps", async (t) => {
  const { parts, get } = api(t);
  for (let n = 0; n < 25; n++) {
    // Some share a millisecond.
    const timeMs = NOW - 60_000 + Math.floor(n / 3) * 1000;
    parts.history.add({
      sensor: "40001",
      kind: "rpm",
      timeMs,
      values: { rpm: n },
      units: { rpm: "rpm" },
    });
  }
  for (const order of ["asc", "desc"]) {
    const seen: number[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const more: string = cursor === "" ? "" : `&cursor=${cursor}`;
      const page = (
        await get(`/api/v1/readings?sensor=40001&kind=rpm&limit=7&order=${order}${more}`)
      ).json();
      seen.push(...page.readings.map((one: { values: { rpm: number } }) => one.values.rpm));
      cursor = page.next;
    }
    const all = Array.from({ length: 25 }, (_, n) => n);
    assert.deepEqual(seen, order === "asc" ? all : all.toReversed());
  }
  const from = new Date(NOW - 59_000).toISOString();
  const two = (
    await get(`/api/v1/readings?sensor=40001&kind=rpm&from=${from}&to=${NOW - 58_000}`)
  ).json();
  assert.equal(two.readings.length, 3);
  assert.deepEqual(Object.keys(two.readings[0]), [
    "seq",
    "id",
    "sensor",
    "kind",
    "time",
    "timeMs",
    "storedAtMs",
    "values",
    "units",
    "quality",
    "attributes",
    "waveforms",
  ]);
});

test("api – without a range, readings and trends end now by the gateway's clock, whatever ours says", async (t) => {
  const aheadMs = 3 * 3_600_000;
  const { parts, get } = api(t, testParts({ gatewayNow: () => NOW + aheadMs }));
  for (const timeMs of [NOW - 23 * 3_600_000, NOW, NOW + aheadMs - 1000])
    parts.history.add({ sensor: "40001", kind: "rpm", timeMs, values: { rpm: 1480 } });
  for (const name of ["readings", "trend"]) {
    const found = (await get(`/api/v1/${name}?sensor=40001&kind=rpm`)).json();
    assert.equal(name === "readings" ? found.readings.length : found.readings, 2, name);
  }
});

test("api – sensors by location with state, zone and newest readings; searched, filtered, paged", async (t) => {
  const { parts, get } = api(t);
  const values = { channel1_zone: "B", channel2_zone: "D", channel3_zone: null };
  parts.history.add({ sensor: "10234", kind: "accel", timeMs: NOW, values });
  const all = (await get("/api/v1/sensors")).json();
  assert.deepEqual([all.total, all.next], [4, null]);
  const codes = (list: { sensors: { code: string }[] }) => list.sensors.map(({ code }) => code);
  assert.deepEqual(codes(all), ["10234", "20871", "30007", "40001"]);
  const [first] = all.sensors;
  assert.deepEqual(
    [first.zone, first.state, first.batteryV, first.lastReadingMs],
    ["D", "online", 3.6, NOW - 60_000],
  );
  assert.deepEqual(first.latest.accel.values, values);
  assert.deepEqual([all.sensors[1].state, all.sensors[1].zone], ["unknown", null]);
  for (const [query, expected] of [
    ["q=PUMP", ["10234"]],
    ["q=3000", ["30007"]],
    ["area=2", ["10234", "20871"]],
    ["machine=41", ["30007"]],
    ["state=unknown&limit=1&cursor=1", ["30007"]],
  ] as const) {
    assert.deepEqual(codes((await get(`/api/v1/sensors?${query}`)).json()), expected, query);
  }
  assert.equal((await get("/api/v1/sensors/010234")).json().code, "10234");
  assert.equal((await get("/api/v1/sensors/77")).status, 404);
});

test("api – ten concurrent requests for the same list share one computation, and only one list is computed at a time", async (t) => {
  const base = testParts();
  let asked = 0;
  let making = 0;
  let most = 0;
  const status = () => {
    asked += 1;
    making += 1;
    most = Math.max(most, making);
    setImmediate(() => {
      making -= 1;
    });
    return agentStatus();
  };
  const { get } = api(t, { ...base, status: { status } });
  const urls = ["/api/v1/sensors", "/api/v1/status", "/api/v1/faults", "/metrics"];
  const ten = urls.flatMap((url) => Array.from({ length: 10 }, () => get(url)));
  const answers = await Promise.all(ten);
  assert.ok(answers.every((answer) => answer.status === 200));
  assert.deepEqual([asked, most], [urls.length, 1]);
  // Not one from before the question.
  await get("/api/v1/sensors");
  assert.equal(asked, urls.length + 1);
});

test("api – the queue for different lists is limited, and a list that fails does not block another", async (t) => {
  const base = testParts();
  let isBroken = true;
  const status = () => {
    if (!isBroken) return agentStatus();
    isBroken = false;
    throw new Error("of the test");
  };
  const { get } = api(t, { ...base, status: { status } });
  const answers = await Promise.all(
    Array.from({ length: 70 }, (_, n) => get(`/api/v1/sensors?limit=${n + 1}`)),
  );
  const of = (code: number) => answers.filter((answer) => answer.status === code).length;
  assert.deepEqual([of(500), of(200), of(503)], [1, 63, 6]);
  assert.equal(answers.find((answer) => answer.status === 503)?.headers["retry-after"], "1");
});

test("metrics – the event loop is not blocked while the series of thousands of sensors are written", async (t) => {
  const [sensor] = agentStatus().sensors;
  assert.ok(sensor);
  const sensors = Array.from({ length: 2000 }, (_, n) => ({ ...sensor, code: `${n}` }));
  const { get } = api(t, {
    ...testParts(),
    status: { status: () => ({ ...agentStatus(), sensors }) },
  });
  const turns = countTurns(t);
  const { raw } = await get("/metrics");
  assert.match(raw.toString(), /gateside_sensor_state\{sensor="1999"/);
  assert.ok(turns() > 100, `${turns()} turns`);
});

test("api – trend, waveforms, waveform and spectrum", async (t) => {
  const { parts, get } = api(t);
  const waveforms = [{ fileId: 3, channel: 1, axis: "H" as const }];
  const reading = parts.history.add({
    sensor: "10234",
    kind: "accel",
    timeMs: NOW - 1000,
    values: { channel1_vel_rms: 2.5 },
    units: { channel1_vel_rms: "mm/s" },
    waveforms,
  });
  const samples = Int16Array.of(1, -2, 3, 0);
  parts.addWaveform({
    fileId: 3,
    sensor: "10234",
    timeMs: NOW,
    readingId: reading.id,
    channel: 1,
    axis: "H" as const,
    sampleRateHz: 400,
    calibration: 0.5,
    recordingReason: 3,
    samples,
  });
  const trend = (
    await get("/api/v1/trend?sensor=10234&kind=accel&values=channel1_vel_rms,%20x")
  ).json();
  assert.deepEqual(trend.series.channel1_vel_rms.max, [2.5]);
  const list = (await get("/api/v1/waveforms?sensor=10234")).json();
  assert.deepEqual(list.waveforms[0].channels, waveforms);
  const waveform = (await get("/api/v1/waveform/3")).json();
  assert.deepEqual(
    [waveform.label, waveform.count, waveform.step, waveform.sampleRateHz],
    ["G", 4, 1 / 400, 400],
  );
  const bytes = Buffer.from(waveform.base64, "base64");
  assert.deepEqual(
    [0, 4, 8, 12].map((at) => bytes.readFloatLE(at)),
    [0.5, -1, 1.5, 0],
  );
  const spectrum = (await get("/api/v1/spectrum/3?unit=2")).json();
  assert.deepEqual([spectrum.label, spectrum.step, spectrum.peaks.length], ["mm/s", 100, 1]);
  assert.equal(spectrum.harmonicsHz[1], (2 * 1480) / 60);
  assert.equal((await get("/api/v1/spectrum/4")).status, 404);
});

test("api – backfill: busy and missing are reported", async (t) => {
  const busy = api(t);
  assert.equal(
    (await busy.post("/api/v1/backfill", { from: "2026-11-01", to: "2026-11-02" })).status,
    409,
  );
  const without = api(t, testParts({ backfill: null }));
  assert.equal(
    (await without.post("/api/v1/backfill", { from: "2026-11-01", to: "2026-11-02" })).status,
    501,
  );
  assert.deepEqual((await without.get("/api/v1/backfill")).json(), { job: null });
});

test("api – the OpenAPI document describes exactly the existing routes", async (t) => {
  const app = createApp(await partsWithFeatures(testParts()), OPTIONS);
  t.after(() => app.close());
  const headers = { host: "localhost" };
  const { paths } = (await app.inject({ url: "/api/v1/openapi.json", headers })).json();
  for (const [path, methods] of Object.entries<object>(paths)) {
    const url = path.replace(/\{(\w+)\}/g, ":$1");
    for (const method of Object.keys(methods)) {
      assert.ok(app.hasRoute({ method: method.toUpperCase() as "GET", url }), `${method} ${url}`);
    }
  }
  const documented = Object.keys(paths).map((path) => path.replace(/\{(\w+)\}/g, ":$1"));
  const routes = app.printRoutes({ commonPrefix: false }).match(/\/api\/v1\/\S+(?= \()/g) ?? [];
  const missing = routes.filter(
    (route) => !documented.includes(route) && route !== "/api/v1/openapi.json",
  );
  assert.deepEqual(missing, []);
});

test("api – status and faults follow the agent", async (t) => {
  const { parts, get } = api(t);
  assert.equal((await get("/api/v1/status")).json().faults, 0);
  const { gateway } = agentStatus();
  parts.setStatus(
    agentStatus({ gateway: { ...gateway, isUp: false, lastError: "connect ECONNREFUSED" } }),
  );
  assert.equal((await get("/api/v1/status")).json().faults, 1);
  const { faults } = (await get("/api/v1/faults")).json();
  assert.match(faults[0].what, /ECONNREFUSED/);
  assert.equal((await get("/api/v1/status")).headers["cache-control"], "no-store");
});

test("dashboard – files are compressed and cached by type, and nothing outside the directory is served", async (t) => {
  const directory = tempDirectory(t);
  const script = `console.log("${"x".repeat(2000)}")`;
  mkdirSync(join(directory, "assets"));
  writeFileSync(join(directory, "index.html"), "<!doctype html><title>Gateside</title>");
  writeFileSync(join(directory, "assets", "app-3F9aB2c1.js"), script);
  writeFileSync(join(directory, "secret.key"), "no type of ours");
  const { get } = api(t, testParts(), { dashboardDir: directory });
  const index = await get("/");
  assert.equal(index.headers["cache-control"], "no-cache");
  assert.match(String(index.raw), /<title>Gateside/);
  const url = "/assets/app-3F9aB2c1.js";
  const plain = await get(url);
  assert.equal(String(plain.raw), script);
  assert.match(String(plain.headers["cache-control"]), /immutable/);
  const gzip = await get(url, { "accept-encoding": "gzip" });
  assert.equal(String(gunzipSync(gzip.raw)), script);
  const brotli = await get(url, { "accept-encoding": "gzip, br" });
  assert.equal(String(brotliDecompressSync(brotli.raw)), script);
  for (const [accepted, encoding] of [
    ["br;q=0, gzip", "gzip"],
    ["BR; Q=0.000, gzip;q=0.5", "gzip"],
    ["gzip;q=0", undefined],
    ["br;q=0,gzip ; q=0.0", undefined],
    ["identity", undefined],
    // Little is not nothing, and a name is the whole name.
    ["br;q=0.001", "br"],
    ["brotli, x-gzip", undefined],
  ] as const) {
    const { headers } = await get(url, { "accept-encoding": accepted });
    assert.equal(headers["content-encoding"], encoding, accepted);
  }
  assert.equal((await get(url, { "if-none-match": String(plain.headers["etag"]) })).status, 304);
  for (const outside of [
    "/secret.key",
    "/../package.json",
    "/%2e%2e/package.json",
    "/assets/..%2findex.html",
    "/assets/",
  ]) {
    assert.equal((await get(outside)).status, 404, outside);
  }
});
