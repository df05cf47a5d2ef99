import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  isWithoutZone,
  parseIsoTime,
  parseTimeWithOffset,
  parseWireTime,
} from "../../../src/pipeline/wire/timestamp.ts";

interface Vector {
  readonly input?: unknown;
  readonly json_text?: string;
  readonly expected: { epoch_ms?: number; offset_minutes?: number | null; error?: true };
}
const { timestamp } = JSON.parse(readFileSync("test/vectors/conversion.json", "utf8")) as {
  timestamp: Vector[];
};

for (const { input, json_text: json, expected } of timestamp) {
  test(`wire time – ${JSON.stringify(json ?? input)} is ${JSON.stringify(expected)}`, () => {
    const time = parseWireTime(json === undefined ? input : JSON.parse(json));
    if (expected.error) assert.equal(time, null);
    else {
      assert.deepEqual(time, { ms: expected.epoch_ms, offsetMinutes: expected.offset_minutes });
    }
  });
}

for (const [text, expected] of [
  ["2026-11-20T12:00:00Z", [Date.UTC(2026, 10, 20, 12), 0]],
  ["2026-11-20T12:00:00.1239+05:30", [Date.UTC(2026, 10, 20, 6, 30, 0, 123), 330]],
  ["2026-11-20 12:00-0330", [Date.UTC(2026, 10, 20, 15, 30), -210]],
  // Without minutes, as PostgreSQL writes whole hours.
  ["2026-11-20 12:00:00.5+01", [Date.UTC(2026, 10, 20, 11, 0, 0, 500), 60]],
  ["2026-11-20T12:00:00+15", null],
  ["2024-02-29T00:00:00Z", [Date.UTC(2024, 1, 29), 0]],
  ["2026-11-20T12:00:00", null],
  ["2026-02-29T00:00:00Z", null],
  ["2026-11-20T24:00:00Z", null],
  ["2026-11-20T23:59:59Z", [Date.UTC(2026, 10, 20, 23, 59, 59), 0]],
  ["2026-11-20T23:60:00Z", null],
  ["2026-11-20T23:59:60Z", null],
  ["2026-11-20T12:00:00+15:00", null],
  ["2026-11-20", null],
] as const) {
  test(`ISO time – ${text} is ${expected === null ? "refused" : expected.join(", ")}`, () => {
    const time = parseIsoTime(text);
    assert.deepEqual(time && [time.ms, time.offsetMinutes], expected);
  });
}

test("wire time – leading zeros do not end the digits, and a number beyond every instant is rejected", () => {
  assert.equal(parseWireTime(`/Date(${"0".repeat(30)}1700000000000)/`)?.ms, 1_700_000_000_000);
  assert.equal(parseWireTime(`/Date(${"9".repeat(400)})/`), null);
});

test("DateTimeOffset – the instant is that of DateTime, and the offset is information", () => {
  const at = (OffsetMinutes: unknown, DateTime: unknown = "/Date(1000)/") =>
    parseTimeWithOffset({ DateTime, OffsetMinutes });
  assert.deepEqual(at(-360), { ms: 1000, offsetMinutes: -360 });
  assert.deepEqual(at(840), { ms: 1000, offsetMinutes: 840 });
  for (const minutes of [841, -841, 1.5, "60", null, undefined]) assert.equal(at(minutes), null);
  assert.equal(at(0, "1970-01-01T00:00:00Z"), null);
  assert.equal(parseTimeWithOffset(null), null);
});

test("ISO times – one without Z and offset is told apart from what is no time", () => {
  for (const text of ["2026-11-20T12:00:00", "2026-11-20 12:00", " 2026-11-20T12:00:00.123 "])
    assert.equal(isWithoutZone(text), true, text);
  for (const text of ["2026-11-20T12:00:00Z", "2026-11-20T12:00:00+01:00", "2026-11-20", "noon"])
    assert.equal(isWithoutZone(text), false, text);
});
