import assert from "node:assert/strict";
import { test } from "node:test";
import { POLLED_KINDS } from "../../src/core/sensor.ts";
import { rawCall } from "./raw-call.ts";
import { ask, OPERATIONS, plant, post, question, records, sensorOf } from "./support.ts";

const DAY_MS = 86_400_000;

const SETTINGS = {
  IntervalSendData: 10,
  Range: 8,
  IntervalRMS: 30,
  alarm1: 0.5,
  alarm2: 0.5,
  alarm3: 0.5,
};

test("simulator – answers unknown operations, GET and malformed requests with HTML pages", async (t) => {
  const { simulator } = await plant(t);
  const call = (path: string, body: string, method = "POST") =>
    rawCall(simulator.port, path, body, { method });
  const unknown = await call("/SensorService.svc/getrpmdata", "{}");
  assert.equal(unknown.status, 404);
  assert.match(unknown.body.toString(), /Endpoint not found/);
  const get = await call("/SensorService.svc/getRPMData", "", "GET");
  assert.equal(get.status, 405);
  assert.equal(get.headers["allow"], "POST");
  const nonsense = await call("/SensorService.svc/getRPMData", "{not json");
  assert.equal(nonsense.status, 400);
  assert.match(nonsense.body.toString(), /Request Error/);
  const noDate = await call("/SensorService.svc/getRPMData", '{"sensorType":40,"sensorCode":"1"}');
  assert.equal(noDate.status, 400);
  assert.match(noDate.headers["content-type"] ?? "", /text\/html/);
});

test("simulator – field names of requests are case-sensitive; types are not strict unless requested", async (t) => {
  const { simulator } = await plant(t);
  const { type, code } = sensorOf(simulator, "rpm");
  const loose = { sensorType: String(type), sensorCode: Number(code), date: "2026-11-20" };
  assert.match((await post(simulator, "getRPMData", loose)).text, /"RPM":/);
  const odd = { sensortype: type, sensorCode: code, date: "2026-11-20" };
  assert.match((await post(simulator, "getRPMData", odd)).text, /"Value":\[\]/);
  const { simulator: strict } = await plant(t, { strictTypes: true });
  assert.equal((await post(strict, "getRPMData", loose)).status, 400);
});

test("simulator – writes bytes as the vendor's service does", async (t) => {
  const { simulator } = await plant(t);
  const answer = await rawCall(
    simulator.port,
    "/SensorService.svc/getRPMData",
    question(simulator, "rpm", "2026-11-19"),
  );
  assert.equal(answer.headers["content-type"], "application/json; charset=utf-8");
  assert.equal(answer.headers["date"], "Fri, 20 Nov 2026 11:00:00 GMT");
  assert.ok(answer.headers["server"]);
  assert.equal(answer.headers["transfer-encoding"], "chunked");
  const text = await ask(simulator, "rpm", "2026-11-19");
  assert.match(
    text,
    /^\[\{"Configs":\[\],"Key":\{"Description":"OK","StatusNumber":0\},"Value":\[\{"RPM":[\d.]+,"battery":\d\.\d+,"battery_type":\d,"module_temperature":[\d.]+,"sensor_code":"\d{9}","time_data":"\\\/Date\(\d{13}\+0100\)\\\/","version":\d+\},/,
  );
  assert.match(text, /\}\]\}\]$/);
  const accel = await records(simulator, "accel");
  assert.deepEqual(Object.keys(accel[0] ?? {}), Object.keys(accel[0] ?? {}).sort());
  const { simulator: small } = await plant(t, { cadenceS: { rpm: 21_600 } });
  const short = await rawCall(
    small.port,
    "/SensorService.svc/getRPMData",
    question(small, "rpm", "2026-11-19"),
  );
  assert.equal(Number(short.headers["content-length"]), short.body.length);
});

