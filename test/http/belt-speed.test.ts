/** The speed of a shaft behind a belt, as spectra and the sensor page have it: by its line, not by the ratio alone. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Measurement } from "../../src/core/query/measurements.ts";
import { createSeriesMaker } from "../../src/core/query/series.ts";
import type { Sensor } from "../../src/core/sensor.ts";
import type { Shaft } from "../../src/core/shaft.ts";
import type { StoredWaveform } from "../../src/core/stored-reading.ts";
import { createApp } from "../../src/http/server.ts";
import { DftPlans } from "../../src/pipeline/signal/fft.ts";
import { NOW, OPTIONS, testParts } from "../support/http-parts.ts";

const CODE = "10234";
const READING = "0".repeat(32);
const RPM = 1480;
const FAN = { name: "fan", speedRatio: 0.531, points: [3] };
/** The belt slips by 1 %: 777.9 r/min rather than 785.9. */
const SLIPPED_RPM = 0.99 * 0.531 * RPM;
/** Long enough that the line stands out of those within 5 % of it. */
const SHAPE = { sampleRateHz: 1600, samples: 16_384 };

/** Three axes, of which the second shows the fan's unbalance; lines of the motor are in all. */
function axisOf(channel: number, fanCounts: number): StoredWaveform {
  const angle = (i: number, rpm: number) => (2 * Math.PI * rpm * i) / 60 / SHAPE.sampleRateHz;
  const samples = Int16Array.from({ length: SHAPE.samples }, (_, i) =>
    Math.round(
      fanCounts * Math.sin(angle(i, SLIPPED_RPM)) +
        900 * Math.sin(angle(i, RPM)) +
        20 * Math.sin(i * i * channel),
    ),
  );
  return {
    fileId: channel,
    sensor: CODE,
    timeMs: NOW,
    readingId: READING,
    sampleRateHz: SHAPE.sampleRateHz,
    calibration: 0.0005,
    recordingReason: 3,
    channel,
    axis: (["H", "V", "A"] as const)[channel - 1] ?? "A",
    samples,
  };
}

/** What the three operations say of the shaft at the sensor. */
async function told(shaft: Shaft | undefined, fanCounts = 2000, speedRpm: number | null = RPM) {
  const sensor: Sensor = {
    code: CODE,
    type: 3,
    kinds: ["accel"],
    channels: {},
    ...(shaft && { shaft }),
  };
  const stored = [axisOf(1, 0), axisOf(2, fanCounts), axisOf(3, 0)];
  const measurement: Measurement = {
    timeMs: NOW,
    reading: READING,
    channels: stored.map(({ fileId, channel, axis }) => ({ fileId, channel, axis })),
    running: true,
    speedRpm,
    kept: [],
  };
  const parts = testParts();
  const app = createApp(
    {
      ...parts,
      site: { ...parts.site, current: { site: "plant-7", sensors: [sensor] } },
      series: createSeriesMaker(new DftPlans()),
      measurements: {
        ...parts.measurements,
        find: () => measurement,
        list: () => [measurement],
        extent: () => ({ oldestMs: NOW, newestMs: NOW, count: 1 }),
      },
      waveforms: {
        ...parts.waveforms,
        read: (fileId) => stored.find((one) => one.fileId === fileId) ?? null,
      },
    },
    OPTIONS,
  );
  const ask = async (url: string) =>
    (await app.inject({ url, headers: { host: "localhost" } })).json();
  try {
    const one = await ask("/api/v1/spectrum/1");
    const [row] = (await ask(`/api/v1/sensors/${CODE}/spectra`)).spectra;
    const [listed] = (await ask(`/api/v1/sensors/${CODE}/measurements`)).measurements;
    return { one: one.shaft, row: row.shaft, listed: listed.shaft };
  } finally {
    await app.close();
  }
}

test("belt – a spectrum of any axis tells the speed at which the fan's line stands; the list, that of its ratio", async () => {
  const { one, row, listed } = await told({ ...FAN, belt: true });
  assert.equal(one.name, "fan");
  assert.ok(Math.abs(one.speedRpm - SLIPPED_RPM) < 0.5, String(one.speedRpm));
  assert.deepEqual(row, one);
  assert.deepEqual(listed, { name: "fan", speedRpm: 785.88 });
});

test("belt – without a line that stands out, without a belt: the measured speed times the ratio", async () => {
  const rated = { name: "fan", speedRpm: 785.88 };
  const quiet = await told({ ...FAN, belt: true }, 0);
  assert.deepEqual([quiet.one, quiet.row], [rated, rated]);
  const geared = await told(FAN);
  assert.deepEqual([geared.one, geared.row], [rated, rated]);
  assert.equal((await told(undefined)).one, undefined);
  assert.equal((await told({ ...FAN, belt: true }, 2000, null)).one, undefined);
});
