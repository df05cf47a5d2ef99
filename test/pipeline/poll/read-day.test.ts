import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { CallFailure } from "../../../src/core/failure.ts";
import type { WantedRecords } from "../../../src/core/ports.ts";
import type { PolledKind } from "../../../src/core/sensor.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { createMetrics } from "../../../src/lib/metrics.ts";
import { loadByteHashing } from "../../../src/lib/xxhash.ts";
import { DayReader } from "../../../src/pipeline/decode/day-reader.ts";
import type { DayRead } from "../../../src/pipeline/poll/day-read.ts";
import { createReadDay, type ReadDayParts } from "../../../src/pipeline/poll/read-day.ts";
import { DftPlans } from "../../../src/pipeline/signal/fft.ts";
import { createWireNames } from "../../../src/pipeline/wire/wire-names.ts";
import { countTurns } from "../../support/count-turns.ts";
import { START_MS, tempStore } from "../../support/temp-database.ts";

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

/** A read over its own store; `body` is what the gateway returns next. */
async function createReader(t: TestContext, more: Partial<ReadDayParts> = {}) {
  const hashing = await loadByteHashing();
  const names = createWireNames({ word: "sensor", service: "SensorService.svc" });
  const gateway: {
    body: Buffer;
    failure: CallFailure | null;
    recognised: number;
    cancelled: number;
  } = { body: Buffer.alloc(0), failure: null, recognised: 0, cancelled: 0 };
  const readDay = createReadDay({
    source: {
      read: () =>
        Promise.resolve({
          gatewayTimeMs: START_MS + 12 * 3_600_000,
          body: (async function* () {
            for (let at = 0; at < gateway.body.length; at += PIECE_BYTES) {
              await Promise.resolve();
              yield gateway.body.subarray(at, at + PIECE_BYTES);
            }
            if (gateway.failure !== null) throw gateway.failure;
          })(),
          cancel: () => {
            gateway.cancelled += 1;
          },
        }),
    },
    log: tempStore(t).readings,
    clock: systemClock,
    logger: silentLogger,
    metrics: createMetrics(),
    plans: new DftPlans(),
    emptyStatuses: new Set(),
    createReader: (kind, checkpoint, isKnownBytes) =>
      new DayReader({
        kind,
        names,
        hashing,
        checkpoint,
        isKnownBytes:
          isKnownBytes &&
          ((hash) => {
            const isKnown = isKnownBytes(hash);
            if (isKnown) gateway.recognised += 1;
            return isKnown;
          }),
      }),
    ...more,
  });
  /** @param failure how the connection ends once the body has come */
  const attempt = (
    body: Buffer,
    wanted?: WantedRecords,
    failure: CallFailure | null = null,
    kind: PolledKind = "rpm",
  ): Promise<DayRead> => {
    Object.assign(gateway, { body, failure, recognised: 0 });
    return readDay(
      {
        sensor: { code: "1", type: 40, kinds: [kind], channels: {} },
        kind,
        day: "2026-11-20",
        acceptPartial: false,
        gatewayNow: (dateMs) => dateMs ?? 0,
        ...(wanted === undefined ? {} : { wanted }),
      },
      new AbortController().signal,
    );
  };
  const read = async (body: Buffer, wanted?: WantedRecords) => {
    const result = await attempt(body, wanted);
    assert.ok(result.ok);
    return { ...result, recognised: gateway.recognised };
  };
  return { gateway, read, attempt };
}

