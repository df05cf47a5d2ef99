import assert from "node:assert/strict";
import { test } from "node:test";
import type { WaveformSeries } from "../../src/dashboard/series.ts";
import { waveformSpec } from "../../src/dashboard/signal-specs.ts";

const wave: WaveformSeries = {
  fileId: 9,
  sensor: "1",
  sensorName: null,
  reading: "r1",
  time: "1970-01-01T00:00:00Z",
  timeMs: 0,
  channel: 1,
  axis: "H",
  sampleRateHz: 1000,
  samples: 100,
  recordingReason: 2,
  unit: 2,
  label: "mm/s",
  step: 0.001,
  stepUnit: "s",
  firstIndex: 10,
  doubt: null,
  count: 4,
  values: Float32Array.of(0, 3, -4, 1),
  overall: { value: 2.5, detection: "rms" },
};

test("waveform plot – the overall value is the published one, not the RMS of the drawn samples", () => {
  const { summary, readout, x } = waveformSpec(wave);
  assert.match(summary, /overall 2\.5\d* mm\/s RMS, peak shown 4\.?0* mm\/s/);
  assert.equal(x[0], 10, "the first sample lies after the tapered end");
  assert.match(readout?.(1) ?? "", /^11\.?0* ms/);
});

test("waveform plot – displacement is peak-to-peak; without an overall value none is shown", () => {
  const displaced = { ...wave, label: "µm", overall: { value: 40, detection: "pp" } as const };
  assert.match(waveformSpec(displaced).summary, /overall 40\.?0* µm peak-to-peak/);
  assert.doesNotMatch(waveformSpec({ ...wave, overall: null }).summary, /overall/);
});
