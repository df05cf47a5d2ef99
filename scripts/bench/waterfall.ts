/**
 * CPU of the waterfall of a year, one spectrum a week, beside the target of 500 ms: the request of the dashboard, through the
 * API, without a network.
 *
 *   node --import tsx scripts/bench/waterfall.ts [--samples 4096]
 *
 * A measurement of three channels a day, of which the ladder would keep fewer.
 */
import { parseArgs } from "node:util";
import { createSeriesMaker } from "../../src/core/query/series.ts";
import { DAY_MS } from "../../src/core/time-units.ts";
import { createApp } from "../../src/http/server.ts";
import { DftPlans } from "../../src/pipeline/signal/fft.ts";
import { NOW, OPTIONS, testParts } from "../../test/support/http-parts.ts";
import { KEEP } from "../../test/support/keep.ts";
import { append, readingOf, tempStore, waveformOf } from "../../test/support/temp-database.ts";

const SENSOR = "10234";
const DAYS = 365;
const WEEKS = 52;
const VELOCITY = 2;
const TARGET_MS = 500;
const RUNS = 5;

const { values: flags } = parseArgs({ options: { samples: { type: "string", default: "4096" } } });

async function main(): Promise<void> {
  const ending: (() => void | Promise<void>)[] = [];
  const cleanup = { after: (end: () => void | Promise<void>) => void ending.unshift(end) };
  const samples = Number(flags.samples);
  const store = tempStore(cleanup, { uplinks: [], keep: KEEP });
  const { measurements, waveforms } = store;
  const series = createSeriesMaker(new DftPlans());
  const app = createApp(testParts({ measurements, waveforms, series }), OPTIONS);
  cleanup.after(() => app.close());
  for (let day = 0; day < DAYS; day += 1) {
    const waveform = waveformOf(samples, 3);
    await append(store, [
      readingOf(SENSOR, NOW - (DAYS - day) * DAY_MS, { kind: "accel", waveform }),
    ]);
  }
  const from = new Date(NOW - DAYS * DAY_MS).toISOString();
  const url = `/api/v1/sensors/${SENSOR}/spectra?from=${from}&unit=${VELOCITY}&count=${WEEKS}`;
  const times: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    const before = process.cpuUsage();
    const answer = await app.inject({ url, headers: { host: "localhost" } });
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1000);
    const shown = (answer.json() as { spectra: unknown[] }).spectra.length;
    if (shown !== WEEKS) throw new Error(`${shown} spectra: ${answer.body.slice(0, 200)}`);
  }
  console.log(
    `a year, ${WEEKS} spectra of ${samples} samples: CPU ${times.map((ms) => ms.toFixed(0)).join(", ")} ms; first ${((times[0] ?? 0) / TARGET_MS).toFixed(2)} of ${TARGET_MS} ms`,
  );
  for (const end of ending) await end();
}

await main();
