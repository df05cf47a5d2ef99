import assert from "node:assert/strict";
import { test } from "node:test";
import { createSeriesMaker } from "../../../src/core/query/series.ts";
import { fixedSite } from "../../../src/core/site-source.ts";
import type { HttpOptions } from "../../../src/http/parts.ts";
import { createHttpServer } from "../../../src/http/server.ts";
import { DftPlans } from "../../../src/pipeline/signal/fft.ts";
import { createWireNames } from "../../../src/pipeline/wire/wire-names.ts";
import { NOW, OPTIONS, SITE, type TestParts } from "../../support/http-parts.ts";
import { openAlarms } from "../../support/open-alarms.ts";
import { append, readingOf } from "../../support/temp-database.ts";
import { queryParts } from "./query-parts.ts";

const RATE = 6400;
const SAMPLES = 1024;
const CALIBRATION = 0.0005;
/** A tone on line 16 (100 Hz), amplitude 1 G. */
const tone = (): Int16Array =>
  Int16Array.from({ length: SAMPLES }, (_, n) =>
    Math.round(Math.sin((2 * Math.PI * 16 * n) / SAMPLES) / CALIBRATION),
  );

function accelReading(parts: TestParts, timeMs: number, fileId: number | null): void {
  const values: Record<string, unknown> = { temperature: 31.5 };
  for (const channel of [1, 2]) {
    values[`channel${channel}_accel_rms`] = 0.5 + channel;
    values[`channel${channel}_vel_rms`] = channel === 1 ? 3.1 : null;
    values[`channel${channel}_env_rms`] = 0.2;
    values[`channel${channel}_zone`] = channel === 1 ? "C" : null;
    values[`channel${channel}_disp_pp`] = 12;
  }
  const reading = parts.history.add({
    sensor: "10234",
    kind: "accel",
    timeMs,
    values,
    units: { temperature: "degC", channel1_accel_rms: "G", channel1_vel_rms: "mm/s" },
    attributes: { recording_reason: 3, sample_rate: RATE },
    raw: { calibration: CALIBRATION },
    waveforms: fileId === null ? [] : [{ fileId, channel: 1, axis: "H" }],
  });
  if (fileId === null) return;
  parts.addWaveform({
    fileId,
    sensor: "10234",
    timeMs,
    readingId: reading.id,
    channel: 1,
    axis: "H",
    sampleRateHz: RATE,
    calibration: CALIBRATION,
    recordingReason: 3,
    samples: tone(),
  });
}

interface Asked {
  readonly status: number;
  readonly allow: string | null;
  readonly text: string;
  readonly number: number;
  readonly description: string;
  // The tests look into answers of every shape.
  readonly value: Answer;
}
type Answer = { readonly [key: string]: Answer } & { readonly [index: number]: Answer } & {
  readonly length: number;
};

