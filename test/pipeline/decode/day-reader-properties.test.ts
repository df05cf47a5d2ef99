import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonValue } from "../../../src/core/record.ts";
import { envelope, plain, readDay } from "../../support/day-bodies.ts";

/*
 * The reference is JSON.parse of the whole body and a few lines of mapping, sharing nothing with the decoder.
 */

const time = fc.integer({ min: 946_684_800_000, max: 2_000_000_000_000 });
const text = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.constantFrom('"]}', "\\", "[{", "é\u2028𝄞", "/"),
);
const space = fc.constantFrom("", "", " ", "\r\n  ", "\t");

interface Truth {
  readonly record: Record<string, JsonValue>;
  readonly text: string;
}

/** A record and one of the many ways to write it. */
const accelRecord: fc.Arbitrary<Truth> = fc
  .record({
    at: time,
    channels: fc.array(fc.array(fc.integer({ min: -32_768, max: 32_767 }), { maxLength: 40 }), {
      minLength: 3,
      maxLength: 3,
    }),
    third: fc.boolean(),
    device: text,
    calibration: fc.double({ min: 1e-6, max: 1, noNaN: true }),
    extra: fc.jsonValue({ maxDepth: 3 }),
    gap: space,
    order: fc.integer({ min: 0, max: 5 }),
  })
  .map(({ at, channels, third, device, calibration, extra, gap, order }) => {
    const record: Record<string, JsonValue> = {
      calibration,
      channel1: channels[0] ?? [],
      channel2: channels[1] ?? [],
      channel3: third ? (channels[2] ?? []) : null,
      device,
      sensor_code: "10234",
      time_data: `/Date(${at}+0200)/`,
      "odd [name]": extra as JsonValue,
    };
    const members = Object.entries(record);
    const turned = [...members.slice(order), ...members.slice(0, order)];
    const body = turned
      .map(([name, value]) => `${JSON.stringify(name)}${gap}:${gap}${spaced(value, gap)}`)
      .join(`${gap},${gap}`);
    return { record, text: `{${gap}${body}${gap}}`.replaceAll("/Date", "\\/Date") };
  });

const spaced = (value: JsonValue, gap: string): string =>
  Array.isArray(value)
    ? `[${value.map((item: JsonValue) => JSON.stringify(item)).join(`,${gap}`)}]`
    : JSON.stringify(value);

function expected({ record }: Truth): unknown {
  const channel = (name: string) =>
    record[name] === null ? { state: "absent" } : { state: "ok", samples: record[name] };
  const at = /\d+/.exec(JSON.stringify(record.time_data))?.[0];
  return JSON.parse(
    JSON.stringify({
      kind: "accel",
      sensorCode: "10234",
      fields: { calibration: record.calibration, device: record.device },
      times: { time_data: { ms: Number(at), offsetMinutes: 120 } },
      timeTexts: { time_data: record.time_data },
      channels: [channel("channel1"), channel("channel2"), channel("channel3")],
      extra: { "odd [name]": record["odd [name]"] },
      faults: [],
    }),
  );
}

const sorted = (value: unknown): string =>
  JSON.stringify(value, (_key, member: unknown) =>
    member !== null && typeof member === "object" && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
const texts = (records: unknown[]) => records.map(sorted);

const day = fc.array(accelRecord, { maxLength: 6 });
const cuts = fc.array(fc.nat({ max: 4_000 }), { maxLength: 12 });

test("day reader – any chunking gives the records that JSON.parse of the body gives", async () => {
  await fc.assert(
    fc.asyncProperty(day, cuts, space, async (records, ends, gap) => {
      const body = envelope(records.map((record) => record.text).join(`${gap},${gap}`));
      assert.doesNotThrow(() => JSON.parse(body));
      const read = await readDay("accel", body, { cuts: ends });
      assert.equal(read.result.outcome, "complete");
      assert.deepEqual(texts(read.records.map(plain)), texts(records.map(expected)));
      const hashes = (items: typeof read.items) => items.map((item) => item.bytesHash);
      const whole = await readDay("accel", body);
      assert.deepEqual(hashes(read.items), hashes(whole.items));
      assert.deepEqual(read.result, whole.result);
    }),
    { numRuns: 200 },
  );
});

test("day reader – byte by byte gives the same result", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(accelRecord, { maxLength: 2 }), async (records) => {
      const body = envelope(records.map((record) => record.text).join(","));
      const all = Array.from({ length: Buffer.byteLength(body) }, (_, index) => index);
      const read = await readDay("accel", body, { cuts: all });
      assert.deepEqual(texts(read.records.map(plain)), texts(records.map(expected)));
      assert.deepEqual(read.result, (await readDay("accel", body)).result);
    }),
    { numRuns: 40 },
  );
});

