import assert from "node:assert/strict";
import { test } from "node:test";
import { createSeriesMaker } from "../../../src/core/query/series.ts";
import { fixedSite } from "../../../src/core/site-source.ts";
import { createApp } from "../../../src/http/server.ts";
import { DftPlans } from "../../../src/pipeline/signal/fft.ts";
import { historyPages } from "../../../src/pipeline/store/readings/history-pages.ts";
import { OPTIONS, SITE } from "../../support/http-parts.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import {
  append,
  DAY_MS,
  readingOf,
  START_MS,
  tempStore,
  waveformOf,
} from "../../support/temp-database.ts";
import { queryParts } from "./query-parts.ts";

const HOURS = 30;

test("query service over the real store – history, files and devices of stored readings, across days and time zones", async (t) => {
  const store = tempStore(t, { clock: new ManualClock(START_MS + 2 * DAY_MS) });
  for (let hour = 0; hour < HOURS; hour++) {
    const values = { channel1_accel_rms: hour, channel1_vel_rms: 1, channel1_env_rms: null };
    const more = {
      kind: "accel" as const,
      values,
      units: { channel1_accel_rms: "G" },
      attributes: { recording_reason: 2, sample_rate: 6400 },
      raw: { calibration: 0.0005 },
      waveform: hour === 7 ? waveformOf(512) : null,
    };
    await append(store, [readingOf("10234", START_MS + hour * 3_600_000, more)]);
  }
  const parts = {
    ...queryParts({ series: createSeriesMaker(new DftPlans()), waveforms: store.waveforms }),
    site: fixedSite(SITE),
  };
  const clock = new ManualClock(START_MS + 2 * DAY_MS);
  const history = historyPages(store.history);
  const app = createApp(
    { ...parts, history, clock, gatewayNow: () => clock.now() },
    { ...OPTIONS, timezone: "America/New_York" },
  );
  t.after(() => app.close());
  const ask = async (operation: string, fields: object) => {
    const url = `/ApiWeb.svc/${operation}`;
    const payload = { Token: "x", ...fields };
    const answer = await app.inject({
      method: "POST",
      url,
      headers: { host: "localhost" },
      payload,
    });
    const [{ Key, Value }] = answer.json();
    assert.equal(Key.StatusNumber, 0, answer.body);
    return Value;
  };
  const place = { machinecode: 40, pointindex: 1, axis: 1 };
  // New York is five hours behind: its 20th begins at 05:00 UTC.
  const [{ data }] = await ask("GetAllHistoryMeasures", {
    ...place,
    StartDate: "2026-11-20",
    EndDate: "2026-11-20",
  });
  assert.equal(data.length, 24 * 3);
  assert.deepEqual([data[0][3], data[0][6]], ["2026-11-20 00:00:00", 5]);
  assert.deepEqual([data.at(-3)[3], data.at(-3)[6]], ["2026-11-20 23:00:00", 28]);
  const all = await ask("GetHistoryMeasures", place);
  assert.equal(all.length, HOURS);
  const { FileId, Date: date, Calibration } = all[7];
  assert.deepEqual([date, Calibration], ["2026-11-20 02:00:00", 0.0005]);
  assert.ok(FileId > 0);
  const wave = await ask("GetFFT_Base64", {
    ...place,
    axis: true,
    fileid: FileId,
    OutputType: 2,
    SignalTypeOut: 0,
  });
  assert.equal(Buffer.from(wave.base64, "base64").length, 512 * 4);
  const current = await ask("GetCurrentMeasures", {});
  assert.equal(current[0].pointList[0].axis[0].signalAPI.AccelRMS, HOURS - 1);
});