async function service(
  t: { after(end: () => Promise<void>): void },
  options: Partial<HttpOptions> = {},
  parts = queryParts({ series: createSeriesMaker(new DftPlans()) }),
) {
  const server = createHttpServer(parts, { ...OPTIONS, ...options });
  const address = await server.listen();
  t.after(() => server.close());
  const raw = async (operation: string, body: string, init: RequestInit = {}): Promise<Asked> => {
    const answer = await fetch(`${address}/ApiWeb.svc/${operation}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      ...(init.method === "GET" ? {} : { body }),
      ...init,
    });
    const text = await answer.text();
    assert.equal(answer.headers.get("content-type"), "application/json; charset=utf-8", text);
    const parsed = JSON.parse(text);
    assert.equal(parsed.length, 1);
    assert.deepEqual(Object.keys(parsed[0]), ["Key", "Configs", "Value"]);
    assert.deepEqual(parsed[0].Configs, []);
    const { StatusNumber, Description } = parsed[0].Key;
    assert.equal(typeof Description, "string");
    return {
      status: answer.status,
      allow: answer.headers.get("allow"),
      text,
      number: StatusNumber,
      description: Description,
      value: parsed[0].Value,
    };
  };
  const ask = (operation: string, fields: object = {}) =>
    raw(operation, JSON.stringify({ Token: "x", ...fields }));
  const ok = async (operation: string, fields: object = {}): Promise<Answer> => {
    const answer = await ask(operation, fields);
    assert.deepEqual([answer.status, answer.number, answer.description], [200, 0, "OK"]);
    return answer.value;
  };
  return { parts, raw, ask, ok, address };
}

test("query service – the event loop is not blocked between two devices, however long each takes", async (t) => {
  const { parts, ok } = await service(t);
  const kinds = ["loop", "rpm"] as const;
  for (const { code } of SITE.sensors) {
    for (const kind of kinds) {
      for (let n = 0; n < 60; n++)
        parts.history.add({ sensor: code, kind, timeMs: NOW - n * 60_000, values: {} });
    }
  }
  let mostRows = 0;
  let rowsBefore = 0;
  let isOver = false;
  const turn = () => {
    mostRows = Math.max(mostRows, parts.history.rowsRead - rowsBefore);
    rowsBefore = parts.history.rowsRead;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  assert.equal((await ok("GetAllDevices"))[0]?.["data"]?.length, SITE.sensors.length);
  isOver = true;
  assert.ok(rowsBefore >= 100, `${rowsBefore} rows in all`);
  assert.ok(mostRows <= 50, `${mostRows} rows in one turn`);
});

test("query service – transport errors use the same envelope", async (t) => {
  const { raw } = await service(t);
  const good = '{"Token":"x"}';
  const expect = async (answer: Promise<Asked>, status: number) => {
    const { status: seen, value, number } = await answer;
    assert.equal(seen, status);
    assert.ok(number >= 9001);
    assert.deepEqual(value, []);
  };
  await expect(raw("GetNothing", good), 404);
  await expect(raw("getunits", good), 404);
  await expect(raw("GetUnits/", good), 404);
  await expect(raw("", good), 404);
  await expect(raw(`${"x".repeat(3000)}`, good), 404);
  await expect(raw("%E0%A4%A", good), 404);
  for (const body of ["", "{", "[]", "[{}]", "null", "3", '"x"', "<html>", `{"a":`]) {
    await expect(raw("GetUnits", body), 400);
  }
  const padded = (bytes: number) => good.replace("}", `,"pad":"${"x".repeat(bytes)}"}`);
  const room = 1024 * 1024 - padded(0).length;
  await expect(raw("GetUnits", padded(room + 1)), 413);
  for (let i = 0; i < 10; i += 1) assert.equal((await raw("GetUnits", padded(room))).number, 0);
  const headers = (type: string) => ({ headers: { "content-type": type } });
  for (const type of ["text/plain", "text/json", "application/xml", "application/jsonx"]) {
    await expect(raw("GetUnits", good, headers(type)), 415);
  }
  const refused = await raw("GetUnits", good, headers("text/plain"));
  assert.equal(refused.description, "send the body as Content-Type: application/json");
  assert.equal((await raw("GetUnits", good, headers("application/json; charset=UTF-8"))).number, 0);
  assert.equal((await raw("GetUnits", `\uFEFF${good}`)).number, 0);
  for (const method of ["GET", "PUT", "DELETE", "PATCH"]) {
    const answer = await raw("GetUnits", good, { method });
    assert.deepEqual([answer.status, answer.allow], [405, "POST"]);
    assert.equal((await raw("GetNothing", good, { method })).status, 404);
  }
  const packed = await raw("GetFFT_Base64", "[]");
  assert.deepEqual([packed.status, packed.value], [400, {}]);
});

test("query service – checks run in the documented order: token, missing, type, date, file", async (t) => {
  const { raw, ask } = await service(t, { token: "t0ken" });
  const number = async (operation: string, fields: object) =>
    (await raw(operation, JSON.stringify(fields))).number;
  const bad = { machinecode: "x", pointindex: 1, StartDate: "never" };
  assert.equal(await number("GetAllHistoryMeasures", bad), 9001);
  assert.equal((await ask("GetAllHistoryMeasures", bad)).number, 9001);
  const Token = "t0ken";
  assert.equal(await number("GetAllHistoryMeasures", { Token, ...bad }), 9002);
  assert.equal(await number("GetAllHistoryMeasures", { Token, ...bad, axis: null }), 9002);
  assert.equal(await number("GetAllHistoryMeasures", { Token, ...bad, axis: 1 }), 9003);
  const typed = { Token, ...bad, axis: 1, machinecode: 40 };
  assert.equal(await number("GetAllHistoryMeasures", typed), 9004);
  const turned = { ...typed, StartDate: "2026-01-02", EndDate: "2026-01-01" };
  assert.equal(await number("GetAllHistoryMeasures", turned), 9004);
  assert.equal(await number("GetAllHistoryMeasures", { ...typed, StartDate: "" }), 0);
  const file = {
    Token,
    machinecode: 40,
    pointindex: 1,
    fileid: 7,
    OutputType: 1,
    SignalTypeOut: 0,
  };
  assert.equal(await number("GetFFT_Base64", file), 9006);
  assert.equal(await number("GetFFT_Base64", { ...file, SignalTypeOut: 7 }), 9003);
  assert.equal(await number("GetFFT_Base64", { ...file, OutputType: 0 }), 9003);
  assert.equal(await number("GetFFT_Base64", { ...file, hz: 1 }), 9003);
  assert.equal(await number("GetFFT_Base64", { ...file, axis: "H" }), 9003);
  assert.equal(await number("GetDevicesByCode", { Token, sensorCodes: ["10234"] }), 9003);
  const failed = await raw("GetFFT_Base64", JSON.stringify(file));
  assert.deepEqual(failed.value, {});
});

test("query service – the body must contain a token, and no response ever includes it", async (t) => {
  const { raw } = await service(t, { token: "s3cret-token" });
  for (const body of [
    {},
    { Token: null },
    { Token: 5 },
    { Token: "" },
    { Token: "s3cret-token2" },
    { Token: ["s3cret-token"] },
  ]) {
    const answer = await raw("GetUnits", JSON.stringify(body));
    assert.deepEqual([answer.status, answer.number, answer.value], [200, 9001, []]);
    assert.ok(!answer.text.includes("s3cret"));
  }
  assert.equal((await raw("GetUnits", '{"Token":"s3cret-token"}')).number, 0);
  assert.equal((await raw("GetUnits", '{"token":"s3cret-token"}')).number, 0);
});

test("query service – nothing is parsed for an unauthenticated client", async (t) => {
  const { raw } = await service(t, { token: "t0ken" });
  const parse = t.mock.method(JSON, "parse");
  const parsed = () => {
    // This test's own are of answers, with an envelope.
    const bodies = parse.mock.calls.map(({ arguments: [text] }) => String(text));
    return bodies.filter((text) => text.includes("mark of the test"));
  };
  const body = (token: string) =>
    JSON.stringify({ filler: "[".repeat(60_000), mark: "mark of the test", Token: token });
  assert.equal((await raw("GetUnits", body("wrong"))).number, 9001);
  assert.equal((await raw("GetUnits", '{"mark":"mark of the test","Token":[1]}')).number, 9001);
  assert.deepEqual(parsed(), []);
  assert.equal((await raw("GetUnits", body("t0ken"))).number, 0);
  assert.equal(parsed().length, 1);
  const long = await raw("Login", JSON.stringify({ email: "a", password: "x".repeat(5_000) }));
  assert.equal(long.status, 413);
});

test("query service – of large requests only a few are read at once; small ones are served meanwhile", async (t) => {
  const { address, ask } = await service(t);
  const encoder = new TextEncoder();
  const requests = Array.from({ length: 5 }, () => {
    let finish = () => {};
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(encoder.encode(`{"Token":"x","pad":"${"x".repeat(70_000)}`));
        finish = () => {
          controller.enqueue(encoder.encode('"}'));
          controller.close();
        };
      },
    });
    const init = { method: "POST", headers: { "content-type": "application/json" }, body };
    const sent = fetch(`${address}/ApiWeb.svc/GetUnits`, { ...init, duplex: "half" });
    const isRefused = sent.then(({ status }) => status === 503);
    return { sent, isRefused, finish: () => finish() };
  });
  assert.ok(await Promise.race(requests.map(({ isRefused }) => isRefused)));
  assert.equal((await ask("GetUnits")).number, 0);
  // All but the refused one are still being sent.
  const waiting = await Promise.all(
    requests.map(async (request) => ({
      ...request,
      isOver: await Promise.race([request.isRefused, ask("GetUnits").then(() => false)]),
    })),
  );
  const accepted = waiting.filter(({ isOver }) => !isOver);
  assert.equal(accepted.length, 4);
  for (const { finish } of accepted) finish();
  const answers = await Promise.all(accepted.map(({ sent }) => sent));
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 200],
  );
});

