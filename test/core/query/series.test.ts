import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { packFloats } from "../../../src/core/query/packed.ts";
import { createSeriesMaker } from "../../../src/core/query/series.ts";
import type { SignalUnit } from "../../../src/core/unit.ts";
import { DftPlans } from "../../../src/pipeline/signal/fft.ts";

interface Vector {
  readonly case: string;
  readonly sample_rate: number;
  readonly calibration: number;
  readonly channel: readonly number[];
  readonly options: object;
  readonly expected: {
    readonly top_line_units?: Readonly<Record<string, number>> | null;
    readonly twf?: Readonly<Record<string, { samples: [number, number][]; rms: number } | null>>;
  };
}
const vectors = readFileSync("test/vectors/signal.jsonl", "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Vector);

/** By the description of the form alone, sharing nothing with the code under test. */
function unpack(pieces: Iterable<string>): number[] {
  const bytes = Uint8Array.from(atob([...pieces].join("")), (char) => char.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
}
const stored = (vector: Vector) => ({
  fileId: 1,
  sensor: "1",
  timeMs: 0,
  readingId: "",
  channel: 1,
  axis: "H" as const,
  sampleRateHz: vector.sample_rate,
  calibration: vector.calibration,
  recordingReason: 1,
  samples: Int16Array.from(vector.channel),
});
const close = (seen: number | undefined, expected: number, scale: number, what: string) =>
  assert.ok(
    Math.abs((seen ?? Number.NaN) - expected) <= 1e-5 * scale + 1e-6,
    `${what}: ${seen} is not ${expected}`,
  );

test("packed series – decoded by an independent decoder, they equal the lines and samples of the vectors", () => {
  let compared = 0;
  for (const vector of vectors) {
    if (Object.keys(vector.options).length > 0) continue;
    const { top_line_units: top, twf } = vector.expected;
    for (const [name, value] of Object.entries(top ?? {})) {
      if (!/^\d_/.test(name)) continue;
      const unit = Number(name[0]) as SignalUnit;
      const lines = unpack(
        packFloats(createSeriesMaker(new DftPlans()).spectrum(stored(vector), unit, null).values),
      );
      close(lines[top?.["bin"] ?? 0], value, Math.abs(value), `${vector.case} ${name}`);
      compared += 1;
    }
    for (const [name, expected] of Object.entries(twf ?? {})) {
      if (expected === null || expected.rms === null) continue;
      const unit = Number(name[0]) as SignalUnit;
      const samples = unpack(
        packFloats(createSeriesMaker(new DftPlans()).waveform(stored(vector), unit, null).values),
      );
      for (const [index, value] of expected.samples) {
        close(
          samples[index],
          value,
          Math.max(expected.rms, Math.abs(value)),
          `${vector.case} ${name} ${index}`,
        );
        compared += 1;
      }
    }
  }
  assert.ok(compared > 60, `${compared} values compared`);
});

test("packed series – any length, in pieces that join to one text", () => {
  for (const length of [0, 1, 2, 3, 12_287, 12_288, 12_289, 30_000]) {
    const values = Float64Array.from({ length }, (_, n) => Math.sin(n));
    const unpacked = unpack(packFloats(values));
    assert.equal(unpacked.length, length);
    // Compared one by one: the difference of two such lists takes a minute to print.
    const isSame = values.every((value, index) => Math.fround(value) === unpacked[index]);
    assert.equal(isSame, true);
  }
});