test("day reader – a day that grew gives only its new records, wherever the last read ended", async () => {
  await fc.assert(
    fc.asyncProperty(day, fc.nat({ max: 6 }), cuts, async (records, known, ends) => {
      const written = records.map((record) => record.text);
      const before = await readDay("accel", envelope(written.slice(0, known).join(",")));
      assert.ok(before.result.outcome === "complete");
      const { checkpoint } = before.result;
      const body = envelope(written.join(","));
      const now = await readDay("accel", body, { checkpoint, cuts: ends });
      assert.ok(now.result.outcome === "complete");
      assert.deepEqual(
        texts(now.records.map(plain)),
        texts(records.slice(Math.min(known, records.length)).map(expected)),
      );
      assert.equal(now.result.records, records.length);
      assert.equal(now.result.unchanged, now.items.length === 0);
      assert.equal(now.result.unchanged, now.result.checkpoint === checkpoint);
      const whole = await readDay("accel", body);
      assert.ok(whole.result.outcome === "complete");
      assert.equal(now.result.checkpoint, whole.result.checkpoint);
    }),
    { numRuns: 200 },
  );
});

test("day reader – a change of any byte in the known part is detected", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(accelRecord, { minLength: 1, maxLength: 4 }),
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      async (records, place, flip) => {
        const body = Buffer.from(envelope(records.map((record) => record.text).join(",")));
        const before = await readDay("accel", body);
        assert.ok(before.result.outcome === "complete");
        const { checkpoint } = before.result;
        const known = body.length - "]}]".length;
        const changed = Buffer.from(body);
        changed[place % known] = (changed[place % known] ?? 0) ^ flip;
        const now = await readDay("accel", changed, { checkpoint });
        assert.equal(now.result.outcome, "prefix_changed");
        assert.equal(now.items.length, 0);
      },
    ),
    { numRuns: 200 },
  );
});

test("day reader – a body cut anywhere is truncated and gives only complete records", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(accelRecord, { minLength: 1, maxLength: 4 }),
      fc.nat(),
      async (records, place) => {
        const body = Buffer.from(envelope(records.map((record) => record.text).join(",")));
        const cut = await readDay("accel", body.subarray(0, place % body.length));
        assert.equal(cut.result.outcome, "truncated");
        const truth = texts(records.map(expected));
        assert.deepEqual(texts(cut.records.map(plain)), truth.slice(0, cut.records.length));
      },
    ),
    { numRuns: 200 },
  );
});

test("day reader – damaged bytes never crash it, and never produce a record that was not sent", async () => {
  const damage = fc.array(
    fc.tuple(
      fc.nat(),
      fc.constantFrom(0x22, 0x5b, 0x5d, 0x7b, 0x7d, 0x2c, 0x3a, 0x5c, 0x20, 0x00, 0xff, 0x6e),
    ),
    {
      minLength: 1,
      maxLength: 3,
    },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(accelRecord, { minLength: 1, maxLength: 4 }),
      damage,
      cuts,
      async (records, places, ends) => {
        const body = Buffer.from(envelope(records.map((record) => record.text).join(",")));
        for (const [place, byte] of places) body[place % body.length] = byte;
        const read = await readDay("accel", body, { cuts: ends });
        const oneGo = await readDay("accel", body);
        assert.deepEqual(texts(read.records.map(plain)), texts(oneGo.records.map(plain)));
        assert.deepEqual(read.rejects, oneGo.rejects);
        assert.equal(read.result.outcome, oneGo.result.outcome);
        // Damage inside a value makes another value; it must not touch more records than there are damaged bytes.
        const truth = new Set(texts(records.map(expected)));
        // A quote too many turns texts into structure: bare objects may come out of it, which have no time and end as rejects.
        const dated = read.records.map(plain).filter(hasTime);
        const invented = texts(dated).filter((record) => !truth.has(record));
        assert.ok(invented.length <= places.length, `${invented.length} invented`);
        for (const record of dated) {
          const owner = records.some((one) => sharesMost(record, expected(one)));
          assert.ok(owner, "a record of nobody");
        }
        let parsed: unknown;
        try {
          parsed = JSON.parse(body.toString());
        } catch {
          return;
        }
        assert.ok(Array.isArray(parsed) || read.result.outcome !== "complete");
      },
    ),
    { numRuns: 400 },
  );
});

const hasTime = (given: unknown): boolean =>
  Object.keys((given as { times: object }).times).length > 0;

/** True when two records agree in all but a few of their members: no member of another record slipped in. */
function sharesMost(given: unknown, sent: unknown): boolean {
  const members = (value: unknown) => {
    const record = value as { fields: object; times: object; channels: unknown[]; extra: object };
    return new Map<string, unknown>([
      ...Object.entries(record.fields),
      ...Object.entries(record.times),
      ...Object.entries(record.extra),
      ...record.channels.map((channel, index) => [`channel${index}`, channel] as [string, unknown]),
    ]);
  };
  const [a, b] = [members(given), members(sent)];
  const same = [...a].filter(([name, value]) => sorted(value) === sorted(b.get(name))).length;
  return same >= a.size - 5;
}