test("query service – Login returns a token that expires after 24 h without use", async (t) => {
  const { raw, parts } = await service(t, { token: "t0ken" });
  const login = (fields: object) => raw("Login", JSON.stringify(fields));
  assert.equal((await login({ email: "a@b.example" })).number, 9002);
  assert.equal((await login({ email: "a@b.example", password: 1 })).number, 9003);
  assert.equal((await login({ email: "a@b.example", password: "wrong" })).number, 9001);
  const { value } = await login({ email: "a@b.example", password: "t0ken" });
  assert.deepEqual(value[0]?.["DataBase"], { Id: 1, Name: "plant-7", DBName: "plant-7" });
  const Token = value[0]?.["Token"];
  assert.equal(typeof Token, "string");
  const number = async () => (await raw("GetUnits", JSON.stringify({ Token }))).number;
  assert.equal(await number(), 0);
  await parts.clock.advance(24 * 3_600_000 - 1);
  assert.equal(await number(), 0);
  await parts.clock.advance(24 * 3_600_000 + 1);
  assert.equal(await number(), 9001);
  // One wrong password again and again is a tool with an outdated password; different ones are guesses.
  for (let i = 0; i < 30; i++) await login({ email: "", password: "of last year" });
  assert.equal((await login({ email: "", password: "t0ken" })).number, 0);
  for (let i = 0; i < 10; i++) await login({ email: "", password: `guess ${i}` });
  const { number: tired, text } = await login({ email: "", password: "guess 10" });
  assert.equal(tired, 9001);
  assert.match(text, /too many wrong passwords; wait \d+ s/);
  // All behind a proxy share an address: one who guesses shuts out nobody who knows.
  assert.equal((await login({ email: "", password: "t0ken" })).number, 0);
});

test("query service – without HTTP_TOKEN any token and any password are accepted", async (t) => {
  const { raw } = await service(t);
  assert.equal((await raw("GetUnits", '{"Token":"anything"}')).number, 0);
  assert.equal((await raw("Login", '{"email":"x","password":"y"}')).number, 0);
  assert.equal((await raw("GetUnits", "{}")).number, 9001);
});

test("query service – the tree: companies, areas, machines, points, axes; −1, null and missing do not filter", async (t) => {
  const { ok } = await service(t);
  assert.deepEqual(await ok("GetCompanies"), [
    { Id: 1, Name: "Acme", Description: "Acme", Type: "Company" },
  ]);
  for (const idcompany of [-1, null, undefined, 1, "1", " -1 "]) {
    const areas = await ok("GetAreas", { idcompany });
    assert.deepEqual(
      [areas.length, areas[0]?.["Name"], areas[1]?.["Name"]],
      [2, "Boiler house", "Area 3"],
    );
  }
  assert.deepEqual(await ok("GetAreas", { idcompany: 9 }), []);
  assert.deepEqual(await ok("GetMachines", { idarea: 3 }), [
    { Id: 41, Name: "Machine 41", Description: "", Type: "Machine" },
  ]);
  const points = await ok("GetPoints", { machinecode: 40 });
  assert.deepEqual(
    [points[0]?.["Id"], points[0]?.["Name"], points[1]?.["Id"]],
    [1, "DE bearing", 2],
  );
  // Every machine numbers its points anew: point 1 of two machines is two points.
  const everywhere = await ok("GetPoints", { machinecode: -1 });
  assert.deepEqual(
    [0, 1, 2, 3].map((n) => [everywhere[n]?.["Id"], everywhere[n]?.["Name"]]),
    [
      [1, "DE bearing"],
      [1, "Point 1"],
      [2, "Point 2"],
      [undefined, undefined],
    ],
  );
  assert.deepEqual(await ok("GetAxis", { machinecode: 40, pointindex: 1 }), [
    { Id: 1, Name: "H", Description: "Horizontal", Type: "Axis" },
    { Id: 2, Name: "V", Description: "Vertical", Type: "Axis" },
    { Id: 3, Name: "A", Description: "Axial", Type: "Axis" },
  ]);
  assert.deepEqual(await ok("GetAxis", { machinecode: 40, pointindex: 9 }), []);
  const anywhere = await ok("GetAxis", { machinecode: -1, pointindex: "-1" });
  assert.deepEqual(
    [0, 1, 2, 3].map((n) => anywhere[n]?.["Id"]),
    [1, 2, 3, undefined],
  );
});

