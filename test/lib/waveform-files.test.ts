import assert from "node:assert/strict";
import { test } from "node:test";
import { csvBytes, npyBytes, wavBytes } from "../../src/lib/waveform-files.ts";

const SAMPLES = Float64Array.of(0, -1.5, 2.25);

test("waveform files – WAV: one channel of floats, of the length stated in its header", () => {
  const bytes = wavBytes(SAMPLES, 6400);
  assert.equal(bytes.toString("latin1", 0, 4), "RIFF");
  assert.equal(bytes.readUInt32LE(4), bytes.length - 8);
  assert.deepEqual([bytes.readUInt16LE(20), bytes.readUInt16LE(22)], [3, 1]);
  assert.deepEqual([bytes.readUInt32LE(24), bytes.readUInt16LE(34)], [6400, 32]);
  const data = bytes.indexOf("data");
  assert.equal(bytes.readUInt32LE(data + 4), 12);
  assert.deepEqual(
    [0, 1, 2].map((n) => bytes.readFloatLE(data + 8 + 4 * n)),
    [...SAMPLES],
  );
});

test("waveform files – NumPy: doubles after a header that ends on a multiple of 64", () => {
  const bytes = npyBytes(SAMPLES);
  assert.equal(bytes.toString("latin1", 0, 6), "\x93NUMPY");
  const start = 10 + bytes.readUInt16LE(8);
  assert.equal(start % 64, 0);
  assert.match(bytes.toString("latin1", 10, start), /'descr': '<f8'.*'shape': \(3,\), \} *\n$/);
  assert.deepEqual(
    [0, 1, 2].map((n) => bytes.readDoubleLE(start + 8 * n)),
    [...SAMPLES],
  );
});

test("waveform files – CSV: seconds and the value with its unit", () => {
  assert.equal(
    csvBytes(SAMPLES, 2, "G").toString(),
    "time_s,acceleration_G\n0,0\n0.5,-1.5\n1,2.25\n",
  );
});