test("read day – a large day is marked while it is parsed, and not while its known part is only recognised", async (t) => {
  let body = dayOf(10_000);
  let marks = 0;
  const reader = await createReader(t, {
    marks: {
      begin: () => {
        marks += 1;
        return () => {};
      },
      waitMs: () => 0,
    },
  });
  const read = async () => (await reader.read(body)).stored;
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

test("read day – how many records could not be used since the last good one, once each, whether the day is read on or completely", async (t) => {
  const { read } = await createReader(t);
  const record = (n: number, code: string) =>
    `{"RPM":1480,"sensor_code":"${code}","time_data":"\\/Date(${START_MS + n * 1000}+0000)\\/"}`;
  const day = (...codes: string[]) =>
    Buffer.from(
      `[{"Configs":[],"Key":{"Description":"OK","StatusNumber":0},"Value":[${codes.map((code, n) => record(n, code)).join(",")}]}]`,
    );
  const rejected = async (...codes: string[]) => {
    const { rejected: one } = await read(day(...codes));
    return one === undefined ? null : [one.count, one.isAfterUsable];
  };
  assert.deepEqual(await rejected("7", "7"), [2, false]);
  assert.equal(await rejected("7", "7"), null, "nothing new");
  assert.deepEqual(await rejected("7", "7", "7"), [1, false]);
  assert.deepEqual(await rejected("7", "7", "7", "1", "7"), [1, true]);
  // What was read before has changed, again and again: from now on the day is read completely.
  for (const code of ["8", "9", "8", "9", "8"]) await rejected(code, "7", "1");
  assert.deepEqual(await rejected("9", "7", "1"), [0, true]);
  for (const code of ["8", "9"]) assert.deepEqual(await rejected(code, "7"), [2, true]);
});

test("read day – of a day whose known part has changed, only what is new is stored", async (t) => {
  const { read } = await createReader(t);
  const records = (seconds: readonly number[]) =>
    seconds
      .map((n) => `{"RPM":1480,"time_data":"\\/Date(${START_MS + n * 1000}+0000)\\/"}`)
      .join(",");
  const day = (...seconds: number[]) =>
    Buffer.from(
      `[{"Configs":[],"Key":{"Description":"OK","StatusNumber":0},"Value":[${records(seconds)}]}]`,
    );
  assert.equal((await read(day(5, 6))).stored, 2);
  const again = await read(day(4, 5, 6));
  assert.deepEqual([again.stored, again.known], [1, 2]);
});

test("read day – records that a later response lacks are counted", async (t) => {
  const metrics = createMetrics();
  const { read } = await createReader(t, { metrics });
  const vanished = async () => (await metrics.vanished.get()).values.map(({ value }) => value);
  await read(dayOf(5));
  assert.deepEqual(await vanished(), [0]);
  assert.deepEqual((await read(dayOf(3))).known, 3);
  assert.deepEqual(await vanished(), [2]);
});

test("read day – of a day that begins anew at each read, records are recognised by their bytes from the third time on", async (t) => {
  const { read } = await createReader(t);
  const seen: number[][] = [];
  for (let n = 1; n <= 6; n++) {
    // The newest first, as some gateways write.
    const records = Array.from(
      { length: n },
      (_, i) => `{"RPM":1480,"time_data":"\\/Date(${START_MS + (n - i) * 1000}+0000)\\/"}`,
    );
    const { stored, recognised } = await read(
      Buffer.from(
        `[{"Configs":[],"Key":{"Description":"OK","StatusNumber":0},"Value":[${records.join(",")}]}]`,
      ),
    );
    seen.push([stored, recognised]);
  }
  assert.deepEqual(seen, [
    [1, 0],
    [1, 0],
    [1, 0],
    [1, 0],
    [1, 4],
    [1, 5],
  ]);
});

test("read day – of an unchanged day, stored records that are needed once more are handed out, and not stored again", async (t) => {
  const { read } = await createReader(t);
  const day = dayOf(3);
  await read(day);
  const taken: number[] = [];
  const ids: string[] = [];
  const wanted = (isWanted: (id: string) => boolean): WantedRecords => ({
    has: (id) => {
      ids.push(id);
      return isWanted(id);
    },
    take: async ({ timeMs }) => void taken.push(timeMs - START_MS),
  });
  const again = await read(
    day,
    wanted(() => false),
  );
  assert.deepEqual([again.stored, again.known, ids.length], [0, 3, 3]);
  const second = ids[1];
  await read(
    day,
    wanted((id) => id === second),
  );
  assert.deepEqual(taken, [1000]);
  assert.equal((await read(dayOf(4))).stored, 1);
});

test("read day – what is stored is told once it is durable: its newest reading, and from when to when it was measured", async (t) => {
  const told: unknown[] = [];
  const { read } = await createReader(t, {
    onStored: ({ timeMs }) => told.push(timeMs - START_MS),
    onStoredBetween: ({ day }, fromMs, toMs) =>
      told.push([day, fromMs - START_MS, toMs - START_MS]),
  });
  await read(dayOf(3));
  assert.deepEqual(told.splice(0), [2000, ["2026-11-20", 0, 2000]]);
  await read(dayOf(3));
  assert.deepEqual(told, []);
  // Complete, and without records of its own.
  await read(dayOf(0));
  assert.deepEqual(told, []);
  await read(dayOf(5));
  assert.deepEqual(told, [4000, ["2026-11-20", 3000, 4000]]);
});

test("read day – an error that the service states counts, however the connection ended then", async (t) => {
  const { attempt } = await createReader(t);
  const cut = new CallFailure({ failureClass: "truncated", message: "cut" });
  const status = Buffer.from(
    '[{"Configs":[],"Key":{"Description":"no such sensor","StatusNumber":7},"Value":[]}]',
  );
  const failureOf = async (body: Buffer) => {
    const { ok, ...rest } = await attempt(body, undefined, cut);
    return ok ? null : "message" in rest && rest.message;
  };
  assert.equal(await failureOf(status), "the gateway returned status 7: no such sensor");
  assert.equal(await failureOf(dayOf(2).subarray(0, -9)), "cut");
});

test("read day – a response whose store fails before its first byte is given back", async (t) => {
  const log = tempStore(t).readings;
  let isBroken = false;
  const begin: typeof log.begin = (...of) => {
    if (isBroken) throw new Error("disk I/O error");
    return log.begin(...of);
  };
  const { attempt, gateway } = await createReader(t, {
    log: {
      begin,
      progress: (key) => log.progress(key),
      newestTimeMs: (...of) => log.newestTimeMs(...of),
    },
  });
  assert.equal((await attempt(dayOf(2))).ok, true);
  isBroken = true;
  const before = gateway.cancelled;
  assert.equal((await attempt(dayOf(3))).ok, false);
  assert.equal(gateway.cancelled, before + 1);
});

test("read day – a day whose responses were truncated again and again is not read completely from then on", async (t) => {
  const { attempt, read } = await createReader(t);
  const cut = new CallFailure({ failureClass: "truncated", message: "cut" });
  await read(dayOf(10));
  for (let n = 0; n < 4; n++) {
    assert.equal((await attempt(dayOf(10).subarray(0, 900), undefined, cut)).ok, false);
    // Without an error of the connection, too.
    assert.equal((await attempt(dayOf(10).subarray(0, 900))).ok, false);
  }
  const { stored, known, recognised } = await read(dayOf(11));
  assert.deepEqual([stored, known, recognised], [1, 10, 0]);
});

test("read day – where each record takes long, other work gets its turn between two of them", async (t) => {
  let ms = 0;
  const { read } = await createReader(t, {
    // Every look at it is a slice later.
    clock: { ...systemClock, monotonic: () => (ms += 10) },
  });
  const day = dayOf(5);
  await read(day);
  const turn = countTurns(t);
  const turns: number[] = [];
  const has = () => {
    turns.push(turn());
    return false;
  };
  await read(day, { has, take: async () => {} });
  assert.equal(new Set(turns).size, 5, turns.join());
});

test("read day – where each channel takes long, other work gets its turn before and between the channels of a record", async (t) => {
  let ms = 0;
  const turn = countTurns(t);
  /** In which turn a channel is transformed, by its length; and in which the record is looked up, which is before that. */
  const seen = new Map<number | "looked up", number>();
  class SeenPlans extends DftPlans {
    override complex(size: number) {
      seen.set(size, turn());
      return super.complex(size);
    }
  }
  const { attempt } = await createReader(t, {
    clock: { ...systemClock, monotonic: () => (ms += 10) },
    plans: new SeenPlans(),
  });
  const channels = [256, 512, 1024].map((length, i) => {
    const samples = Array.from({ length }, (_, n) => (n * 37) % 101);
    return `"channel${i + 1}":${JSON.stringify(samples)}`;
  });
  const record = `{${channels.join()},"sample_rate":6400,"calibration":0.001,"sensor_code":"1","time_data":"\\/Date(${START_MS}+0000)\\/"}`;
  const day = Buffer.from(
    `[{"Configs":[],"Key":{"Description":"OK","StatusNumber":0},"Value":[${record}]}]`,
  );
  const has = () => {
    seen.set("looked up", turn());
    return true;
  };
  // Makes the tables of these lengths.
  await attempt(day, undefined, null, "accel");
  seen.clear();
  await attempt(day, { has, take: async () => {} }, null, "accel");
  assert.equal(seen.size, 4);
  assert.equal(new Set(seen.values()).size, 4, [...seen].join(" "));
});