test("query service – GetUnits returns the vendor's codes, ours, and the loop units of the site", async (t) => {
  const { ok } = await service(t);
  const units = (await ok("GetUnits")) as unknown as { Id: number; Name: string }[];
  assert.deepEqual(
    units.slice(0, 7).map(({ Id, Name }) => [Id, Name]),
    [
      [0, "G"],
      [1, "mm/s²"],
      [2, "mm/s"],
      [3, "in/s"],
      [4, "µm"],
      [5, "mils"],
      [6, "GE"],
    ],
  );
  const names = units.map(({ Name }) => Name);
  for (const name of ["degC", "V", "A", "Ah", "mA", "rpm", "bar"]) assert.ok(names.includes(name));
  assert.equal(new Set(units.map(({ Id }) => Id)).size, units.length);
});

test("query service – GetCurrentMeasures returns the latest reading per axis, with unit codes as text", async (t) => {
  const { ok, parts } = await service(t);
  assert.deepEqual(await ok("GetCurrentMeasures"), []);
  accelReading(parts, NOW - 60_000, 3);
  accelReading(parts, NOW, 4);
  const signal = (channel: number) => ({
    FileId: channel === 1 ? 4 : 0,
    Date: "2026-11-20 12:00:00",
    Reason: 3,
    SampleRate: RATE,
    Calibration: CALIBRATION,
    Sensitivity: null,
    AccelRMS: 0.5 + channel,
    AccelUnit: "0",
    AccelSev: null,
    VelRMS: channel === 1 ? 3.1 : null,
    VelUnit: "2",
    VelSev: channel === 1 ? 3 : null,
    EnvRMS: 0.2,
    EnvUnit: "6",
    EnvSev: null,
  });
  const all = [
    {
      MachineCode: "40",
      pointList: [
        {
          pointIndex: 1,
          axis: [
            { axis: 1, signalAPI: signal(1) },
            { axis: 2, signalAPI: signal(2) },
          ],
        },
      ],
    },
  ];
  const any = { companyID: -1, areaID: -1, machineCode: "40", pointIndex: null };
  assert.deepEqual(await ok("GetCurrentMeasures", any), all);
  const second = await ok("GetCurrentMeasures", { ...any, axis: 2 });
  assert.equal(second[0]?.["pointList"]?.[0]?.["axis"]?.length, 1);
  for (const filter of [
    { companyID: 2 },
    { areaID: 3 },
    { machineCode: 41 },
    { pointIndex: 2 },
    { axis: 3 },
  ]) {
    assert.deepEqual(await ok("GetCurrentMeasures", filter), []);
  }
});

test("query service – GetAllHistoryMeasures returns one table, a row per quantity, every row of the range in ascending order", async (t) => {
  const { ok, parts } = await service(t, { timezone: "Asia/Kolkata" });
  const ask = (fields: object = {}) =>
    ok("GetAllHistoryMeasures", {
      machinecode: 40,
      pointindex: 1,
      axis: 1,
      getRMS: true,
      ...fields,
    });
  const columns = [
    "MachineCode",
    "PointIndex",
    "Axis",
    "Date_Time",
    "Units",
    "Severity",
    "RealValue",
    "Reason",
  ];
  assert.deepEqual(await ask(), [{ columns, data: [] }]);
  for (const minutes of [30, 20, 10]) accelReading(parts, NOW - minutes * 60_000, null);
  const head = (time: string) => [40, 1, 1, `2026-11-20 ${time}`];
  const rows = (time: string) => [
    [...head(time), "G", null, 1.5, 3],
    [...head(time), "mm/s", 3, 3.1, 3],
    [...head(time), "GE", null, 0.2, 3],
  ];
  const all = [...rows("17:00:00"), ...rows("17:10:00"), ...rows("17:20:00")];
  assert.deepEqual(await ask(), [{ columns, data: all }]);
  const first = { StartDate: "2026-11-20 17:00:00", EndDate: "2026-11-20 17:00:00" };
  assert.deepEqual(await ask(first), [{ columns, data: rows("17:00:00") }]);
  assert.equal((await ask({ EndDate: "2026-11-20" }))[0]?.["data"]?.length, 9);
  assert.deepEqual(await ask({ EndDate: "2026-11-19" }), [{ columns, data: [] }]);
  for (const unknown of [{ machinecode: 9 }, { pointindex: 9 }, { axis: 3 }]) {
    assert.deepEqual(await ask(unknown), [{ columns, data: [] }]);
  }
});

test("query service – a range that is empty because the clock skipped it is an empty result, not an error", async (t) => {
  // On 2026-03-08 the clocks of New York go from 02:00 to 03:00.
  const { ask } = await service(t, { timezone: "America/New_York" });
  const place = { machinecode: 40, pointindex: 1, axis: 1 };
  const between = (StartDate: string, EndDate: string) =>
    ask("GetHistoryMeasures", { ...place, StartDate, EndDate });
  const leapt = await between("2026-03-08 02:45:00", "2026-03-08 03:15:00");
  assert.deepEqual([leapt.number, leapt.value], [0, []]);
  const turned = await between("2026-03-08 03:15:00", "2026-03-08 02:10:00");
  assert.deepEqual([turned.number, turned.value], [9004, []]);
});

test("query service – GetHistoryMeasures returns processed readings with unit labels", async (t) => {
  const { ok, parts } = await service(t);
  accelReading(parts, NOW - 60_000, 5);
  const found = await ok("GetHistoryMeasures", { machinecode: 40, pointindex: 1, axis: 1 });
  assert.equal(found.length, 1);
  assert.deepEqual(
    ["FileId", "AccelUnit", "VelUnit", "EnvUnit"].map((name) => found[0]?.[name]),
    [5, "G", "mm/s", "GE"],
  );
});

