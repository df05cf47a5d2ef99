import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChartSpec } from "../../src/dashboard/chart-spec.ts";
import { csvOf } from "../../src/dashboard/csv.ts";

const spec = (more: Partial<ChartSpec>): ChartSpec => ({
  x: [0, 1.5],
  xLabel: "Frequency (Hz)",
  yLabel: "mm/s",
  zone: null,
  series: [{ label: "H", colour: "series-1", values: [1, null] }],
  summary: "",
  readout: () => "",
  ...more,
});

test("CSV – numbers keep all their digits, and gaps are empty fields", () => {
  assert.equal(csvOf(spec({})), 'Frequency (Hz),"H, mm/s"\r\n0,1\r\n1.5,\r\n');
});

test("CSV – its head keeps the unit of files, whatever the plot writes", () => {
  const head = csvOf(spec({ yLabel: "gE peak", fileLabel: "GE peak" }));
  assert.match(head, /^Frequency \(Hz\),"H, GE peak"/);
});

test("CSV – times are those of the gateway, with UTC beside them, and a range has two columns", () => {
  const series = [{ label: "L1", colour: "series-1", values: [2, 3], low: [1, 2], high: [3, 4] }];
  assert.equal(
    csvOf(spec({ zone: "Asia/Tokyo", series, yLabel: "" })),
    "Time (Asia/Tokyo),Time (UTC),L1,L1 lowest,L1 highest\r\n1970-01-01 09:00:00.000,1970-01-01T00:00:00.000Z,2,1,3\r\n1970-01-01 09:00:01.500,1970-01-01T00:00:01.500Z,3,2,4\r\n",
  );
  assert.match(csvOf(spec({ zone: "UTC", series })), /^Time \(UTC\),"L1, mm\/s"/);
});

test("CSV – a sensor name is never read as a formula, and quotes and commas stay inside their field", () => {
  const labels = ["=HYPERLINK(1)", "-cmd", 'a "b", c'];
  const series = labels.map((label) => ({ label, colour: "x", values: [-1, 0] }));
  assert.equal(
    csvOf(spec({ x: [0], yLabel: "", series })),
    'Frequency (Hz),\'=HYPERLINK(1),\'-cmd,"a ""b"", c"\r\n0,-1,-1,-1\r\n',
  );
});
