import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { findReject, readingId, readingTime } from "../../../src/core/record/identity.ts";
import type { RawRecord } from "../../../src/core/record.ts";
import type { PolledKind } from "../../../src/core/sensor.ts";
import { createWireNames } from "../../../src/pipeline/wire/wire-names.ts";
import { envelope, readDay } from "../../support/day-bodies.ts";

const AT = 1_743_300_000_000;

async function recordOf(kind: PolledKind, text: string, word = "sensor"): Promise<RawRecord> {
  const names = createWireNames({ word, service: "x" });
  const { records, rejects } = await readDay(kind, envelope(text), { names });
  const record = records[0];
  assert.ok(record, rejects.join());
  return record;
}
async function idOf(kind: PolledKind, text: string, { code = "12", word = "sensor" } = {}) {
  return readingId(code, kind, AT, await recordOf(kind, text, word));
}

test("identity – does not depend on how a record is written", async () => {
  const id = await idOf(
    "rpm",
    `{"RPM":1000,"battery":3.5,"sensor_code":"12","time_data":"/Date(${AT}+0200)/","x":{"a":1,"b":[2]}}`,
  );
  assert.match(id, /^[0-9a-f]{32}$/);
  for (const [text, options] of [
    [
      `{ "time_data":"\\/Date(${AT}+0200)\\/", "x":{"b":[2.0],"a":1},"sensor_code":12,"battery":"3,5","RPM":1e3}`,
      {},
    ],
    [
      `{"rpm":"1000.0","Battery":3.50,"SENSOR_CODE":"0012","time_data":"/Date(${AT}-0500)/","x":{"a":1,"b":[2]}}`,
      {},
    ],
    [
      `{"RPM":1000,"battery":3.5,"acme_code":"12","time_data":"/Date(${AT})/","x":{"a":1,"b":[2]}}`,
      { word: "acme" },
    ],
    [
      `{"RPM":1000,"battery":3.5,"version":null,"y":null,"time_data":"2025-03-30T02:00:00Z","x":{"a":1,"b":[2]}}`,
      {},
    ],
    [
      `{"RPM":1000,"battery":3.5,"sensor_code":"12","time_data":"/Date(${AT}+0200)/","\\u0078":{"a":1,"b":[2]}}`,
      { code: " 0012" },
    ],
  ] as const) {
    assert.equal(await idOf("rpm", text, options), id, text);
  }
});

test("identity – minus zero equals zero, and an escaped character equals the character", async () => {
  const id = await idOf("rpm", '{"RPM":0,"x":"\u00e9\u{1d11e}"}');
  assert.equal(await idOf("rpm", '{"RPM":-0.0,"x":"\\u00e9\\ud834\\udd1e"}'), id);
  assert.equal(await idOf("rpm", '{"RPM":"-0","x":"\u00e9\u{1d11e}"}'), id);
});

test("identity – differs with the sensor, the kind, the time and every part of the content", async () => {
  const base = `{"RPM":1,"battery":2,"x":"1"}`;
  const record = await recordOf("rpm", base);
  const ids = [
    readingId("12", "rpm", AT, record),
    readingId("13", "rpm", AT, record),
    readingId("12", "loop", AT, record),
    readingId("12", "rpm", AT + 1, record),
    await idOf("rpm", '{"RPM":2,"battery":1,"x":"1"}'),
    await idOf("rpm", '{"RPM":1,"battery":2,"x":1}'),
    await idOf("rpm", '{"RPM":1,"battery":2,"x":"1\\n"}'),
    await idOf("rpm", '{"RPM":1,"battery":2}'),
    await idOf("rpm", '{"RPM":1,"battery":NaN,"x":"1"}'),
    await idOf("rpm", '{"RPM":1,"x":"1"}'),
    await idOf("rpm", `{"RPM":1,"battery":2,"x":"1","time_data":"/Date(${AT})/"}`),
    await idOf("rpm", '{"RPM":1,"battery":2,"x":"1","extra \\"x\\"":"1"}'),
  ];
  assert.equal(new Set(ids).size, ids.length);
});

