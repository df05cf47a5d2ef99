import assert from "node:assert/strict";
import { test } from "node:test";
import type { AuditEntry } from "../../../src/core/audit.ts";
import { createSeriesMaker } from "../../../src/core/query/series.ts";
import { createKeeper } from "../../../src/features/kept/keeper.ts";
import type { HttpParts } from "../../../src/http/parts.ts";
import { createApp } from "../../../src/http/server.ts";
import { DftPlans } from "../../../src/pipeline/signal/fft.ts";
import { partsWithFeatures } from "../../support/features.ts";
import { NOW, OPTIONS, testParts } from "../../support/http-parts.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import {
  append,
  type Cleanup,
  DAY_MS,
  readingOf,
  tempStore,
  waveformOf,
} from "../../support/temp-database.ts";

const SENSOR = "10234";
const BASE = `/api/v1/sensors/${SENSOR}/measurements`;
const TOKENS = { token: "t0ken-that-may-all", viewToken: "t0ken-that-looks" };

const measured = (timeMs: number, samples = 64) =>
  readingOf(SENSOR, timeMs, {
    kind: "accel",
    values: { temperature: 40 },
    units: { temperature: "degC" },
    waveform: waveformOf(samples, 3),
  });

/** A year of one measurement a day, and then retention. */
async function yearOf(t: Cleanup & { after(end: () => Promise<void>): void }, samples = 64) {
  const clock = new ManualClock(NOW);
  const store = tempStore(t, { clock, uplinks: [], keep: createKeeper });
  const readings = Array.from({ length: 365 }, (_, day) =>
    measured(NOW - (365 - day) * DAY_MS, samples),
  );
  await append(store, readings);
  await store.retain();
  const entries: AuditEntry[] = [];
  const audit: HttpParts["audit"] = {
    add: async (entry) => void entries.push(entry),
    newest: () => [],
  };
  const { keeping, measurements, tables, waveforms } = store;
  const series = createSeriesMaker(new DftPlans());
  const parts = testParts({ measurements, waveforms, series, audit });
  const withPins = await partsWithFeatures(parts, {}, { keeping, tables });
  const app = createApp(withPins, { ...OPTIONS, ...TOKENS });
  t.after(() => app.close());
  const call = async (url: string, method: "GET" | "POST" | "DELETE" = "GET", body?: object) => {
    const headers = { host: "localhost", authorization: `Bearer ${TOKENS.token}` };
    const answer = await app.inject({ method, url, headers, ...(body && { payload: body }) });
    return { status: answer.statusCode, json: answer.json() };
  };
  return { app, call, entries, parts, readings, store };
}

test("measurements – a year in pages, newest first: young ones, days, then weeks, each with why it is kept", async (t) => {
  const { call, readings, store } = await yearOf(t);
  const times: number[] = [];
  const kept: string[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const query = cursor === "" ? "?limit=40" : `?limit=40&cursor=${cursor}`;
    const { status, json } = await call(BASE + query);
    assert.equal(status, 200);
    for (const one of json.measurements) {
      assert.deepEqual(Object.keys(one), [
        "time",
        "timeMs",
        "reading",
        "channels",
        "running",
        "speedRpm",
        "kept",
      ]);
      assert.equal(one.channels.length, 3);
      assert.equal(Date.parse(one.time), one.timeMs);
      times.push(one.timeMs);
      kept.push(one.kept.map(({ why }: { why: string }) => why).join());
    }
    cursor = json.next;
  }
  assert.deepEqual(
    times,
    times.toSorted((a, b) => b - a),
  );
  // 7 young days, 90 daily, the weeks before.
  assert.ok(times.length > 7 + 90 + 36 && times.length < 7 + 90 + 42, String(times.length));
  assert.deepEqual(new Set(kept.slice(0, 6)), new Set([""]));
  assert.deepEqual(new Set(kept.slice(8)), new Set(["ladder"]));
  const onlyKept = await call(`${BASE}?kept=true&limit=500`);
  assert.equal(onlyKept.json.measurements.length, kept.filter((why) => why !== "").length);
  const days = await call(`${BASE}/days?from=${NOW - 20 * DAY_MS}`);
  assert.equal(days.json.days.length, 20);

  const newest = readings.at(-1);
  const one = await call(`${BASE}/${newest?.id}`);
  assert.equal(one.json.measurement.reading, newest?.id);
  assert.equal(one.json.older.timeMs, times[1]);
  assert.equal(one.json.newer, null);
  const gone = readings.findLast(({ timeMs }) => !times.includes(timeMs));
  const at = await call(`${BASE}/${gone?.id}?at=${gone?.timeMs}`);
  assert.equal(at.json.measurement, null);
  assert.equal(at.json.reading, null);
  assert.ok(
    at.json.older.timeMs < (gone?.timeMs ?? 0) && at.json.newer.timeMs > (gone?.timeMs ?? 0),
  );
  assert.equal(at.json.since, new Date(times.at(-1) ?? 0).toISOString());
  assert.equal((await call(`${BASE}/${gone?.id}`)).status, 404);
  const old = await call(`${BASE}/${readings.find(({ timeMs }) => timeMs === times.at(-1))?.id}`);
  assert.deepEqual(old.json.reading.values, { temperature: 40 }, "with the reading of that time");
  assert.equal((await call("/api/v1/sensors/nobody/measurements")).status, 404);
  // Two of one millisecond are passed one after the other, both ways.
  const twins = ["a", "b"].map((digit) => ({ ...measured(NOW - 5000), id: digit.repeat(32) }));
  await append(store, twins);
  const [first, second] = await Promise.all(twins.map(({ id }) => call(`${BASE}/${id}`)));
  assert.equal(first?.json.newer.reading, "b".repeat(32));
  assert.equal(second?.json.older.reading, "a".repeat(32));
});

