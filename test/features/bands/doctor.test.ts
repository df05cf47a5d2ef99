import assert from "node:assert/strict";
import { test } from "node:test";
import { sensorBands } from "../../../src/core/bands/definition.ts";
import type { Sensor } from "../../../src/core/sensor.ts";
import type { Site } from "../../../src/core/site.ts";
import { bandsShown } from "../../../src/features/bands/doctor.ts";

type BandReading = Parameters<typeof bandsShown>[1][number];

const location = { company: 1, area: 1, machine: 40, point: 1 };
const MACHINE = {
  id: 40,
  speed: { sensor: "50021" },
  bands: {
    orders: [1],
    custom: [{ name: "hf", from: 2000, to: 2600, unit: "Hz", of: "accel" }],
  },
} as const;
const PUMP: Sensor = { code: "1", type: 3, kinds: ["accel"], channels: {}, location };
const BANDS = sensorBands(PUMP, [MACHINE]);
assert.ok(BANDS !== null);
const SITE: Site = {
  site: "plant-7",
  sensors: [
    { ...PUMP, bands: BANDS },
    { code: "50021", type: 6, kinds: ["rpm"], channels: {} },
  ],
  machines: [MACHINE],
};
const samples = Int16Array.from({ length: 4096 }, (_, n) => Math.round(1000 * Math.sin(n)));
const record = (sampleRateHz: number): BandReading => ({
  sensor: "1",
  kind: "accel",
  values: {},
  waveform: {
    sampleRateHz,
    calibration: 0.001,
    recordingReason: null,
    channels: [{ channel: 1, axis: "H", samples }],
  },
});
const rpm = (value: number): BandReading => ({
  sensor: "50021",
  kind: "rpm",
  values: { rpm: value },
  waveform: null,
});

function said(readings: readonly BandReading[]): string[] {
  return bandsShown(SITE, readings).map(({ what, state, detail }) => `${what} ${state}: ${detail}`);
}

test("doctor – names the bands that the newest record cannot show, and why", () => {
  assert.deepEqual(said([record(6400), rpm(1480)]), [
    "1 bands warning: the newest record cannot show at 1480 rpm: channel1_band_hf sample_rate_low",
  ]);
  assert.deepEqual(said([record(12_800), rpm(1480)]), [
    "1 bands ok: the newest record shows all of them at 1480 rpm",
  ]);
  assert.deepEqual(said([record(6400)]), [
    "1 bands skipped: not checked: the speed of its machine is unknown",
  ]);
  assert.deepEqual(said([record(6400), rpm(0)]), [
    "1 bands skipped: not checked: its machine stands",
  ]);
  assert.deepEqual(said([rpm(1480)]), []);
});