test("query service – the bulk tables", async (t) => {
  const { ok, parts } = await service(t);
  accelReading(parts, NOW, null);
  const measures = await ok("GetAllCurrentMeasures");
  assert.equal(measures[0]?.["data"]?.length, 6);
  assert.equal(
    (await ok("GetAllCurrentMeasures", { dateTime: "2026-11-21" }))[0]?.["data"]?.length,
    0,
  );
  const devices = await ok("GetAllDevices");
  assert.equal(devices[0]?.["columns"]?.[1], "code");
  assert.equal(devices[0]?.["data"]?.length, SITE.sensors.length);
});

test("query service – devices have configuration, newest values, and null for what is unknown", async (t) => {
  const queued = Date.parse("2026-11-19T10:11:12Z");
  const { ok, parts } = await service(
    t,
    {},
    queryParts({
      series: createSeriesMaker(new DftPlans()),
      lastQueuedAtMs: (sensor) => (sensor === "20871" ? queued : null),
    }),
  );
  parts.history.add({
    sensor: "20871",
    kind: "currentV2",
    timeMs: NOW,
    values: { battery: 3.6, module_temperature: 24.5, current1_avg: 12.5 },
    attributes: { version: 12, battery_type: 2 },
  });
  parts.history.add({ sensor: "20871", kind: "accCurrent", timeMs: NOW + 1, values: {} });
  const device = {
    ID: 20871,
    code: "20871",
    model: null,
    type: 9,
    channelCount: 2,
    name: null,
    description: null,
    enabled: 1,
    batteryVoltage: 3.6,
    batteryType: null,
    temperature: 24.5,
    signalStrengthValue: null,
    firmwareVersion: 12,
    lastUpdateConfig: "2026-11-19 10:11:12",
  };
  assert.deepEqual(await ok("GetDevicesByCode", { sensorCodes: " 020871 , 99" }), [device]);
  assert.deepEqual(await ok("GetDevices", { machineCode: 40, pointIndex: 2 }), [device]);
  assert.equal((await ok("GetDevices", { companyId: -1 })).length, SITE.sensors.length);
  const kept = SITE.sensors.map((sensor) => ({ ...sensor, enabled: sensor.code !== "20871" }));
  const { ok: okKept } = await service(
    t,
    {},
    queryParts({ site: fixedSite({ ...SITE, sensors: kept }) }),
  );
  assert.equal((await okKept("GetDevicesByCode", { sensorCodes: "20871" }))[0]?.["enabled"], 0);
  assert.equal((await okKept("GetDevicesByCode", { sensorCodes: "10234" }))[0]?.["enabled"], 1);
  const [first] = (await ok("GetDevices", { companyId: 1 })) as unknown as Record<
    string,
    unknown
  >[];
  assert.equal(first?.["lastUpdateConfig"], "");
  assert.equal(first?.["channelCount"], 3);
});

test("query service – devices take a value that the newest record lacks from the newest record that has it", async (t) => {
  const { ok, parts } = await service(t);
  const add = (minutesAgo: number, values: object, attributes: object) =>
    parts.history.add({
      sensor: "40001",
      kind: "rpm",
      timeMs: NOW - minutesAgo * 60_000,
      values: { rpm: 1480, ...values },
      attributes,
    });
  add(3, { battery: 3.7, module_temperature: 20 }, { version: 11 });
  add(2, { battery: 3.6 }, {});
  add(1, { battery: null, module_temperature: null }, {});
  const [device] = (await ok("GetDevicesByCode", { sensorCodes: "40001" })) as unknown as Record<
    string,
    unknown
  >[];
  assert.equal(device?.["batteryVoltage"], 3.6);
  assert.equal(device?.["temperature"], 20);
  assert.equal(device?.["firmwareVersion"], 11);
});

test("query service – state reads fill the device list, and supply internal RMS for getRMS", async (t) => {
  const read = { operation: "getState", fields: { battery: { from: "B", unit: "V" } } };
  const sensors = SITE.sensors.map((sensor) => ({ ...sensor, stateReads: [read] }));
  const { ok, parts } = await service(
    t,
    {},
    queryParts({
      series: createSeriesMaker(new DftPlans()),
      site: fixedSite({ ...SITE, sensors }),
    }),
  );
  accelReading(parts, NOW - 60_000, null);
  parts.history.add({
    sensor: "10234",
    kind: "node",
    timeMs: NOW,
    values: { battery: 3.58, firmware: "21", signal: -71.4, vel_rms1: 3.57, env_rms2: null },
    units: { battery: "V", signal: "dBm", vel_rms1: "mm/s", env_rms2: "GE" },
    quality: { env_rms2: { quality: "bad", reason: "missing" } },
  });
  const [device] = (await ok("GetDevices", {
    machineCode: 40,
    pointIndex: 1,
  })) as unknown as Record<string, unknown>[];
  assert.equal(device?.["batteryVoltage"], 3.58);
  assert.equal(device?.["firmwareVersion"], 21);
  assert.equal(device?.["signalStrengthValue"], -71);
  const rows = async (getRMS: boolean, axis: number) =>
    (await ok("GetAllHistoryMeasures", { machinecode: 40, pointindex: 1, axis, getRMS }))[0]?.[
      "data"
    ];
  const own = (axis: number, unit: string, value: number | null) => [
    [40, 1, axis, "2026-11-20 12:00:00", unit, null, value, 7],
  ];
  const axis1 = (await rows(false, 1)) as unknown as unknown[];
  assert.equal(axis1.length, 3);
  assert.deepEqual(await rows(true, 1), [...axis1, ...own(1, "mm/s", 3.57)]);
  assert.deepEqual(((await rows(true, 2)) as unknown as unknown[]).slice(3), own(2, "GE", null));
});

