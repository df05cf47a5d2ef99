import assert from "node:assert/strict";
import { test } from "node:test";
import {
  activeSentence,
  heardAgainSentence,
  silentSentence,
  valueLabel,
} from "../../../src/features/alarms/rules/sentence.ts";
import { LOOP, siteWith } from "./support.ts";

test("sentences – names of the site file stay as they are written, our own words begin with a capital", () => {
  const site = siteWith([]);
  const { channel1 } = LOOP.channels;
  const acid = { ...LOOP, name: "eMotor", channels: { channel1: { ...channel1, name: "pH" } } };
  assert.equal(valueLabel(acid, "channel1"), "pH");
  assert.equal(heardAgainSentence(acid, site), "Cleared: eMotor is sending again.");
  assert.match(silentSentence(acid, site, 600, null), /^Warning: eMotor has sent nothing/);

  assert.equal(valueLabel(acid, "channel1_ma"), "pH, loop current");
  const phases = { ...LOOP, channels: { current1: { clamp: 100 as const, name: "L1" } } };
  assert.equal(valueLabel(phases, "accumulated_current1"), "L1, accumulated");
  assert.equal(valueLabel(phases, "accumulated_current2"), "Current 2, accumulated");

  const pump = {
    ...LOOP,
    kinds: ["accel" as const],
    channels: { channel2: { axis: "A" as const } },
  };
  assert.equal(valueLabel(pump, "channel1_vel_rms"), "Vibration velocity (RMS) of axis H");
  assert.equal(valueLabel(pump, "channel2_band_hf"), "Band hf of axis A");
  assert.equal(valueLabel(pump, "channel2_bpfo"), "Band bpfo of axis A");

  const { name: _name, ...nameless } = LOOP;
  const plain = { ...nameless, channels: {} };
  assert.equal(valueLabel(plain, "channel1"), "Channel 1");
  assert.equal(heardAgainSentence(plain, site), "Cleared: Sensor 30007 is sending again.");
});

test("sentences – a vibration that is back at its normal level, not yet for long enough, is not said to be beyond it", () => {
  const site = siteWith([]);
  const value = "channel1_vel_rms";
  const active = { rank: 1, side: "high", limit: 1.3, hysteresis: 0.3 } as const;
  const text = (measured: number) =>
    activeSentence(
      { sensor: { ...LOOP, kinds: ["accel"] }, site, value, unit: "mm/s", measured, worst: 2 },
      active,
      "baseline",
    ).replace(/.* is /, "");
  assert.equal(text(1.1), "1.1 mm/s, not yet 0.3 mm/s below the learned limit of 1.3 mm/s.");
  assert.equal(
    text(0.9),
    "0.9 mm/s, below the learned limit of 1.3 mm/s again, not yet in 20 readings in a row.",
  );
});

test("sentences – a value and the limit that it has passed never read alike", () => {
  const of = (measured: number, limit: number) =>
    activeSentence(
      { sensor: LOOP, site: siteWith([]), value: "rpm", unit: "rpm", measured, worst: measured },
      { rank: 1, side: "high", limit, hysteresis: 0 },
      "limits",
    );
  assert.match(of(7.1004, 7.1), / is 7\.1004 rpm, above the limit of 7\.1 rpm/);
  assert.match(of(9.5, 8), / is 9\.5 rpm, above the limit of 8 rpm/);
  // As in its members: digits before the point are not rounded away.
  assert.match(of(14_996, 14_990), / is 14996 rpm, above the limit of 14990 rpm/);
});
