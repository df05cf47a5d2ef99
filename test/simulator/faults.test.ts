import assert from "node:assert/strict";
import { connect } from "node:net";
import { type TestContext, test } from "node:test";
import { gunzipSync } from "node:zlib";
import type { PolledKind } from "../../src/core/sensor.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { FAULTS, type FaultName, type FaultSpec } from "../../src/simulator/faults.ts";
import { parseFaultFlag } from "../../src/simulator/parse-fault.ts";
import type { Simulator } from "../../src/simulator/simulator.ts";
import { waitUntil } from "../support/wait-until.ts";
import { type RawAnswer, rawCall } from "./raw-call.ts";
import { OPERATIONS, plant, question, records, sensorOf } from "./support.ts";

const DAY = "2026-11-19";
/** Where silence is the fault; elsewhere a busy machine may take its time. */
const QUIET_MS: Partial<Record<FaultName, number>> = { "never-answer": 150, silence: 150 };

/** The plant of a fault test: few records, real time for what waits. */
const OPTIONS = {
  startMs: Date.parse("2026-11-20T11:00:00Z"),
  cadenceS: { rpm: 7200, accel: 7200, dryContact: 7200 },
  clock: systemClock,
} as const;

const call = (
  simulator: Simulator,
  kind: PolledKind,
  {
    day = DAY,
    ...options
  }: { day?: string; quietMs?: number; headers?: string[]; onFirstBytes?: () => void } = {},
) =>
  rawCall(
    simulator.port,
    `/SensorService.svc/${OPERATIONS[kind]}`,
    question(simulator, kind, day),
    options,
  );

/** What a bare socket sees of a fault, against what it saw without. */
interface Sight {
  readonly answer: RawAnswer;
  readonly text: string;
  readonly plain: string;
}
type Look = (sight: Sight) => boolean;

const values = (text: string): Record<string, unknown>[] =>
  (JSON.parse(text) as { Value: Record<string, unknown>[] }[]).flatMap((element) => element.Value);
const status =
  (code: number, text = /<html|^$/): Look =>
  ({ answer }) =>
    answer.status === code && text.test(answer.body.toString());
const shows =
  (pattern: RegExp): Look =>
  ({ text, plain }) =>
    pattern.test(text) && !pattern.test(plain);
const everyTime =
  (part: string): Look =>
  ({ text }) =>
    values(text).every((record) => String(record["time_data"]).startsWith(part));
const channel =
  (look: (one: unknown[], two: unknown[], before: unknown[]) => boolean): Look =>
  ({ text, plain }) => {
    const [after, before] = [values(text)[0], values(plain)[0]];
    const list = (record: Record<string, unknown> | undefined, name: string) =>
      record?.[name] as unknown[];
    return look(list(after, "channel1"), list(after, "channel2"), list(before, "channel1"));
  };