test("query service – a node without records has the axes whose RMS its state reads supply", async (t) => {
  const read = {
    operation: "getState",
    fields: { vel_rms1: { from: "V1", unit: "mm/s" }, env_rms3: { from: "E3", unit: "GE" } },
  };
  const sensors = SITE.sensors.map((sensor) =>
    sensor.code === "10234" ? { ...sensor, kinds: [], channels: {}, stateReads: [read] } : sensor,
  );
  const { ok, parts } = await service(
    t,
    {},
    queryParts({
      series: createSeriesMaker(new DftPlans()),
      site: fixedSite({ ...SITE, sensors }),
    }),
  );
  parts.history.add({
    sensor: "10234",
    kind: "node",
    timeMs: NOW,
    values: { vel_rms1: 3.57, env_rms3: 0.2 },
    units: { vel_rms1: "mm/s", env_rms3: "GE" },
  });
  const place = { machinecode: 40, pointindex: 1 };
  const axes = (await ok("GetAxis", place)) as unknown as { Id: number }[];
  assert.deepEqual(
    axes.map(({ Id }) => Id),
    [1, 3],
  );
  const asked = { ...place, axis: -1, getRMS: true };
  const [table] = (await ok("GetAllHistoryMeasures", asked)) as unknown as { data: unknown[][] }[];
  assert.deepEqual(
    table?.data.map((row) => [row[2], row[4], row[6], row[7]]),
    [
      [1, "mm/s", 3.57, 7],
      [3, "GE", 0.2, 7],
    ],
  );
  assert.deepEqual(await ok("GetCurrentMeasures", { machineCode: 40 }), []);
});

test("query service – internal RMS is served in mm/s whatever unit the node reports it in", async (t) => {
  const { ok, parts } = await service(t);
  const node = (minute: number, unit: string) => ({
    sensor: "10234",
    kind: "node" as const,
    timeMs: NOW + minute * 60_000,
    values: { vel_rms1: 0.5 },
    units: { vel_rms1: unit },
  });
  const asked = { machinecode: 40, pointindex: 1, axis: 1, getRMS: true };
  parts.history.add(node(-3, "in/s"));
  parts.history.add(node(-2, "1"));
  parts.history.add(node(-1, "%"));
  const [table] = (await ok("GetAllHistoryMeasures", asked)) as unknown as { data: unknown[][] }[];
  assert.deepEqual(
    table?.data.map((row) => [row[4], row[6]]),
    [
      ["mm/s", 12.7],
      ["mm/s", 0.5],
      ["%", 0.5],
    ],
  );
});

test("query service – a sensor without listed channels has the axes that its records have", async (t) => {
  const unlisted = SITE.sensors.map((sensor) =>
    sensor.code === "10234" ? { ...sensor, channels: {} } : sensor,
  );
  const parts = {
    ...queryParts({ series: createSeriesMaker(new DftPlans()) }),
    site: fixedSite({ ...SITE, sensors: unlisted }),
  };
  const { ok } = await service(t, {}, parts);
  const axisIds = async () => {
    const nodes = await ok("GetAxis", { machinecode: 40, pointindex: 1 });
    return (nodes as unknown as { Id: number }[]).map(({ Id }) => Id);
  };
  const count = async () =>
    (await ok("GetDevicesByCode", { sensorCodes: "10234" }))[0]?.["channelCount"];
  const assigned = async () => (await ok("GetSensorAssignedMachines", { code: 10234 })).length;
  assert.deepEqual(await axisIds(), [1, 2, 3]);
  assert.equal(await count(), 3);
  accelReading(parts, NOW, null);
  assert.deepEqual(await axisIds(), [1, 2]);
  assert.equal(await count(), 2);
  assert.equal(await assigned(), 2);
});

test("query service – GetDataBySensor returns an object per channel, slashed dates, values one level deeper", async (t) => {
  const { ok, parts } = await service(t);
  const units = { current1_avg: "A", current1_min: "A", current2_avg: "A", battery: "V" };
  parts.history.add({
    sensor: "20871",
    kind: "currentV2",
    timeMs: NOW,
    values: { current1_avg: 12.5, current1_min: 11, current2_avg: null, battery: 3.6 },
    units,
  });
  const found = await ok("GetDataBySensor", { sensorCode: 20871 });
  const A = 103;
  // The machine is named by another sensor on it, the point by none: both read as in the lists.
  const names = {
    SensorCode: 20871,
    SensorName: "",
    MachineName: "Pump 4",
    PointName: "Point 2",
  };
  const element = (Value: number | null) => ({
    Date: "2026/11/20 12:00:00",
    DescUnit: "A",
    Value,
    Unit: A,
  });
  assert.deepEqual(found, [
    { Channel: 1, ...names, values: [[element(12.5)]] },
    { Channel: 2, ...names, values: [[element(null)]] },
  ]);
  assert.deepEqual(await ok("GetDataBySensor", { sensorCode: 7 }), []);
});

