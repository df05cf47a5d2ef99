/** Contract sections 3 to 6: what a subscriber receives from unusual but legal responses of a gateway with another word. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { envelope, wireTime } from "../support/fake-gateway.ts";
import { payloadOf, startFakeSite } from "../support/fake-site.ts";
import { MORNING_ZONE, morningDay } from "../support/morning.ts";
import { type SeenMessage, skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild } from "../support/plant.ts";

const skip = skipWithoutBuild || skipWithoutMosquitto;
const missing = { quality: "bad", reason: "missing" };

/** Boundaries of NE 43 as mA → value of 0–10 bar, and its quality (signal-definitions 9). */
const LOOP: readonly (readonly [number, number | null, string | null])[] = [
  [1.999, null, "bad wire_break"],
  [2, null, "bad under_range"],
  [3.6, null, "bad under_range"],
  [3.601, -0.249375, "uncertain under_range"],
  [3.8, -0.125, null],
  [4, 0, null],
  [20, 10, null],
  [20.5, 10.3125, null],
  [20.501, 10.313125, "uncertain over_range"],
  [21, null, "bad over_range"],
];

test("readings – a vendor's word, commas, quotes, gaps and damage are handled as the contract says", {
  skip,
}, async (t) => {
  const now = Date.now() - 1_000;
  const today = morningDay();
  const at = (s: number, offset = "-0600") => wireTime(now - s * 1000, offset);
  const wave = Array.from({ length: 320 }, (_, n) => Math.round(1000 * Math.sin(n / 3)));
  const days: Record<string, readonly unknown[]> = {
    getAccelData: [
      {
        acme_code: "0010234",
        calibration: "0,001",
        channel1: wave,
        channel2: wave.slice(0, 300),
        channel3: null,
        sample_rate: "6400.0",
        recording_reason: 2,
        device: "x",
        temperature: "21,5",
        hasrealtime: true,
        realnodetime: at(100),
        time_data: at(90),
        unknown_member: { a: [1] },
      },
      {
        calibration: 0,
        channel1: wave,
        channel2: null,
        sample_rate: 6400,
        recording_reason: 9,
        hasrealtime: false,
        realnodetime: at(300),
        time_data: at(200),
      },
    ],
    getCurrentV2Data: [
      {
        acme_code: 20871,
        min_current1: "11,0",
        avg_current1: "12.5",
        max_current1: 14.2,
        min_current2: null,
        avg_current2: -1,
        max_current2: 101,
        min_current3: 5,
        avg_current3: 3,
        max_current3: 7,
        min_current4: 1,
        battery: "3,61",
        battery_type: 2,
        version: "12",
        time_data: at(50, "+0530"),
      },
    ],
    getAccCurrentData: [{ accumulated_current1: 5.5, startPeriod: at(3_600), endPeriod: at(5) }],
    get4_20GPData: LOOP.map(([ma], n) => ({
      channel1_voltage: ma / 10,
      channel2_voltage: ma / 10,
      time_data: at(20 + n, "-0330"),
    })),
    getDryContactData: [
      { acme_code: "40", input1: "True", input2: 0, input3: null, time_data: at(10) },
      { acme_code: "99", input1: true, time_data: at(9) },
    ],
    getRPMData: [
      { RPM: 1487.5, time_data: wireTime(now + 48 * 3_600_000) },
      { rpm: "1500", time_data: at(7) },
      { RPM: 1, time_data: "2026-01-01T00:00:00" },
      5,
    ],
  };
  const site = await startFakeSite(t, {
    answer: ({ operation, body }) => ({
      // A type that lies and a mark at the front are read over.
      headers: { "content-type": "text/html" },
      body: `\uFEFF ${envelope(body["date"] === today ? (days[operation] ?? []) : [])}`,
    }),
    site: "pl/ant+7",
    sensors: [
      { code: "10234", type: 3, kinds: ["accel"], machineClass: "group2-rigid" },
      {
        code: "20871",
        type: 9,
        kinds: ["currentV2", "accCurrent"],
        channels: { current1: { clamp: 50 }, current2: { clamp: 100 }, current3: { clamp: 250 } },
      },
      {
        code: "30007",
        type: 12,
        kinds: ["loop"],
        channels: {
          channel1: { unit: "bar", low: 0, high: 10 },
          channel2: { unit: "%", low: 100, high: 0 },
        },
      },
      { code: "40", type: 1, kinds: ["dryContact"] },
      { code: "41", type: 1, kinds: ["rpm"] },
    ],
    env: {
      GATEWAY_TIMEZONE: MORNING_ZONE,
      WIRE_WORD: "acme",
      GATEWAY_SERVICE: "x/AcmeService.svc",
      GATEWAY_HEADERS: "X-Key: s3cret",
      MQTT_TOPIC_PREFIX: "a/b",
      PUBLISH_RAW: "true",
      PUBLISH_WAVEFORMS: "always",
    },
  });
  const agent = site.startAgent();
  const topic = (rest: string) => `a/b/pl_ant_7/${rest}`;
  const on = (rest: string) => site.messages.onTopic(topic(rest)).map(payloadOf);
  await site.messages.waitUntil(
    () => on("30007/loop/history").length === LOOP.length - 1 && on("41/rpm/history").length > 0,
    15_000,
  );
  await site.messages.waitUntil(
    () =>
      on("10234/accel/history").length > 0 &&
      on("20871/accCurrent").length > 0 &&
      on("40/dryContact").length > 0 &&
      on("20871/currentV2").length > 0 &&
      on("10234/waveform/channel2").length > 0,
    10_000,
  );

  await t.test("requests carry the word, the path and the headers", () => {
    const call = site.gateway.calls.find(({ operation }) => operation === "getRPMData");
    assert.equal(call?.path, "/x/AcmeService.svc/getRPMData");
    assert.deepEqual(call?.body, { acmeType: 1, acmeCode: "41", date: today });
    assert.equal(call?.headers["x-key"], "s3cret");
    assert.ok(!JSON.stringify(agent.log).includes("s3cret"));
    assert.ok(!site.messages.messages.some(({ text }) => text.includes("s3cret")));
  });

  await t.test("accel: H and V of a biaxial node, its own time, damage as quality", () => {
    const [live] = on("10234/accel");
    const values = Object(live?.["values"]);
    assert.equal(live?.["time"], new Date(now - 100_000).toISOString());
    assert.equal(values.temperature, 21.5);
    assert.equal(values.channel1_accel_pp, 2);
    assert.ok(!("channel3_accel_rms" in values));
    // 1 G at 340 Hz is 3.25 mm/s.
    assert.equal(values.channel1_zone, "C");
    const attributes = Object(live?.["attributes"]);
    assert.equal(attributes.samples, 320);
    assert.equal(attributes.recording_reason, 2);
    assert.equal(attributes.device, "x");
    assert.equal(attributes.utc_offset, "-0600");
    assert.equal(attributes.time_data, new Date(now - 90_000).toISOString());
    assert.deepEqual(attributes.flags, ["channel_length_mismatch"]);
    const [damaged] = on("10234/accel/history");
    assert.equal(damaged?.["time"], new Date(now - 200_000).toISOString());
    assert.equal(Object(damaged?.["values"]).channel1_accel_rms, null);
    assert.deepEqual(Object(damaged?.["quality"]).channel1_accel_rms, {
      quality: "bad",
      reason: "no_calibration",
    });
  });

  await t.test("waveform: mean-free G as little-endian floats", () => {
    const [waveform] = on("10234/waveform/channel2");
    const bytes = Buffer.from(String(waveform?.["base64"]), "base64");
    assert.equal(bytes.length, 300 * 4);
    const mean = wave.slice(0, 300).reduce((sum, count) => sum + count, 0) / 300;
    assert.ok(Math.abs(bytes.readFloatLE(4) - ((wave[1] ?? 0) - mean) * 0.001) < 1e-6);
    const { axis, unit, sampleRate, samples, recordingReason } = Object(waveform);
    assert.deepEqual(
      [axis, unit, sampleRate, samples, recordingReason],
      ["V", "G", 6400, 300, "scheduled"],
    );
  });

  await t.test(
    "currentV2: each part is independent, wrong order is uncertain, unlisted channels are left out",
    () => {
      const [live] = on("20871/currentV2");
      assert.deepEqual(live?.["values"], {
        current1_min: 5.5,
        current1_max: 7.1,
        current1_avg: 6.25,
        current2_min: null,
        current2_max: 101,
        current2_avg: null,
        current3_min: 12.5,
        current3_max: 17.5,
        current3_avg: 7.5,
        battery: 3.61,
      });
      const doubt = { quality: "uncertain", reason: "inconsistent" };
      assert.deepEqual(live?.["quality"], {
        current2_min: missing,
        current2_max: { quality: "uncertain", reason: "over_range" },
        current2_avg: { quality: "bad", reason: "under_range" },
        current3_min: doubt,
        current3_max: doubt,
        current3_avg: doubt,
      });
      assert.deepEqual(live?.["attributes"], { version: 12, battery_type: 2, utc_offset: "+0530" });
      assert.equal(Object(live?.["raw"]).min_current4, 1);
    },
  );

  await t.test(
    "accCurrent: the end time counts, the start is an attribute, no clamp factor",
    () => {
      const [live] = on("20871/accCurrent");
      assert.equal(live?.["time"], new Date(now - 5_000).toISOString());
      assert.equal(Object(live?.["values"]).accumulated_current1, 5.5);
      assert.equal(
        Object(live?.["attributes"]).startPeriod,
        new Date(now - 3_600_000).toISOString(),
      );
    },
  );

  await t.test("loop: the limits of NE 43, also on an inverted range", () => {
    const all = [...on("30007/loop"), ...on("30007/loop/history")];
    for (const [n, [ma, value, quality]] of LOOP.entries()) {
      const time = new Date(now - (20 + n) * 1000).toISOString();
      const reading = all.find((candidate) => candidate["time"] === time);
      const values = Object(reading?.["values"]);
      assert.equal(values.channel1_ma, ma);
      const [upright, inverted] = [values.channel1, values.channel2];
      if (value === null) assert.deepEqual([upright, inverted], [null, null]);
      else {
        assert.ok(Math.abs(upright - value) < 1e-9, `${ma} mA`);
        assert.ok(Math.abs(inverted - (100 - 10 * value)) < 1e-9, `${ma} mA inverted`);
      }
      const entry = Object(reading?.["quality"]).channel1;
      assert.equal(entry ? `${entry.quality} ${entry.reason}` : null, quality, `${ma} mA`);
    }
  });

  await t.test(
    "dryContact: a value that did not arrive is missing; a record of another sensor is dropped",
    () => {
      assert.equal(on("40/dryContact").length + on("40/dryContact/history").length, 1);
      const [live] = on("40/dryContact");
      assert.deepEqual(live?.["values"], {
        input1: true,
        input2: false,
        input3: null,
        input4: null,
      });
      assert.deepEqual(live?.["quality"], { input3: missing, input4: missing });
    },
  );

  await t.test(
    "rpm: a time in the future is flagged and never live; a time without a zone is dropped",
    () => {
      assert.deepEqual(
        on("41/rpm").map((reading) => reading["values"]),
        [{ rpm: 1500 }],
      );
      const [future, ...others] = on("41/rpm/history");
      assert.deepEqual(others, []);
      assert.deepEqual(Object(future?.["attributes"]).flags, ["time_in_future"]);
    },
  );

  await t.test("every reading carries its flags", () => {
    const isReading = ({ topic: name }: SeenMessage) =>
      /\/(accel|loop|rpm|dryContact|currentV2|accCurrent)(\/history)?$/.test(name);
    for (const message of site.messages.messages.filter(isReading)) {
      const reading = payloadOf(message);
      const isHistory = message.topic.endsWith("/history");
      assert.equal(message.qos, 1);
      assert.equal(message.retain, !isHistory);
      assert.equal(reading["historical"], isHistory);
      assert.equal(reading["v"], 1);
      assert.equal(reading["site"], "pl/ant+7");
      assert.equal(message.contentType, "application/json");
      assert.deepEqual(message.userProperties, { id: reading["id"], kind: reading["kind"] });
      assert.match(String(reading["time"]), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    }
  });

  assert.equal(await agent.stop(), 0);
  const state = site.messages.onTopic(topic("agent/state"));
  assert.deepEqual(
    state.map((message) => [payloadOf(message)["state"], message.retain]),
    [
      ["online", true],
      ["offline", true],
    ],
  );
});
