import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decodeSamples, encodeSamples, WaveformDamage } from "../../src/lib/waveform-codec.ts";

const anySamples = fc
  .array(fc.integer({ min: -32768, max: 32767 }), { maxLength: 600 })
  .map((values) => Int16Array.from(values));

test("waveform codec – damaged, truncated and foreign bytes throw and never give wrong samples", () => {
  const tone = Int16Array.from({ length: 1000 }, (_, n) => Math.round(900 * Math.sin(n / 9)));
  const { encoding, bytes } = encodeSamples(tone);
  assert.equal(encoding, 2);
  assert.throws(
    () => decodeSamples(encoding, bytes.subarray(0, bytes.length - 9), 1000),
    WaveformDamage,
  );
  assert.throws(() => decodeSamples(encoding, Buffer.from("not deflate"), 1000), WaveformDamage);
  assert.throws(() => decodeSamples(encoding, bytes, 999), WaveformDamage);
  assert.throws(() => decodeSamples(encoding, bytes, 1001), WaveformDamage);
  assert.throws(() => decodeSamples(0, Buffer.alloc(7), 4), WaveformDamage);
  assert.throws(() => decodeSamples(9, bytes, 1000), /encoding 9/);
  assert.throws(() => decodeSamples(0, Buffer.alloc(0), -1), WaveformDamage);
  assert.throws(() => decodeSamples(1, bytes, Number.MAX_SAFE_INTEGER), WaveformDamage);
});

test("waveform codec – any samples are restored bit by bit and never take more space than raw", () => {
  fc.assert(
    fc.property(anySamples, (samples) => {
      const { encoding, bytes } = encodeSamples(samples);
      assert.deepEqual(decodeSamples(encoding, bytes, samples.length), samples);
      assert.ok(bytes.length <= samples.length * 2);
    }),
  );
});

test("waveform codec – a full swing between the extremes survives the differences", () => {
  const samples = Int16Array.from({ length: 512 }, (_, n) => (n % 8 < 4 ? -32768 : 32767));
  const { encoding, bytes } = encodeSamples(samples);
  assert.notEqual(encoding, 0);
  assert.deepEqual(decodeSamples(encoding, bytes, 512), samples);
});

test("waveform codec – a quiet machine is compressed, full-scale noise stays raw", () => {
  const quiet = Int16Array.from({ length: 4096 }, (_, n) => Math.round(200 * Math.sin(n / 40)));
  assert.ok(encodeSamples(quiet).bytes.length < 0.6 * 8192);
  let state = 1;
  const noise = Int16Array.from({ length: 4096 }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 16) - 32768;
  });
  const { encoding, bytes } = encodeSamples(noise);
  assert.equal(encoding, 0);
  assert.equal(bytes.readInt16LE(2 * 77), noise[77]);
});

test("waveform codec – encoded bytes do not change with the array they came from", () => {
  const samples = new Int16Array(new ArrayBuffer(64), 8, 3).map((_, n) => n * 9000 - 9000);
  const { encoding, bytes } = encodeSamples(samples);
  samples.fill(1);
  assert.deepEqual([...decodeSamples(encoding, bytes, 3)], [-9000, 0, 9000]);
});

test("waveform codec – packed samples that wait for their commit keep hardly more memory than the samples took", () => {
  for (const count of [2048, 4096, 30_000]) {
    const tone = Int16Array.from({ length: count }, (_, n) => Math.round(900 * Math.sin(n / 9)));
    const { bytes } = encodeSamples(tone);
    assert.ok(
      bytes.buffer.byteLength <= count * 2 + 8,
      `${count}: ${bytes.buffer.byteLength} bytes`,
    );
  }
});
