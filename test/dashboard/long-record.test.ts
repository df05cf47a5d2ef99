/** A record that has more samples than a call takes arguments, in the built dashboard. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createSeriesMaker } from "../../src/core/query/series.ts";
import { DftPlans } from "../../src/pipeline/signal/fft.ts";
import { skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { openHouse, placeOf } from "../support/page-house.ts";
import { append, readingOf, tempStore, waveformOf } from "../support/temp-database.ts";

const SENSOR = "1001";
/** Half of them are lines of the spectrum: 131,073 arguments end the calls of Chromium. */
const SAMPLES = 2 * 131_073;

test("dashboard – the waterfall, waveform and spectrum of a record with a quarter of a million samples are drawn", {
  skip: skipWithoutBrowser,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const now = Date.now();
  const store = tempStore(t, { clock: new ManualClock(now), uplinks: [] });
  for (const n of [2, 1]) {
    const more = { kind: "accel", waveform: waveformOf(SAMPLES, 1) } as const;
    await append(store, [readingOf(SENSOR, now - n * 60_000, more)]);
  }
  const house = await openHouse(t, {
    sensors: [
      {
        code: SENSOR,
        type: 3,
        kinds: ["accel"],
        channels: { channel1: { axis: "H" } },
        location: placeOf(40),
      },
    ],
    parts: {
      measurements: store.measurements,
      waveforms: store.waveforms,
      series: createSeriesMaker(new DftPlans()),
    },
  });
  house.reading({
    sensor: SENSOR,
    kind: "accel",
    timeMs: now - 60_000,
    values: { channel1_vel_rms: 1.5 },
    units: { channel1_vel_rms: "mm/s" },
    waveforms: [{ fileId: 2, channel: 1, axis: "H" }],
  });
  const { page, complaints } = house;
  for (const [tab, name] of [
    ["waveform", /^Waveform/],
    ["spectrum", /^Spectrum of axis/],
    ["waterfall", /^Waterfall of 2 spectra/],
  ] as const) {
    await page.goto("about:blank");
    await page.goto(`${house.url}/#/sensor/${SENSOR}?tab=${tab}`);
    await page.getByRole("img", { name }).waitFor();
  }
  await page.getByText(/: highest .* All 2 measurements of the range\./).waitFor();
  await page.getByLabel("Drawn as").selectOption("spectrogram");
  await page.getByRole("table", { name: "Its highest lines" }).waitFor();
  // These parts have neither alarms nor machines' data.
  assert.deepEqual(
    complaints.filter((text) => !/50[01] \(/.test(text)),
    [],
  );
});
