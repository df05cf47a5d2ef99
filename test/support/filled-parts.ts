import { createSeriesMaker } from "../../src/core/query/series.ts";
import type { HttpParts } from "../../src/http/parts.ts";
import { DftPlans } from "../../src/pipeline/signal/fft.ts";
import { NOW, testParts } from "./http-parts.ts";

/** With readings and samples of two sensors. */
export function filledParts(change: Partial<HttpParts> = {}) {
  const parts = testParts({ series: createSeriesMaker(new DftPlans()), ...change });
  for (let n = 0; n < 30; n++) {
    const values = { channel1_accel_rms: n, channel1_vel_rms: null, channel1_zone: "B" };
    const waveforms = [{ fileId: n + 1, channel: 1, axis: "H" as const }];
    parts.history.add({
      sensor: "10234",
      kind: "accel",
      timeMs: NOW - n * 60_000,
      values,
      waveforms,
    });
    parts.addWaveform({
      fileId: n + 1,
      sensor: "10234",
      timeMs: NOW,
      readingId: "",
      channel: 1,
      axis: "H" as const,
      sampleRateHz: n * 100,
      calibration: 0.001,
      recordingReason: null,
      samples: Int16Array.from({ length: n * 20 }, (_, i) => Math.round(1000 * Math.sin(i))),
    });
    parts.history.add({
      sensor: "20871",
      kind: "currentV2",
      timeMs: NOW - n,
      values: { current1_avg: n },
      units: { current1_avg: "A" },
    });
  }
  return parts;
}