test("simulator – the same seed gives the same bytes, another seed gives others", async (t) => {
  const { simulator: one } = await plant(t);
  const { simulator: two } = await plant(t);
  const { simulator: other } = await plant(t, { seed: 6 });
  for (const kind of POLLED_KINDS) {
    const text = await ask(one, kind, "2026-11-19");
    assert.ok(text.length > 500, kind);
    assert.equal(text, await ask(two, kind, "2026-11-19"));
    assert.notEqual(text, await ask(other, kind, "2026-11-19"));
  }
});

test("simulator – a record keeps its content whenever and in whatever order it is requested", async (t) => {
  const { simulator, clock } = await plant(t, { cacheMb: 0 });
  const early = await records(simulator, "accel");
  await clock.advance(3 * 3_600_000);
  const late = await records(simulator, "accel");
  assert.ok(late.length >= early.length + 17);
  assert.deepEqual(late.slice(0, early.length), early);
});

test("simulator – a record appears once it was measured and sent, not before", async (t) => {
  const { simulator, clock } = await plant(t);
  const { code } = sensorOf(simulator, "rpm");
  const before = await records(simulator, "rpm");
  await clock.advance(60_000);
  const after = await records(simulator, "rpm");
  assert.equal(after.length, before.length + 1);
  const now = simulator.clock.now();
  const truth = simulator.truth(code, "rpm", now - 3_600_000, now);
  assert.ok(
    truth.every((record) => record.visibleAtMs <= now && record.timeMs < record.visibleAtMs),
  );
});

test("simulator – the recorded truth equals what is served, record by record, for every kind", async (t) => {
  const { simulator } = await plant(t);
  for (const kind of POLLED_KINDS) {
    const shown = await records(simulator, kind, "2026-11-19");
    const { code } = sensorOf(simulator, kind);
    const from = simulator.zone.startOf("2026-11-19") - 60_000;
    const truth = simulator
      .truth(code, kind, from, simulator.zone.endOf("2026-11-19"))
      .filter((record) => record.day === "2026-11-19");
    assert.equal(truth.length, shown.length, kind);
    for (const [i, { record }] of truth.entries()) {
      for (const [name, value] of Object.entries(record)) {
        const wire = shown[i]?.[name];
        if (value instanceof Int16Array) assert.deepEqual(wire, [...value]);
        else if (typeof value === "object" && value !== null && "ms" in value)
          assert.equal(wire, `/Date(${value.ms}+0100)/`);
        else assert.equal(wire, value, `${kind} ${name}`);
      }
    }
    const served = [...simulator.served()].filter((s) => s.kind === kind && s.sensor === code);
    assert.deepEqual(
      served.map((s) => s.n),
      truth.map((s) => s.n),
    );
    assert.ok(served.every((s) => s.state === "complete" && s.expect === "reading"));
  }
});

test("simulator – a daylight-saving day has 25 or 23 hours and both offsets", async (t) => {
  for (const [day, hours, first, last] of [
    ["2026-10-25", 25, "+0200", "+0100"],
    ["2026-03-29", 23, "+0100", "+0200"],
  ] as const) {
    const { simulator } = await plant(t, {
      startMs: Date.parse(`${day}T00:00:00Z`) + 2 * 86_400_000,
    });
    const times = (await records(simulator, "rpm", day)).map((r) => String(r["time_data"]));
    assert.ok(Math.abs(times.length - hours * 60) <= 1, `${day}: ${times.length}`);
    assert.ok(times[0]?.includes(first));
    assert.ok(times.at(-1)?.includes(last));
  }
});