/** One look per fault; the compiler asks for every one of them. */
const LOOKS: Readonly<Record<FaultName, readonly [Omit<FaultSpec, "name">, Look, PolledKind?]>> = {
  refused: [{ forMs: 400 }, ({ answer }) => answer.ended === "refused"],
  "never-answer": [{}, ({ answer }) => answer.ended === "quiet" && answer.firstByteMs === null],
  "close-without-answer": [
    {},
    ({ answer }) => answer.ended === "end" && answer.firstByteMs === null,
  ],
  "reset-without-answer": [
    {},
    ({ answer }) => answer.ended === "reset" && answer.firstByteMs === null,
  ],
  // Needs a second request on one connection: has its own test.
  "stale-keep-alive": [{}, ({ answer }) => answer.status === 200],
  "slow-first-byte": [{ ms: 60 }, ({ answer }) => (answer.firstByteMs ?? 0) >= 58],
  overloaded: [{ ms: 60 }, ({ answer }) => (answer.firstByteMs ?? 0) >= 58],
  "html-500": [{}, status(500)],
  "html-400": [{}, status(400)],
  "html-404": [{}, status(404)],
  "html-login": [{}, status(200, /<form/)],
  "empty-body": [{}, status(200, /^$/)],
  redirect: [
    { text: "http://elsewhere/" },
    ({ answer }) => answer.status === 302 && answer.headers["location"] === "http://elsewhere/",
  ],
  unauthorized: [{}, status(401)],
  forbidden: [{}, status(403)],
  "proxy-auth": [{}, status(407)],
  "too-many-requests": [
    { seconds: 7 },
    ({ answer }) => answer.status === 429 && answer.headers["retry-after"] === "7",
  ],
  unavailable: [{}, ({ answer }) => answer.status === 503 && answer.headers["retry-after"] === "2"],
  "http-status": [{ status: 418 }, status(418)],
  "head-in-pieces": [
    { ms: 5 },
    ({ answer, text, plain }) =>
      answer.pieces > 4 && answer.headers["date"] !== undefined && text === plain,
  ],
  "no-date": [{}, ({ answer }) => answer.status === 200 && answer.headers["date"] === undefined],
  "clock-jump": [
    { ms: 86_400_000 },
    ({ answer }) => (answer.headers["date"] ?? "").startsWith("Sat, 21 Nov 2026"),
  ],
  "non-zero-status": [{}, shows(/"StatusNumber":17\},"Value":\[\]/)],
  "non-zero-status-with-records": [{ status: 3 }, shows(/"StatusNumber":3\},"Value":\[\{/)],
  "string-status": [{}, shows(/"StatusNumber":"0"/)],
  "value-null": [{}, shows(/"Value":null\}\]$/)],
  "value-missing": [{}, shows(/"StatusNumber":0\}\}\]$/)],
  "value-empty-list": [{}, shows(/"Value":\[\[\]\]/)],
  "empty-array": [{}, shows(/^\[\]$/)],
  "configs-missing": [{}, shows(/^\[\{"Key"/)],
  "configs-null": [{}, shows(/"Configs":null/)],
  "key-missing": [{}, shows(/^\[\{"Configs":\[\],"Value"/)],
  "bare-envelope": [{}, shows(/^\{"Configs".*\}$/)],
  wrapped: [{}, shows(/^\{"getRPMDataResult":\[\{"Configs".*\]\}$/)],
  "value-first": [{}, shows(/^\[\{"Value":\[.*\],"Configs":\[\],"Key":\{[^}]*\}\}\]$/)],
  "two-elements": [{}, shows(/\]\},\{"Configs":\[\],"Key"/)],
  duplicates: [{}, ({ text, plain }) => values(text).length === 2 * values(plain).length],
  "same-time-other-content": [
    {},
    ({ text }) => {
      const [a, b] = values(text);
      return a?.["time_data"] === b?.["time_data"] && JSON.stringify(a) !== JSON.stringify(b);
    },
  ],
  "out-of-order": [
    {},
    ({ text, plain }) => text !== plain && values(text).length === values(plain).length,
  ],
  "newest-first": [
    {},
    ({ text, plain }) =>
      JSON.stringify(values(text)) === JSON.stringify(values(plain).toReversed()),
  ],
  late: [{ ms: 26 * 3_600_000 }, ({ text, plain }) => values(text).length < values(plain).length],
  vanished: [
    { fraction: 0.5 },
    ({ text, plain }) =>
      values(text).length < values(plain).length &&
      values(text).every((record) => plain.includes(JSON.stringify(record).slice(1, 30))),
  ],
  shrunk: [{ count: 2 }, ({ text }) => values(text).length === 2],
  "changed-field": [
    {},
    ({ text, plain }) => {
      const before = values(plain)[0];
      const changed = Object.entries(values(text)[0] ?? {}).filter(([k, v]) => before?.[k] !== v);
      return changed.length === 1 && changed[0]?.[0] !== "time_data";
    },
  ],
  foreign: [{}, shows(/"sensor_code":"999999999"/)],
  "other-day": [{}, ({ text, plain }) => values(text).length === 2 * values(plain).length],
  "time-unset": [{}, everyTime("/Date(-62135596800000+0000)")],
  "time-epoch": [{}, everyTime("/Date(0+0000)/")],
  "time-2106": [{}, everyTime("/Date(4294967295000+0100)")],
  "time-text": [{}, everyTime("yesterday")],
  "channels-cut": [{}, channel((one, _, before) => one.length === before.length / 2), "accel"],
  "channels-unequal": [{}, channel((one, two) => one.length === two.length + 7), "accel"],
  "channels-empty": [{}, channel((one) => one.length === 0), "accel"],
  "samples-out-of-range": [{}, channel((one) => one.includes(40_000)), "accel"],
  "samples-float": [{}, channel((one) => one.includes(0.5)), "accel"],
  "calibration-zero": [{}, shows(/"calibration":0,/), "accel"],
  "calibration-negative": [{}, shows(/"calibration":-/), "accel"],
  "nan-tokens": [{}, shows(/:NaN,.*:INF,/)],
  "null-fields": [{}, shows(/"RPM":null/)],
  "missing-fields": [{}, ({ text }) => !text.includes("RPM") && text.includes("time_data")],
  "unknown-members": [{}, shows(/"__proto__":1.*"zz_new":7/)],
  "unknown-values": [{}, shows(/"recording_reason":9/), "accel"],
  "restored-from-backup": [
    {},
    ({ text, plain }) => {
      const before = values(plain);
      return values(text).every(
        (record, i) =>
          record["time_data"] === before[i]?.["time_data"] &&
          JSON.stringify(record) !== JSON.stringify(before[i]),
      );
    },
  ],
  // The new serial answers only from now on; the old one keeps its past.
  "sensor-swapped": [{ text: "777777777" }, ({ text, plain }) => text === plain],
  "type-changed": [{ status: 41 }, ({ text }) => values(text).length === 0],
  "big-day": [
    { megabytes: 0.1 },
    ({ text, plain }) => text.length > 90_000 && plain.length < 10_000 && values(text).length > 300,
  ],
  "numbers-as-strings": [{}, shows(/"RPM":"\d/)],
  "decimal-commas": [{}, shows(/"battery":"3,\d/)],
  "quoted-tokens": [{}, ({ text, plain }) => text === plain],
  "iso-times": [{}, shows(/"time_data":"2026-11-19T[\d:.]+\+01:00"/)],
  "odd-case": [{}, shows(/"rpm":.*"Battery":/)],
  "white-space": [{}, shows(/"RPM" : [\d.]+,\r\n/)],
  "plain-slashes": [{}, shows(/"\/Date/)],
  bom: [{}, ({ answer }) => answer.body.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf]))],
  utf16: [
    {},
    ({ answer }) => answer.body.subarray(0, 4).equals(Buffer.from([0xff, 0xfe, 0x5b, 0])),
  ],
  "content-type": [{}, ({ answer }) => answer.headers["content-type"] === "text/html"],
  // Asks for it: has its own test; without asking nothing changes.
  gzip: [{}, ({ text, plain }) => text === plain],
  cut: [
    { fraction: 0.5 },
    ({ answer, plain }) =>
      answer.ended === "end" &&
      Number(answer.headers["content-length"]) === plain.length &&
      answer.body.length === plain.length >> 1,
  ],
  reset: [{ fraction: 0.5 }, ({ answer }) => answer.ended === "reset"],
  "length-larger": [
    {},
    ({ answer, plain }) => Number(answer.headers["content-length"]) === plain.length + 1000,
  ],
  "length-smaller": [
    {},
    ({ answer, plain }) => Number(answer.headers["content-length"]) === plain.length - 37,
  ],
  drip: [
    { bytes: 100, ms: 60 },
    ({ answer, plain }) => answer.body.length < plain.length || plain.length < 1000,
  ],
  silence: [
    { fraction: 0.5 },
    ({ answer, plain }) => answer.ended === "quiet" && answer.body.length === plain.length >> 1,
  ],
};

for (const name of Object.keys(FAULTS) as FaultName[]) {
  test(`faults – ${name} is visible on the wire while it is active, and gone afterwards`, async (t) => {
    const { simulator } = await plant(t, OPTIONS);
    const [spec, look, kind = "rpm"] = LOOKS[name];
    const plain = (await call(simulator, kind)).body.toString();
    assert.ok(values(plain).length >= 11);
    const fault = simulator.faults.add({ name, ...spec });
    const quietMs = QUIET_MS[name];
    const answer = await call(simulator, kind, {
      ...(quietMs ? { quietMs } : {}),
      // One piece is enough.
      ...(name === "drip" ? { onFirstBytes: () => void simulator.close() } : {}),
    });
    const text = dechunked(answer);
    assert.ok(
      look({ answer, text, plain }),
      `${answer.ended} ${JSON.stringify(answer.headers)} ${text.slice(0, 400)}`,
    );
    if (name === "drip") return;
    if (name === "refused") await reopened(simulator);
    fault.remove();
    assert.equal((await call(simulator, kind)).body.toString(), plain);
  });
}

function dechunked({ headers, body }: RawAnswer): string {
  if (headers["transfer-encoding"] !== "chunked") return body.toString();
  return body.toString().replace(/(^|\r\n)[0-9a-f]+\r\n/g, "");
}

async function reopened(simulator: Simulator): Promise<void> {
  const isOpen = async () => (await call(simulator, "rpm")).ended !== "refused";
  await waitUntil("the port opens again", isOpen);
}

test("faults – a stale connection is reset when it is reused, a new one is not", async (t) => {
  const { simulator } = await plant(t, OPTIONS);
  simulator.faults.add({ name: "stale-keep-alive" });
  const body = question(simulator, "rpm", DAY);
  const request = `POST /SensorService.svc/getRPMData HTTP/1.1\r\nHost: g\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const socket = connect(simulator.port, "127.0.0.1");
  t.after(() => socket.destroy());
  const seen = await new Promise<string[]>((resolve) => {
    const events: string[] = [];
    socket.on("data", (part) => {
      if (!part.toString().endsWith("]}]")) return;
      events.push("answer");
      socket.write(request);
    });
    socket.on("error", (error: NodeJS.ErrnoException) => resolve([...events, error.code ?? ""]));
    socket.write(request);
  });
  assert.deepEqual(seen, ["answer", "ECONNRESET"]);
});

test("faults – gzip is used if accepted, and only then", async (t) => {
  const { simulator } = await plant(t, OPTIONS);
  const plain = (await call(simulator, "rpm")).body.toString();
  simulator.faults.add({ name: "gzip" });
  const answer = await call(simulator, "rpm", { headers: ["Accept-Encoding: gzip"] });
  assert.equal(answer.headers["content-encoding"], "gzip");
  assert.equal(gunzipSync(answer.body).toString(), plain);
});

test("faults – affect only their sensor, day, calls and number of times", async (t) => {
  const { simulator } = await plant(t, OPTIONS);
  const { code } = sensorOf(simulator, "rpm");
  simulator.faults.add({ name: "html-500", sensor: code, day: DAY, fromCall: 2, toCall: 3 });
  const seen = [];
  for (let i = 0; i < 4; i++) seen.push((await call(simulator, "rpm")).status);
  assert.deepEqual(seen, [200, 500, 500, 200]);
  assert.equal((await call(simulator, "rpm", { day: "2026-11-18" })).status, 200);
  assert.equal((await call(simulator, "dryContact")).status, 200);
  simulator.faults.clear();
  simulator.faults.add({ name: "html-500", times: 1 });
  assert.equal((await call(simulator, "dryContact")).status, 500);
  assert.equal((await call(simulator, "dryContact")).status, 200);
  assert.deepEqual(simulator.faults.list(), []);
});

test("faults – with a probability, the same seed selects the same calls", async (t) => {
  const draw = async (test: TestContext) => {
    const { simulator } = await plant(test, OPTIONS);
    simulator.faults.add({ name: "forbidden", probability: 0.5 });
    const seen = [];
    for (let i = 0; i < 16; i++) seen.push((await call(simulator, "rpm")).status);
    return seen.join();
  };
  const first = await draw(t);
  assert.equal(await draw(t), first);
  assert.ok(first.includes("200") && first.includes("403"));
});

test("faults – responses that were altered, cut or refused are recorded apart from complete ones", async (t) => {
  const { simulator } = await plant(t, OPTIONS);
  const shown = () => [...simulator.served()];
  const off = simulator.faults.add({ name: "cut", fraction: 0.7 });
  await call(simulator, "rpm");
  off.remove();
  assert.ok(shown().length >= 11 && shown().every((s) => s.state === "partial"));
  const refuse = simulator.faults.add({ name: "non-zero-status-with-records" });
  await call(simulator, "rpm");
  refuse.remove();
  assert.ok(shown().every((s) => s.state === "partial"));
  await call(simulator, "rpm");
  const whole = shown().length;
  assert.ok(shown().every((s) => s.state === "complete"));
  simulator.faults.add({ name: "time-unset" });
  const wire = await records(simulator, "rpm", DAY);
  const altered = shown().filter((s) => s.steps.length > 0);
  assert.equal(altered.length, whole);
  assert.ok(altered.every((s) => s.expect === "reject"));
  assert.equal(altered[0]?.record["RPM"], wire[0]?.["RPM"]);
});

test("faults – a swapped sensor reports its new serial number from the swap on", async (t) => {
  const { simulator, clock } = await plant(t, { cadenceS: { rpm: 60 } });
  const { code, type } = sensorOf(simulator, "rpm");
  const before = (await records(simulator, "rpm", "2026-11-20")).length;
  simulator.faults.add({ name: "sensor-swapped", sensor: code, text: "777777777" });
  await clock.advance(600_000);
  // What was taken before the swap and still in the air counts to the old serial.
  assert.ok((await records(simulator, "rpm", "2026-11-20")).length - before <= 1);
  const body = JSON.stringify({ sensorType: type, sensorCode: "777777777", date: "2026-11-20" });
  const answer = await rawCall(simulator.port, "/SensorService.svc/getRPMData", body);
  const taken = values(answer.body.toString());
  assert.ok(taken.length >= 9 && taken.every((r) => r["sensor_code"] === "777777777"));
});

test("faults – are controlled over HTTP by another process, and errors are reported", async (t) => {
  const { simulator } = await plant(t, OPTIONS);
  const send = (body: unknown) =>
    fetch(`${simulator.url}/sim/faults`, { method: "POST", body: JSON.stringify(body) });
  assert.equal((await send({ name: "nonsense" })).status, 400);
  assert.match(await (await send({ name: "cut", spead: 1 })).text(), /no option spead/);
  assert.equal((await send({ name: "cut", times: "1" })).status, 400);
  const { ids } = (await (await send([{ name: "html-500" }, { name: "no-date" }])).json()) as {
    ids: number[];
  };
  assert.equal((await call(simulator, "rpm")).status, 500);
  await fetch(`${simulator.url}/sim/faults/${ids[0]}`, { method: "DELETE" });
  assert.equal((await call(simulator, "rpm")).status, 200);
  const { code } = sensorOf(simulator, "rpm");
  const lines = async (path: string) =>
    (await (await fetch(`${simulator.url}/sim/${path}`)).text()).trim().split("\n");
  const truth = await lines(`truth?sensor=${code}&kind=rpm&from=2026-11-18T23:00:00Z`);
  assert.ok(truth.length >= 16);
  const served = await lines(`served?sensor=${code}`);
  assert.ok(
    truth.some((line) => line.includes(`"record":${/"record":(.*)/.exec(served[0] ?? "")?.[1]}`)),
  );
  assert.equal((await fetch(`${simulator.url}/sim/truth?kind=x`)).status, 400);
});

test("faults – the command line form is parsed, and rejected if it is wrong", () => {
  assert.deepEqual(parseFaultFlag("cut"), { name: "cut" });
  assert.deepEqual(parseFaultFlag("redirect:text=http://x/y,times=2"), {
    name: "redirect",
    text: "http://x/y",
    times: 2,
  });
  const wrong = (text: string, why: RegExp) => {
    const answer = parseFaultFlag(text);
    assert.ok(typeof answer === "string" && why.test(answer), text);
  };
  wrong("cut:fraction", /key=value/);
  wrong("cut:fraction=much", /must be a number/);
  wrong("nonsense", /there is no fault named nonsense/);
});

test("simulator – a day of 120 MB leaves memory use flat", async (t) => {
  const { simulator } = await plant(t, { ...OPTIONS, waveform: { samples: 4096 } });
  simulator.faults.add({ name: "big-day", megabytes: 120 });
  const idle = process.memoryUsage().rss;
  const response = await fetch(`${simulator.url}/SensorService.svc/getAccelData`, {
    method: "POST",
    body: question(simulator, "accel", DAY),
  });
  let bytes = 0;
  let peak = 0;
  for await (const part of response.body ?? []) {
    bytes += (part as Uint8Array).length;
    peak = Math.max(peak, process.memoryUsage().rss);
  }
  assert.ok(bytes > 90e6, `${bytes}`);
  assert.ok(peak - idle < 100e6, `${Math.round((peak - idle) / 1e6)} MB above idle`);
});
