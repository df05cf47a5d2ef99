import assert from "node:assert/strict";
import { test } from "node:test";
import { Flags, UsageError } from "../../src/cli/command.ts";
import { excelLines, tableStyle } from "../../src/cli/export-excel.ts";
import { measurementsOf } from "../../src/cli/export-parquet.ts";
import type { StoredReading } from "../../src/core/stored-reading.ts";

function reading(time: string, values: object, units: object, quality: object = {}) {
  return {
    sensor: "0042",
    kind: "loop",
    timeMs: Date.parse(time),
    values: JSON.stringify(values),
    units: JSON.stringify(units),
    quality: JSON.stringify(quality),
  } as StoredReading;
}

const READINGS = [
  reading("2026-10-25T00:30:00Z", { channel1: 1.5, note: "=HYPERLINK(1)" }, { channel1: "bar" }),
  reading(
    "2026-10-25T01:30:00Z",
    { channel1: null, channel2: -2 },
    { channel1: "kPa", channel2: "bar" },
    { channel1: { quality: "bad", reason: "wire_break" } },
  ),
];

const styleOf = (flags: Record<string, string>) =>
  tableStyle(
    new Flags(new Map(Object.entries({ format: "csv", ...flags }).map(([k, v]) => [k, [v]]))),
    "Europe/Berlin",
  );

test("export --excel – a row a reading, a column per value and unit, as a spreadsheet of the country reads it", () => {
  const style = styleOf({ excel: "" });
  assert.ok(style !== null);
  const text = [
    ...excelLines(
      () => READINGS,
      style,
      () => "Pump; 4",
    ),
  ].join("");
  assert.equal(
    text,
    "\ufeff" +
      "time (Europe/Berlin);sensor;name;kind;channel1 (bar);note;channel1 (kPa);channel2 (bar);not good\r\n" +
      '2026-10-25 02:30:00;0042;"Pump; 4";loop;1,5;\'=HYPERLINK(1);;;\r\n' +
      '2026-10-25 02:30:00;0042;"Pump; 4";loop;;;;-2;channel1: bad (wire_break)\r\n',
  );
});

test("export --excel – separator, decimal and zone can be chosen", () => {
  const style = styleOf({ excel: "", separator: ",", decimal: ".", zone: "utc" });
  assert.ok(style !== null);
  const [head, first] = [
    ...excelLines(
      () => READINGS,
      style,
      () => "",
    ),
  ];
  assert.match(head ?? "", /^\ufefftime \(UTC\),sensor/);
  assert.match(first ?? "", /^2026-10-25 00:30:00,0042,,loop,1\.5,/);
});

test("export --excel – what cannot be meant is said", () => {
  assert.equal(styleOf({}), null);
  const wrong: [Record<string, string>, RegExp][] = [
    [{ separator: ";" }, /--separator requires --excel/],
    [{ excel: "", separator: "," }, /same character/],
    [{ excel: "", separator: "ab" }, /--separator must be/],
    [{ excel: "", decimal: "x" }, /--decimal must be/],
    [{ excel: "", zone: "here" }, /--zone/],
    [{ excel: "", format: "jsonl" }, /leave out --format/],
    [{ excel: "", db: "postgres://x" }, /leave out --waveforms and --db/],
  ];
  for (const [flags, message] of wrong)
    assert.throws(
      () => styleOf(flags),
      (error) => error instanceof UsageError && message.test(error.message),
    );
});

test("export --format parquet – a row a value, with its site, unit, quality and reason", () => {
  const [row, good] = READINGS.slice(1).flatMap((one) => [...measurementsOf(one, "plant-7")]);
  const { site, sensor, kind, name, value, unit, quality, reason } = row ?? {};
  assert.deepEqual(
    [site, sensor, kind, name, value, unit, quality, reason],
    ["plant-7", "0042", "loop", "channel1", null, "kPa", "bad", "wire_break"],
  );
  assert.deepEqual([good?.value, good?.quality, good?.reason], [-2, "good", null]);
});
