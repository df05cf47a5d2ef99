import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fromBinary } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { file_sparkplug } from "../../../src/features/sparkplug/generated/sparkplug_pb.ts";
import {
  type Datatype,
  decodeCommand,
  encodePayload,
  type Metric,
} from "../../../src/features/sparkplug/payload.ts";
import { decode, encode, property, valueFields, valueOf } from "./peer.ts";

const PROTO = "src/features/sparkplug/sparkplug.proto";
const skipWithoutProtoc = ["/usr/bin/protoc", "/usr/local/bin/protoc"].some(existsSync)
  ? false
  : "protoc is not installed";
const protoc = (args: string[], input: Buffer | string): Buffer =>
  execFileSync("protoc", ["-I", "src/features/sparkplug", ...args, PROTO], { input });

const one = (metric: Partial<Metric>): Uint8Array =>
  encodePayload({
    timeMs: 2,
    seq: 0,
    metrics: [{ name: "m", type: "Double", timeMs: 1, value: 1, ...metric }],
  });
const sent = (metric: Partial<Metric>) => decode(one(metric)).metrics[0] ?? {};

test("sparkplug – bytes that are no payload decode to null, whatever they are", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const metrics = decodeCommand(bytes);
      assert.ok(metrics === null || Array.isArray(metrics));
    }),
    { numRuns: 2000 },
  );
  assert.equal(decodeCommand(Uint8Array.of(0x12, 0x7f, 1)), null);
});

test("sparkplug – a truncated or altered command never throws", () => {
  const whole = encode({ metrics: [{ name: "Node Control/Rebirth", booleanValue: true }] });
  for (let end = 0; end < whole.length; end++) decodeCommand(whole.subarray(0, end));
  for (let at = 0; at < whole.length * 8; at++) {
    const flipped = Buffer.from(whole);
    flipped.writeUInt8((flipped[at >> 3] ?? 0) ^ (1 << (at & 7)), at >> 3);
    decodeCommand(flipped);
  }
});

test("sparkplug – of a command's integers only Int8, Int16 and Int32 have a sign", () => {
  const valueOfType = (datatype?: number) => {
    const fields = datatype === undefined ? {} : { datatype };
    const bytes = encode({ metrics: [{ name: "m", intValue: 0xffff_fff8, ...fields }] });
    return decodeCommand(bytes)?.[0]?.value;
  };
  assert.deepEqual([1, 2, 3].map(valueOfType), [-8, -8, -8]);
  // UInt8, UInt16, UInt32, and none.
  assert.deepEqual([5, 6, 7, undefined].map(valueOfType), Array(4).fill(0xffff_fff8));
});

test("sparkplug – a value that a type cannot hold is null: is_null and no value field", () => {
  const impossible: [Datatype, Metric["value"]][] = [
    ["Double", null],
    ["Double", Number.NaN],
    ["Double", Number.POSITIVE_INFINITY],
    ["Double", "1"],
    ["Int32", 2 ** 31],
    ["Int32", 1.5],
    ["Int64", 2 ** 60],
    ["Int64", 2n ** 63n],
    ["Boolean", 0],
    ["String", null],
    ["Bytes", "text"],
  ];
  for (const [type, value] of impossible) {
    const metric = sent({ type, value });
    assert.equal(metric.isNull, true, `${type} ${String(value)}`);
    assert.deepEqual(valueFields(metric), [], `${type} ${String(value)}`);
  }
});

test("sparkplug – each type uses its own value field and number", () => {
  const cases: [Datatype, Metric["value"], string, number, unknown][] = [
    ["Double", -0.1, "doubleValue", 10, -0.1],
    ["Int32", -5, "intValue", 3, 2 ** 32 - 5],
    ["Int64", 7, "longValue", 4, 7],
    ["Boolean", false, "booleanValue", 11, false],
    ["String", "", "stringValue", 12, ""],
    ["Bytes", Uint8Array.of(0, 255), "bytesValue", 17, Uint8Array.of(0, 255)],
  ];
  for (const [type, value, field, datatype, wire] of cases) {
    const metric = sent({ type, value });
    assert.deepEqual(valueFields(metric), [field]);
    assert.equal(metric.datatype, datatype);
    assert.equal(metric.isNull, undefined);
    assert.deepEqual(valueOf(metric), wire);
  }
});

test("sparkplug – metrics are in time order over the whole list, equal times in the order given", () => {
  const metrics = [5, 3, 5, 1].map(
    (timeMs, i): Metric => ({ name: `m${i}`, type: "Int64", timeMs, value: i }),
  );
  const seen = decode(encodePayload({ timeMs: 9, seq: 0, metrics }));
  assert.deepEqual(
    seen.metrics.map((m) => m.name),
    ["m3", "m1", "m0", "m2"],
  );
});

test("sparkplug – properties carry their type, a value or null, and as many values as keys", () => {
  const seen = sent({
    properties: [
      { key: "Quality", type: "Int32", value: 500 },
      { key: "Reason", type: "String", value: null },
      { key: "engUnit", type: "String", value: "bar" },
      { key: "sampleRate", type: "Double", value: 6400 },
    ],
  });
  assert.equal(seen.properties?.keys.length, seen.properties?.values.length);
  assert.deepEqual(property(seen, "Quality"), { type: 3, intValue: 500 });
  assert.deepEqual(property(seen, "Reason"), { type: 12, isNull: true });
  assert.deepEqual(property(seen, "engUnit"), { type: 12, stringValue: "bar" });
  assert.deepEqual(property(seen, "sampleRate"), { type: 10, doubleValue: 6400 });
});