test("simulator – zones with unusual offsets have their own midnight", async (t) => {
  const { simulator } = await plant(t, { zone: "Asia/Kathmandu" });
  const shown = await records(simulator, "rpm", "2026-11-19");
  const ms = shown.map((r) => Number(/Date\((\d+)\+0545/.exec(String(r["time_data"]))?.[1]));
  const midnight = Date.parse("2026-11-19T00:00:00+05:45");
  assert.ok(ms.every((at) => at >= midnight && at < midnight + 86_400_000));
  assert.ok(Math.abs(ms.length - 1440) <= 1);
});

test("simulator – setting the clock does not change old timestamps", async (t) => {
  const { simulator, clock } = await plant(t);
  const before = await records(simulator, "rpm");
  const jump = simulator.faults.add({ name: "clock-jump", ms: -7_200_000 });
  await clock.advance(10 * 60_000);
  const after = await records(simulator, "rpm");
  assert.equal(after.length, before.length + 10);
  const stamps = after.map((r) => Number(/Date\((\d+)/.exec(String(r["time_data"]))?.[1]));
  assert.ok(
    (stamps.at(-1) ?? 0) < (stamps.at(-11) ?? 0),
    "new records carry the wrong clock's time",
  );
  const response = await fetch(`${simulator.url}/sim/status`);
  assert.equal(response.headers.get("date"), "Fri, 20 Nov 2026 09:10:00 GMT");
  jump.remove();
  assert.equal(simulator.clock.offsetMs, 0);
});

test("simulator – saveSettings checks in its order and queues until the next contact", async (t) => {
  const { simulator, clock } = await plant(t);
  const { type, code } = sensorOf(simulator, "accel");
  const save = async (change: object) => {
    const body = { sensorType: type, sensorCode: Number(code), ...SETTINGS, ...change };
    const { text } = await post(simulator, "saveSettings", body);
    return Number(/"StatusNumber":(\d+)/.exec(text)?.[1]);
  };
  const wrong = { sensorType: 40, Range: 7, IntervalSendData: 9, IntervalRMS: 29, alarm2: 0.4 };
  assert.equal(await save(wrong), 506);
  assert.equal(await save({ ...wrong, sensorType: type }), 502);
  assert.equal(await save({ ...wrong, sensorType: type, Range: 8 }), 503);
  assert.equal(await save({ IntervalRMS: 29, alarm2: 0.4 }), 504);
  assert.equal(await save({ alarm2: 0.4 }), 505);
  assert.deepEqual(simulator.settings(code), { queued: null, applied: null });
  assert.equal(await save({}), 0);
  assert.equal(await save({ Range: 16 }), 0);
  assert.equal(simulator.settings(code).queued?.rangeG, 16);
  await clock.advance(1_300_000);
  assert.equal(simulator.settings(code).applied?.rangeG, 16);
  assert.equal(simulator.settings(code).queued, null);
});

test("simulator – UpdateConfig exists only on generation 1 and checks only alarms", async (t) => {
  const body = {
    sensorCode: "1",
    intervalSendData: 1,
    range: 99,
    intervalRMS: 1,
    alarm1: 1,
    alarm2: 1,
    alarm3: 1,
  };
  const { simulator: second } = await plant(t);
  assert.equal((await post(second, "UpdateConfig", body)).status, 404);
  const { simulator: first } = await plant(t, { generation: 1 });
  assert.match((await post(first, "UpdateConfig", body)).text, /"StatusNumber":0/);
  assert.match(
    (await post(first, "UpdateConfig", { ...body, alarm3: 0.4 })).text,
    /"StatusNumber":505/,
  );
});

test("simulator – strict types: each operation accepts its own types and answers any other with a page", async (t) => {
  const { simulator } = await plant(t, { strictTypes: true, generation: 1 });
  const { type, code } = sensorOf(simulator, "rpm");
  const numbers = {
    Range: 8,
    IntervalSendData: 10,
    IntervalRMS: 30,
    alarm1: 1,
    alarm2: 1,
    alarm3: 1,
  };
  const save = { sensorType: type, sensorCode: Number(code), ...numbers };
  const update = { sensorCode: code, intervalSendData: 10, range: 8, intervalRMS: 30 };
  const alarms = { alarm1: 1.5, alarm2: 1, alarm3: 1 };
  const read = { sensorType: type, sensorCode: code, date: "2026-11-20" };
  for (const [operation, good, bad] of [
    ["saveSettings", save, { sensorCode: code }],
    ["saveSettings", save, { sensorType: String(type) }],
    ["saveSettings", save, { Range: "8" }],
    ["saveSettings", save, { IntervalRMS: 30.5 }],
    ["saveSettings", save, { alarm1: "1" }],
    ["UpdateConfig", { ...update, ...alarms }, { sensorCode: Number(code) }],
    ["UpdateConfig", { ...update, ...alarms }, { range: "8" }],
    ["getRPMData", read, { sensorCode: Number(code) }],
    ["getRPMData", read, { sensorType: String(type) }],
    ["getRPMData", read, { date: 20261120 }],
  ] as const) {
    assert.equal((await post(simulator, operation, good)).status, 200, operation);
    const refused = await post(simulator, operation, { ...good, ...bad });
    assert.equal(refused.status, 400, `${operation} ${JSON.stringify(bad)}`);
  }
});

test("simulator – uses the vendor's word in requests and responses", async (t) => {
  const { simulator } = await plant(t, { word: "acme", servicePath: "Acme.svc" });
  const { type, code } = sensorOf(simulator, "rpm");
  const response = await fetch(`${simulator.url}/Acme.svc/getRPMData`, {
    method: "POST",
    body: JSON.stringify({ acmeType: type, acmeCode: code, date: "2026-11-20" }),
  });
  const text = await response.text();
  assert.match(text, /"acme_code":"\d+"/);
  assert.doesNotMatch(text, /sensor/);
});

test("simulator – a plant of 2000 sensors starts and responds; its site file lists every one", async (t) => {
  const { simulator } = await plant(t, { sensors: 2000, accelSensorsMax: 20 });
  assert.equal(new Set(simulator.siteFile().sensors.map((s) => s.code)).size, 2000);
  assert.ok((await records(simulator, "rpm")).length > 600);
  assert.equal(Object.keys(OPERATIONS).length, POLLED_KINDS.length);
});

test("simulator – the growing defect goes from quiet to loud, and machines stop now and then", async (t) => {
  const { simulator } = await plant(t, { growthDays: 10, waveform: { samples: 2048 } });
  const { code } = sensorOf(simulator, "accel");
  const now = simulator.clock.now();
  const truth = simulator.truth(code, "accel", now - 20 * 86_400_000, now);
  const rms = truth.map(({ record }) => {
    const samples = record["channel1"] as Int16Array;
    return Math.sqrt(samples.reduce((sum, x) => sum + x * x, 0) / samples.length) * (8 / 32768);
  });
  const sorted = rms.toSorted((a, b) => a - b);
  assert.ok((sorted[0] ?? 1) < 0.01, "at rest there is only noise");
  assert.ok(
    (sorted.at(-1) ?? 0) > 6 * (sorted[Math.floor(sorted.length / 2)] ?? 0) ||
      (sorted.at(-1) ?? 0) > 0.5,
  );
  assert.ok((sorted.at(-1) ?? 9) < 4, "and never beyond what such a machine does");
});

test("simulator – machines of a certain moment are the same whatever the date of the plant", async (t) => {
  const machinesStartMs = Date.UTC(2026, 10, 18, 5);
  const speedsFrom = async (startMs: number) => {
    const { simulator } = await plant(t, { startMs, machinesStartMs, historyDays: 1 });
    const { code } = sensorOf(simulator, "rpm");
    const hours = simulator.truth(code, "rpm", startMs - DAY_MS, startMs);
    return hours.map(({ record }) => Number(record["RPM"]) > 0);
  };
  const speeds = await speedsFrom(machinesStartMs);
  assert.ok(speeds.includes(true) && speeds.includes(false));
  assert.deepEqual(await speedsFrom(machinesStartMs + 5 * DAY_MS), speeds);
});