test("identity – samples count individually, in their channel, in any spelling", async () => {
  const id = await idOf("accel", '{"channel1":[1,2,3],"channel2":[-4],"channel3":null}');
  assert.equal(await idOf("accel", '{"channel1":[1.0, "2",3e0],"channel2":[ -4 ]}'), id);
  const others = [
    '{"channel1":[1,2],"channel2":[3,-4],"channel3":null}',
    '{"channel2":[1,2,3],"channel1":[-4],"channel3":null}',
    '{"channel1":[1,2,4],"channel2":[-4]}',
    '{"channel1":[1,2,3],"channel2":[-4],"channel3":[]}',
    '{"channel1":[1,2,3],"channel2":[-4.5]}',
    '{"channel1":[1,2,3],"channel2":[-4.25]}',
  ];
  const ids = await Promise.all(others.map((text) => idOf("accel", text)));
  assert.equal(new Set([id, ...ids]).size, others.length + 1);
});

test("identity – member order never matters", async () => {
  const members = fc.uniqueArray(
    fc.tuple(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 2 })),
    {
      selector: ([name]) => name.toLowerCase(),
      maxLength: 6,
    },
  );
  await fc.assert(
    fc.asyncProperty(members, fc.nat({ max: 6 }), async (list, turn) => {
      const text = (order: typeof list) =>
        `{${order.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(",")}}`;
      const turned = [...list.slice(turn), ...list.slice(0, turn)];
      assert.equal(await idOf("rpm", text(turned)), await idOf("rpm", text(list)));
    }),
    { numRuns: 60 },
  );
});

test("identity – the format is fixed: these ids must never change", async () => {
  assert.equal(
    await idOf(
      "rpm",
      `{"RPM":1487.5,"battery":3.58,"sensor_code":"12","time_data":"/Date(${AT}+0200)/","version":12,"x":[1]}`,
    ),
    "b70dcba04d9aee845f954c9efd2ede87",
  );
  assert.equal(
    await idOf("accel", '{"channel1":[1,-2],"channel2":[40000],"calibration":0.001}'),
    "50dafcde112a86b913d8550b8398bece",
  );
});

const time = (ms: number) => `"/Date(${ms})/"`;
const DAY = 86_400_000;
for (const [kind, text, expected] of [
  [
    "accel",
    `{"time_data":${time(AT)},"realnodetime":${time(AT - DAY)}}`,
    ["realnodetime", AT - DAY],
  ],
  ["accel", `{"time_data":${time(AT)},"realnodetime":${time(AT - DAY - 1)}}`, ["time_data", AT]],
  ["accel", `{"time_data":${time(AT)},"realnodetime":${time(AT + DAY + 1)}}`, ["time_data", AT]],
  [
    "accel",
    `{"time_data":${time(AT)},"realnodetime":${time(AT - 5)},"hasrealtime":true}`,
    ["realnodetime", AT - 5],
  ],
  [
    "accel",
    `{"time_data":${time(AT)},"realnodetime":${time(AT - 5)},"hasrealtime":false}`,
    ["time_data", AT],
  ],
  [
    "accel",
    `{"time_data":${time(AT)},"realnodetime":${time(-62_135_596_800_000)}}`,
    ["time_data", AT],
  ],
  ["accel", "{}", null],
  ["accCurrent", `{"startPeriod":${time(AT)},"endPeriod":${time(AT + 5)}}`, ["endPeriod", AT + 5]],
  ["accCurrent", `{"startPeriod":${time(AT)},"endPeriod":null}`, ["startPeriod", AT]],
  ["accCurrent", `{"time_data":${time(AT)}}`, null],
  ["rpm", `{"time_data":${time(AT)}}`, ["time_data", AT]],
  ["rpm", '{"time_data":"soon"}', null],
] as const) {
  test(`reading time – of ${kind} ${text} is ${expected?.[0] ?? "not given"}`, async () => {
    const found = readingTime(await recordOf(kind, text));
    assert.deepEqual(found && [found.source, found.time.ms], expected);
  });
}

test("rejects – a record of another sensor, or without a time, is rejected", async () => {
  const foreign = await recordOf("rpm", `{"sensor_code":"13","time_data":${time(AT)}}`);
  assert.equal(findReject(foreign, "12")?.reason, "foreign_record");
  assert.equal(findReject(foreign, "0013"), null);
  assert.equal(findReject(await recordOf("rpm", '{"RPM":1}'), "12")?.reason, "no_time");
  const odd = await recordOf("rpm", `{"sensor_code":{},"time_data":${time(AT)}}`);
  assert.equal(findReject(odd, "12")?.reason, "foreign_record");
});
