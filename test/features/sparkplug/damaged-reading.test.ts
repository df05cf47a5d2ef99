import assert from "node:assert/strict";
import { test } from "node:test";
import { parseReading } from "../../../src/features/sparkplug/parsed-reading.ts";
import { storedReading } from "../../support/memory-outbox.ts";
import { skipWithoutMosquitto as skip } from "../../support/mosquitto.ts";
import { MOTOR, PUMP, TestSite } from "./site.ts";

test("sparkplug – a stored text damaged on disk has no metrics and stops nothing", () => {
  const whole = storedReading(1);
  const damaged = parseReading({ ...whole, values: '{"rpm":14', quality: "" });
  const { values, quality, timeMs, isWhole } = damaged;
  assert.equal(isWhole, false);
  assert.equal(parseReading(whole).isWhole, true);
  assert.deepEqual(values, {});
  assert.deepEqual(quality, {});
  assert.equal(timeMs, whole.timeMs);
});

test("sparkplug – damaged readings and measurements are counted and reported once, and the rest continues", {
  skip,
}, async (t) => {
  const site = await TestSite.open(t);
  const waveforms = [{ fileId: 1, channel: 1, axis: "H" as const }];
  const accel = { sensor: MOTOR.code, kind: "accel" as const, waveforms };
  site.append(
    site.reading({}, { values: '{"channel1":1' }),
    site.reading({ channel1_accel_rms: 1 }, { ...accel, attributes: '{"recording_rea' }),
    site.reading({ channel1: 5 }),
  );
  const node = site.node();
  site.run(node);
  await site.settled(3, "sent");
  await site.settled(1, "skipped");
  assert.deepEqual(node.failures, { damaged: 2 });
  const lines = site.logs.filter(({ message }) => message.includes("damaged"));
  assert.equal(lines.length, 2);
  assert.equal(site.of("DDATA", PUMP.code).length > 0, true);
});
