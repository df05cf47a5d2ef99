import assert from "node:assert/strict";
import { test } from "node:test";
import {
  alarmTextAsRead,
  conversionOf,
  converted,
  frequencyScale,
  METRIC,
  type ReadUnits,
  textAsRead,
  US,
} from "../../src/core/read-units.ts";

const read = (kind: string, value: string, unit: string, number: number, units: ReadUnits) => {
  const conversion = conversionOf({ kind, value }, unit, units);
  return [Number(converted(number, conversion).toPrecision(6)), conversion?.unit ?? unit];
};

test("units as read – velocity, displacement, acceleration and temperature in US units and back at metric", () => {
  assert.deepEqual(read("accel", "channel1_vel_rms", "mm/s", 25.4, US), [1, "in/s RMS"]);
  assert.deepEqual(read("bands", "channel1_1x", "mm/s", 2.54, US), [0.1, "in/s RMS"]);
  assert.deepEqual(read("accel", "channel1_disp_pp", "um", 254, US), [10, "mils p-p"]);
  assert.deepEqual(read("accel", "temperature", "degC", 100, US), [212, "degF"]);
  assert.deepEqual(read("loop", "module_temperature", "degC", -40, US), [-40, "degF"]);
  const si: ReadUnits = { ...METRIC, acceleration: "m/s2" };
  assert.deepEqual(read("accel", "channel1_accel_rms", "G", 2, si), [19.6, "m/s2"]);
  assert.deepEqual(read("accel", "channel1_vel_rms", "mm/s", 25.4, METRIC), [25.4, "mm/s"]);
});

test("units as read – G and GE are written g and gE; rpm and what a site configured itself stay, whatever they are called", () => {
  assert.deepEqual(read("accel", "channel1_env_rms", "GE", 3, US), [3, "gE"]);
  assert.deepEqual(read("accel", "channel1_accel_pp", "G", 3, US), [3, "g"]);
  assert.deepEqual(read("loop", "channel1", "G", 3, US), [3, "G"]);
  assert.deepEqual(read("rpm", "rpm", "rpm", 1480, US), [1480, "rpm"]);
  assert.deepEqual(read("loop", "channel1", "mm/s", 5, US), [5, "mm/s"]);
  assert.deepEqual(read("loop", "channel1", "degC", 60, US), [60, "degC"]);
  assert.deepEqual(read("node", "vel_rms1", "mm/s", 5, US), [5, "mm/s"]);
});

test("units as read – numbers with such units in a sentence of the agent, and no others", () => {
  const text =
    "Alarm: Vibration velocity (RMS) of axis H is 7.62 mm/s, above the limit of 4.5 mm/s (zone D); 3 GE, 2 Gaskets, 60 degC.";
  assert.equal(
    textAsRead(text, US),
    "Alarm: Vibration velocity (RMS) of axis H is 0.3 in/s RMS, above the limit of 0.177 in/s RMS (zone D); 3 gE, 2 Gaskets, 60 degC.",
  );
  assert.equal(textAsRead(text, METRIC), text.replace("3 GE", "3 gE"));
  assert.equal(textAsRead("BPFO (87.3 Hz, H) in 3 lines", US), "BPFO (5238 cpm, H) in 3 lines");
});

test("units as read – frequencies in Hz, cpm or orders, which need a speed", () => {
  const words = (wanted: ReadUnits["frequency"], speedHz: number | null) =>
    frequencyScale(wanted, speedHz).words(88.3);
  assert.deepEqual(
    [words("Hz", 25), words("cpm", 25), words("orders", 25), words("orders", null)],
    ["88.30 Hz", "5298 cpm", "3.532x", "88.30 Hz"],
  );
});

test("units as read – the text of an alarm of a loop stays in its unit, that of vibration and findings does not", () => {
  const read = (alarm: string, value: string) =>
    alarmTextAsRead("It is 25.4 mm/s.", { alarm, value }, US);
  assert.equal(read("high", "channel1"), "It is 25.4 mm/s.");
  assert.equal(read("zone", "channel1_vel_rms"), "It is 1 in/s RMS.");
  assert.equal(read("finding", "unbalance"), "It is 1 in/s RMS.");
});

test("units as read – the text of an alarm of a transmitter's temperature is in the unit chosen, a difference in it without the offset", () => {
  const text =
    "Module temperature at sensor 1 is 60 degC, not yet 5 degC below the limit of 61.5 degC.";
  const read = (value: string, wanted: ReadUnits) =>
    alarmTextAsRead(text, { alarm: "hot", value }, wanted);
  assert.equal(
    read("module_temperature", US),
    "Module temperature at sensor 1 is 140 degF, not yet 9 degF below the limit of 143 degF.",
  );
  assert.equal(read("module_temperature", METRIC), text);
  assert.equal(read("channel1", US), text, "a loop stays in the site's unit");
});

test("units as read – a name with a number stays as it is, and the detection is said once", () => {
  const si: ReadUnits = { ...METRIC, acceleration: "m/s2" };
  const finding =
    "Unbalance on Mill 3 G, sensor 12, stage 1 of 3: 1x (24.7 Hz, H) together 3.10 mm/s RMS, peak 2 G, in 5 readings in a row.";
  assert.equal(textAsRead(finding, si), finding.replace("2 G", "19.6 m/s2"));
  assert.equal(
    textAsRead(finding, US),
    finding
      .replace("24.7 Hz", "1482 cpm")
      .replace("3.10 mm/s RMS", "0.122 in/s RMS")
      .replace("2 G", "2 g"),
  );
  const alarm =
    "Alarm: Acceleration (RMS) of axis H at Mill 3 G, 2.5 Hz screen is 2 G, above the limit of 1 G.";
  assert.equal(
    textAsRead(alarm, si),
    "Alarm: Acceleration (RMS) of axis H at Mill 3 G, 2.5 Hz screen is 19.6 m/s2, above the limit of 9.8 m/s2.",
  );
  const hot =
    "Cleared: Module temperature at Kiln 900 degC is back at 60 degC; the worst was 70 degC.";
  assert.equal(
    alarmTextAsRead(hot, { alarm: "hot", value: "module_temperature" }, US),
    "Cleared: Module temperature at Kiln 900 degC is back at 140 degF; the worst was 158 degF.",
  );
});
