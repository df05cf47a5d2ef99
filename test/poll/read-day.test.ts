import assert from "node:assert/strict";
import { test } from "node:test";
import { DayReader } from "../../src/core/decode/day-reader.ts";
import { DftPlans } from "../../src/core/signal/fft.ts";
import { createWireNames } from "../../src/core/wire/wire-names.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { createMetrics } from "../../src/lib/metrics.ts";
import { loadByteHashing } from "../../src/lib/xxhash.ts";
import { createReadDay } from "../../src/poll/read-day.ts";
import { START_MS, tempStore } from "../support/temp-database.ts";

const PIECE_BYTES = 65_536;

function dayOf(records: number, version = 12): Buffer {
  const texts = Array.from(
    { length: records },
    (_, n) =>
      `{"RPM":1480,"battery":3.58,"module_temperature":24.5,"sensor_code":"1","time_data":"\\/Date(${START_MS + n * 1000}+0000)\\/","version":${version}}`,
  );
  return Buffer.from(
    `[{"Configs":[],"Key":{"Description":"OK","StatusNumber":0},"Value":[${texts.join(",")}]}]`,
  );
}

test("read day – a large day is marked while it is parsed, and not while its known part is only recognised", async (t) => {
  const hashing = await loadByteHashing();
  const names = createWireNames({ word: "sensor", service: "SensorService.svc" });
  let body = dayOf(10_000);
  let marks = 0;
  const readDay = createReadDay({
    source: {
      read: () =>
        Promise.resolve({
          gatewayTimeMs: START_MS + 12 * 3_600_000,
          body: (async function* () {
            for (let at = 0; at < body.length; at += PIECE_BYTES) {
              await Promise.resolve();
              yield body.subarray(at, at + PIECE_BYTES);
            }
          })(),
        }),
    },
    log: tempStore(t).readings,
    clock: systemClock,
    logger: silentLogger,
    metrics: createMetrics(),
    plans: new DftPlans(),
    emptyStatuses: new Set(),
    marks: {
      begin: () => {
        marks += 1;
        return () => {};
      },
      waitMs: () => 0,
    },
    createReader: (kind, checkpoint, isKnownBytes) =>
      new DayReader({ kind, names, hashing, checkpoint, isKnownBytes }),
  });
  const read = async () => {
    const result = await readDay(
      {
        sensor: { code: "1", type: 40, kinds: ["rpm"], channels: {} },
        kind: "rpm",
        day: "2026-11-20",
        takeCut: false,
        gatewayNow: (dateMs) => dateMs ?? 0,
      },
      new AbortController().signal,
    );
    assert.ok(result.ok);
    return result.stored;
  };
  assert.ok(body.length > 1.2e6);
  assert.equal(await read(), 10_000);
  assert.equal(marks, 1);
  assert.equal(await read(), 0);
  body = dayOf(10_001);
  assert.equal(await read(), 1);
  assert.equal(marks, 1);
  body = dayOf(10_001, 13);
  assert.equal(await read(), 10_001);
  assert.equal(marks, 2, "a day that was rewritten is parsed from its start");
});