test("measurements – a pin: 200 again and again, 404 unknown, 409 without samples; with its note in the audit, and refused to HTTP_VIEW_TOKEN", async (t) => {
  const { app, call, entries, parts, readings } = await yearOf(t);
  const pin = (reading: string) => `${BASE}/${reading}/pin`;
  const young = readings.at(-1)?.id ?? "";
  for (const note of ["reference", "after the repair"])
    assert.deepEqual(await call(pin(young), "POST", { note }), {
      status: 200,
      json: { pinned: true, note },
    });
  const { json } = await call(`${BASE}/${young}`);
  assert.deepEqual(json.measurement.kept, [{ why: "pin", note: "after the repair" }]);
  assert.deepEqual(
    entries.map(({ what, detail, outcome }) => [what, detail, outcome]),
    [
      [`POST ${pin(young)}`, "reference", "200"],
      [`POST ${pin(young)}`, "after the repair", "200"],
    ],
  );
  for (let again = 0; again < 2; again++)
    assert.equal((await call(pin(young), "DELETE")).status, 200);
  for (const unknown of ["0".repeat(32), "none", "%00", young.toUpperCase()]) {
    assert.equal((await call(pin(unknown), "POST", { note: "" })).status, 404, unknown);
    assert.equal((await call(pin(unknown), "DELETE")).status, 404, unknown);
    assert.equal((await call(`${BASE}/${unknown}`)).status, 404, unknown);
  }
  const without = parts.history.add({ sensor: SENSOR, kind: "accel", timeMs: NOW, values: {} });
  assert.equal((await call(pin(without.id), "POST", {})).status, 409);
  const long = { note: "x".repeat(501) };
  assert.equal((await call(pin(young), "POST", long)).status, 400);
  const headers = { host: "localhost", authorization: `Bearer ${TOKENS.viewToken}` };
  const viewed = await app.inject({ method: "POST", url: pin(young), headers, payload: {} });
  assert.equal(viewed.statusCode, 403);
  // Many clients name a content type where there is no body.
  const named = {
    host: "localhost",
    authorization: `Bearer ${TOKENS.token}`,
    "content-type": "application/json",
  };
  for (const method of ["POST", "DELETE"] as const) {
    const bare = await app.inject({ method, url: pin(young), headers: named });
    assert.equal(bare.statusCode, 200, `${method}: ${bare.body}`);
  }
});

test("measurements – spectra of a year for a waterfall: at most as many as wanted, evenly chosen, and how many there are", async (t) => {
  const { call } = await yearOf(t, 512);
  const spectra = "/api/v1/sensors/10234/spectra";
  const { status, json } = await call(`${spectra}?channel=2&unit=2&count=52`);
  assert.equal(status, 200);
  assert.ok(json.total > 130);
  assert.ok(json.spectra.length > 40 && json.spectra.length <= 52, String(json.spectra.length));
  const times: number[] = json.spectra.map(({ timeMs }: { timeMs: number }) => timeMs);
  const steps = times.slice(1).map((timeMs, at) => (times[at] ?? 0) - timeMs);
  assert.ok(Math.max(...steps) <= 15 * DAY_MS, "no stretch is left out");
  const [first] = json.spectra;
  assert.equal(Buffer.from(first.base64, "base64").length, 4 * first.count);
  assert.equal(json.label, "mm/s");
  const few = await call(`${spectra}?from=${NOW - 5 * DAY_MS}`);
  assert.equal(few.json.spectra.length, 5, "all of them where there are no more than wanted");
});