test("sparkplug – 64-bit numbers keep every bit, signed ones too", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
      const [metric] = decodeCommand(one({ type: "Int64", value })) ?? [];
      assert.equal(metric?.value, value);
    }),
  );
});

const anyMetric = fc
  .record({
    name: fc.string({ minLength: 1, unit: "grapheme" }),
    timeMs: fc.integer({ min: 0, max: 2 ** 45 }),
    isHistorical: fc.boolean(),
    unit: fc.option(fc.string({ unit: "grapheme" })),
    content: fc.oneof(
      fc.tuple(fc.constant("Double" as const), fc.double({ noNaN: true, noDefaultInfinity: true })),
      fc.tuple(fc.constant("Boolean" as const), fc.boolean()),
      fc.tuple(fc.constant("String" as const), fc.string({ unit: "grapheme" })),
      fc.tuple(fc.constant("Int64" as const), fc.maxSafeNat()),
      fc.tuple(fc.constant("Bytes" as const), fc.uint8Array()),
      fc.tuple(fc.constant("Double" as const), fc.constant(null)),
    ),
  })
  .map(
    ({ name, timeMs, isHistorical, unit, content: [type, value] }): Metric => ({
      name,
      type,
      timeMs,
      value,
      isHistorical,
      properties: [{ key: "engUnit", type: "String", value: unit }],
    }),
  );

test("sparkplug – an independent decoder reads what was written", () => {
  fc.assert(
    fc.property(fc.array(anyMetric, { maxLength: 8 }), fc.nat(255), (metrics, seq) => {
      const seen = decode(encodePayload({ timeMs: 1_700_000_000_000, seq, metrics }));
      assert.equal(seen.seq, seq);
      assert.equal(seen.timestamp, 1_700_000_000_000);
      const inOrder = [...metrics].sort((a, b) => a.timeMs - b.timeMs);
      for (const [i, metric] of inOrder.entries()) {
        const other = seen.metrics[i] ?? {};
        assert.equal(other.name, metric.name);
        assert.equal(other.timestamp, metric.timeMs);
        assert.equal(other.isHistorical ?? false, metric.isHistorical);
        assert.equal(other.isNull ?? false, metric.value === null);
        assert.deepEqual(valueOf(other), metric.value);
        assert.equal(
          property(other, "engUnit")?.stringValue ?? null,
          metric.properties?.[0]?.value,
        );
      }
    }),
    { numRuns: 300 },
  );
});

test("sparkplug – protoc reads what was written and writes the same bytes", {
  skip: skipWithoutProtoc,
}, () => {
  for (const metrics of fc.sample(fc.array(anyMetric, { maxLength: 6 }), {
    numRuns: 12,
    seed: 5,
  })) {
    const bytes = Buffer.from(encodePayload({ timeMs: 1_700_000_000_000, seq: 9, metrics }));
    const text = protoc(["--decode=gateside.sparkplug.Payload"], bytes);
    assert.deepEqual(protoc(["--encode=gateside.sparkplug.Payload"], text), bytes);
    assert.equal(text.toString().match(/^metrics \{/gm)?.length ?? 0, metrics.length);
  }
});

test("sparkplug – commands written by protoc are read, with and without datatype", {
  skip: skipWithoutProtoc,
}, () => {
  const text = `metrics { name: "a" boolean_value: true }
    metrics { name: "b" datatype: 3 int_value: 4294967291 }
    metrics { name: "c" datatype: 4 long_value: 18446744073709551615 }
    metrics { name: "d" datatype: 10 is_null: true }
    metrics { alias: 7 double_value: 1 }
    metrics { name: "e" double_value: 2.5 }`;
  const bytes = protoc(["--encode=gateside.sparkplug.Payload"], text);
  assert.deepEqual(decodeCommand(bytes), [
    { name: "a", datatype: null, value: true },
    { name: "b", datatype: 3, value: -5 },
    { name: "c", datatype: 4, value: -1n },
    { name: "d", datatype: 10, value: null },
    { name: "e", datatype: null, value: 2.5 },
  ]);
});

test("sparkplug – the committed code matches the .proto", { skip: skipWithoutProtoc }, (t) => {
  const directory = mkdtempSync(join(tmpdir(), "gateside-proto-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const file = join(directory, "set");
  protoc([`--descriptor_set_out=${file}`], "");
  const [fromProto] = fromBinary(FileDescriptorSetSchema, readFileSync(file)).file;
  assert.ok(fromProto);
  const fieldsOf = ({ messageType }: FileDescriptorProto) =>
    messageType.map(({ name, field }) => ({
      name,
      fields: field.map((f) => [f.name, f.number, f.type, f.label, f.typeName, f.oneofIndex]),
    }));
  assert.deepEqual(fieldsOf(file_sparkplug.proto), fieldsOf(fromProto));
});
