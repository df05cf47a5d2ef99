import assert from "node:assert/strict";
import { test } from "node:test";
import type { Doubt } from "../../src/core/quality.ts";
import type { ShownReading, ShownSensor } from "../../src/core/query/shown.ts";
import type { Kind } from "../../src/core/sensor.ts";
import { doubtLines } from "../../src/dashboard/doubt-lines.ts";
import { trendGroups } from "../../src/dashboard/trend-groups.ts";

const bad = (reason: Doubt["reason"]): Doubt => ({ quality: "bad", reason });

function linesOf(
  kind: Kind,
  values: ShownReading["values"],
  quality: ShownReading["quality"],
  channels: ShownSensor["channels"] = {},
): string[] {
  const sensor: Pick<ShownSensor, "channels"> = { channels };
  const reading: Pick<ShownReading, "kind" | "values" | "units" | "quality"> = {
    kind,
    values,
    units: {},
    quality,
  };
  return doubtLines(sensor as ShownSensor, reading as ShownReading);
}

const axisValues = (n: number) => ({
  [`channel${n}_accel_rms`]: null,
  [`channel${n}_vel_rms`]: null,
  [`channel${n}_zone`]: null,
});

test("doubt lines – a dead sensor is one sentence, not one per value", () => {
  const values = { ...axisValues(1), ...axisValues(2), temperature: 20 };
  const names = Object.keys(values).filter((name) => name !== "temperature");
  const quality = Object.fromEntries(names.map((name) => [name, bad("flatline")]));
  const [line, ...rest] = linesOf("accel", values, quality);
  assert.match(line ?? "", /^H, V – No value: the signal does not change/);
  assert.deepEqual(rest, []);
});

test("doubt lines – if only some values of a channel are affected, they are named, and similar channels are grouped", () => {
  const values = { ...axisValues(1), ...axisValues(2), ...axisValues(3) };
  const quality = {
    channel1_vel_rms: bad("too_short"),
    channel2_vel_rms: bad("too_short"),
    channel3_accel_rms: bad("too_short"),
    channel3_vel_rms: bad("too_short"),
  };
  assert.deepEqual(linesOf("accel", values, quality), [
    "H, V: velocity RMS; A: acceleration RMS, velocity RMS – No value: too few samples for this quantity.",
  ]);
});

test("doubt lines – a loop value is named by its channel, without mentioning a clamp", () => {
  const values = { channel1: null, channel1_ma: 21.2, battery: null };
  const quality = { channel1: bad("over_range"), battery: bad("missing") };
  const lines = linesOf("loop", values, quality, { channel1: { name: "Level" } });
  assert.match(lines[0] ?? "", /^Level – No value: the loop current is above its range/);
  assert.match(lines[1] ?? "", /^battery – No value: the record does not contain it/);
  const [clamp] = linesOf("current", { current1: 120 }, { current1: bad("over_range") });
  assert.match(clamp ?? "", /^Ch 1 – No value: above the rating of the clamp/);
});

test("trend groups – a zone is never plotted as a line, even while it is unknown", () => {
  const latest = { accel: { values: axisValues(1), units: {} } };
  const sensor = { kinds: ["accel"], channels: {}, latest };
  const groups = trendGroups(sensor as unknown as ShownSensor);
  assert.deepEqual(
    groups.map(({ quantity }) => quantity),
    ["vel_rms", "accel_rms"],
  );
});