test("query service – GetExtraValues returns the values of one unit at a point", async (t) => {
  const { ok, parts } = await service(t);
  accelReading(parts, NOW, null);
  const units = (await ok("GetUnits")) as unknown as { Id: number; Name: string }[];
  const code = (name: string) => units.find(({ Name }) => Name === name)?.Id;
  const unit = code("degC");
  assert.deepEqual(await ok("GetExtraValues", { machinecode: 40, pointindex: 1, unit }), [
    { date: "2026/11/20 12:00:00", value: 31.5, unit, descUnit: "degC" },
  ]);
  assert.deepEqual(await ok("GetExtraValues", { machinecode: 40, pointindex: 1, unit: 77 }), []);
  parts.history.add({
    sensor: "30007",
    kind: "loop",
    timeMs: NOW,
    values: { channel1: 5.5, channel1_ma: 12.8 },
    units: { channel1: "bar", channel1_ma: "mA" },
  });
  assert.deepEqual(
    await ok("GetExtraValues", { machinecode: 40, pointindex: 1, unit: code("mm/s²") }),
    [1.5].map((g) => ({
      date: "2026/11/20 12:00:00",
      value: g * 9800,
      unit: 1,
      descUnit: "mm/s²",
    })),
  );
  const inches = await ok("GetExtraValues", {
    machinecode: 40,
    pointindex: 1,
    unit: code("in/s"),
  });
  assert.equal(inches[0]?.["value"], 3.1 / 25.4);
  const bar = await ok("GetExtraValues", { machinecode: 41, pointindex: 1, unit: code("bar") });
  assert.equal(bar[0]?.["value"], 5.5);
});

/** The packed form by its description alone: bytes of little-endian floats. */
function unpack(base64: unknown): number[] {
  assert.equal(typeof base64, "string");
  const bytes = Uint8Array.from(atob(String(base64)), (char) => char.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(i * 4, true));
}

test("query service – GetFFT_Base64 and GetFFT agree, and show the tone at its frequency", async (t) => {
  const { ok, parts } = await service(t);
  accelReading(parts, NOW, 9);
  const file = { machinecode: 40, pointindex: 1, fileid: 9, SignalTypeOut: 0 };
  const spectrum = await ok("GetFFT_Base64", { ...file, OutputType: 1, axis: false });
  assert.deepEqual(Object.keys(spectrum), ["base64", "SR", "type", "step", "start"]);
  assert.deepEqual([spectrum["SR"], spectrum["type"], spectrum["step"]], [RATE, 1, RATE / SAMPLES]);
  const lines = unpack(spectrum["base64"]);
  assert.equal(lines.length, SAMPLES / 2);
  const largest = lines.indexOf(Math.max(...lines));
  assert.equal((largest * RATE) / (2 * lines.length), 100);
  assert.ok(Math.abs((lines[largest] ?? 0) - 1) < 1e-3);
  const cpm = await ok("GetFFT_Base64", { ...file, OutputType: 1, hz: true });
  assert.equal(cpm["base64"], spectrum["base64"]);
  assert.equal(cpm["step"], (RATE / SAMPLES) * 60);
  const wave = await ok("GetFFT_Base64", { ...file, OutputType: 2, hz: true });
  assert.equal(wave["step"], 1 / RATE);
  const samples = unpack(wave["base64"]);
  assert.equal(samples.length, SAMPLES);

  const [coordinates, fft] = (await ok("GetFFT", { machinecode: 40, fileid: 9 })) as unknown as {
    X: number[];
    Y: number[];
  }[];
  assert.deepEqual(coordinates?.Y.map(Math.fround), samples);
  assert.deepEqual(fft?.Y.map(Math.fround), lines);
  assert.equal(fft?.X[16], 100);
  assert.equal(coordinates?.X[64], 64 / RATE);
});

test("query service – all seven units; the envelope spectrum keeps the formula for its lines", async (t) => {
  const { ok, ask, parts } = await service(t);
  accelReading(parts, NOW, 9);
  for (const SignalTypeOut of [0, 1, 2, 3, 4, 5, 6]) {
    for (const OutputType of [1, 2]) {
      const file = { machinecode: "40", pointindex: "1", fileid: "9", SignalTypeOut, OutputType };
      const series = await ok("GetFFT_Base64", file);
      const values = unpack(series["base64"]);
      assert.ok(values.length > 400 && values.every(Number.isFinite));
      if (OutputType === 2) {
        // Acceleration whole, velocity and displacement without a tenth at each end, GE without a twentieth.
        const lost = Math.floor((SignalTypeOut < 2 ? 0 : SignalTypeOut < 6 ? 0.1 : 0.05) * SAMPLES);
        assert.equal(values.length, SAMPLES - 2 * lost);
        assert.equal(series["start"], lost / RATE);
      }
      if (OutputType === 1) {
        const step = Number(series["step"]);
        assert.ok(Math.abs(RATE / (2 * values.length) - step) < step / values.length);
      }
    }
  }
  const elsewhere = { machinecode: 41, pointindex: 1, fileid: 9, SignalTypeOut: 0, OutputType: 1 };
  assert.equal((await ask("GetFFT_Base64", elsewhere)).number, 9006);
});

test("query service – a record that does not have the quantity returns an empty series", async (t) => {
  const { ok, parts } = await service(t);
  accelReading(parts, NOW, 9);
  const stored = parts.waveforms.read(9) ?? assert.fail("no waveform");
  parts.addWaveform({ ...stored, sampleRateHz: 1000 });
  const file = { machinecode: 40, pointindex: 1, fileid: 9, SignalTypeOut: 6, OutputType: 1 };
  assert.equal((await ok("GetFFT_Base64", file))["base64"], "");
});

test("query service – GetSensorAssignedMachines returns a row per axis", async (t) => {
  const { ok } = await service(t);
  assert.deepEqual(await ok("GetSensorAssignedMachines", { code: "010234" }), [
    { MachineCode: 40, PointIndex: 1, Axis: 1 },
    { MachineCode: 40, PointIndex: 1, Axis: 2 },
    { MachineCode: 40, PointIndex: 1, Axis: 3 },
  ]);
  assert.deepEqual(await ok("GetSensorAssignedMachines", { code: 20871 }), [
    { MachineCode: 40, PointIndex: 2, Axis: null },
  ]);
  assert.deepEqual(await ok("GetSensorAssignedMachines", { code: "40001" }), []);
  const all = (await ok("GetSensorAssignedMachines", { code: "" })) as unknown as object[];
  assert.deepEqual(all[0], { MachineCode: 40, PointIndex: 1, Axis: 1, SensorCode: "10234" });
  assert.deepEqual(all[3], { MachineCode: 40, PointIndex: 2, Axis: null, SensorCode: "20871" });
});

test("query service – responses use the vendor's word, and requests may use either word", async (t) => {
  const names = createWireNames({ word: "acme", service: "AcmeService.svc" });
  const { ok, ask, parts } = await service(t, { names });
  parts.history.add({
    sensor: "40001",
    kind: "rpm",
    timeMs: NOW,
    values: { rpm: 1480 },
    units: { rpm: "rpm" },
  });
  for (const field of ["sensorCode", "acmeCode", "ACMECODE"]) {
    const found = await ok("GetDataBySensor", { [field]: 40001 });
    assert.deepEqual(Object.keys(found[0] ?? {}), [
      "Channel",
      "AcmeCode",
      "AcmeName",
      "MachineName",
      "PointName",
      "values",
    ]);
  }
  assert.equal((await ask("GetDataBySensor", {})).description, "acmeCode is missing");
  for (const operation of ["GetAcmeAssignedMachines", "GetSensorAssignedMachines"]) {
    assert.equal((await ok(operation, { code: "10234" })).length, 3);
  }
});

test("query service – FileId is 0 if the samples are deleted, because readings are kept longer", async (t) => {
  const { ok, parts } = await service(t);
  accelReading(parts, NOW - 60_000, 5);
  const fileIds = async () => {
    const place = { machinecode: 40, pointindex: 1, axis: 1 };
    const history = await ok("GetHistoryMeasures", place);
    const current = await ok("GetCurrentMeasures", { axis: 1 });
    const signal = current[0]?.["pointList"]?.[0]?.["axis"]?.[0]?.["signalAPI"];
    return [history[0]?.["FileId"], signal?.["FileId"]];
  };
  assert.deepEqual(await fileIds(), [5, 5]);
  Object.assign(parts.waveforms, { has: () => false, read: () => null });
  assert.deepEqual(await fileIds(), [0, 0]);
});

test("query service – an internal error is reported as such, without details", async (t) => {
  const parts = queryParts();
  const broken = Object.assign(parts, {
    waveforms: {
      has: () => true,
      read: () => {
        throw new Error("secret detail");
      },
    },
  });
  const { ask } = await service(t, {}, broken);
  const answer = await ask("GetFFT", { machinecode: 40, fileid: 1 });
  assert.deepEqual([answer.status, answer.number, answer.value], [200, 9008, []]);
  assert.ok(!answer.text.includes("secret"));
});

test("query service – AccelSev and EnvSev return the worst active alarm of the quantity on that axis", async (t) => {
  const rules = [
    { name: "hard", select: { values: ["channel1_accel_rms"] }, high: 1, highHigh: 2 },
    { name: "soft", select: { values: ["channel1_accel_peak"] }, high: 9 },
    { name: "envelope", select: { values: ["*_env_rms"] }, high: 5 },
  ];
  const { alarms, store } = openAlarms(t, { ...SITE, alarms: rules }, NOW);
  const { ok, parts } = await service(t, {}, queryParts({}, alarms.actions));
  accelReading(parts, NOW, null);
  let minute = 0;
  const severities = async (values: Record<string, number>) => {
    const timeMs = NOW - 3_600_000 + 60_000 * minute++;
    await append(store, [readingOf("10234", timeMs, { kind: "accel", values })]);
    return JSON.stringify(await ok("GetCurrentMeasures")).match(/"(?:Accel|Env)Sev":(?:null|\d)/g);
  };
  const quiet = { channel1_accel_rms: 0.5, channel1_accel_peak: 1, channel1_env_rms: 0.2 };
  const of = (accel: number | null, env: number | null) => [
    `"AccelSev":${accel}`,
    `"EnvSev":${env}`,
  ];
  // Nothing watches the acceleration of axis 2.
  assert.deepEqual(await severities(quiet), [...of(1, 1), ...of(null, 1)]);
  assert.deepEqual(await severities({ ...quiet, channel1_accel_peak: 12 }), [
    ...of(3, 1),
    ...of(null, 1),
  ]);
  assert.deepEqual(
    await severities({ channel1_accel_rms: 2.5, channel1_accel_peak: 12, channel1_env_rms: 6 }),
    [...of(4, 3), ...of(null, 1)],
  );
  assert.deepEqual(await severities(quiet), [...of(1, 1), ...of(null, 1)]);
});

test("query service – forty clients that ask for all devices of 1,900 sensors are all answered, and the list is made twice", async (t) => {
  const sensors = Array.from({ length: 1_900 }, (_, n) => ({
    code: String(10_000 + n),
    type: 40,
    kinds: ["rpm" as const],
    channels: {},
  }));
  const parts = queryParts({ site: fixedSite({ site: "plant-7", sensors }) });
  let looked = 0;
  const { latest } = parts.history;
  parts.history.latest = (...asked) => {
    looked += 1;
    return latest.call(parts.history, ...asked);
  };
  const { raw } = await service(t, {}, parts);
  const body = JSON.stringify({ Token: "x" });
  const all = await Promise.all(Array.from({ length: 40 }, () => raw("GetAllDevices", body)));
  for (const { status, value } of all) {
    assert.equal(status, 200);
    assert.equal(value[0]?.["data"]?.length, sensors.length);
  }
  assert.ok(looked <= 3 * sensors.length, `${looked} look-ups`);
});
