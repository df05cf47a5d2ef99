import assert from "node:assert/strict";
import { test } from "node:test";
import { type Evidence, judge, missingWaveforms, storedIds } from "../../scripts/chaos/compare.ts";

type Parts = {
  readonly must?: Readonly<Record<string, number>>;
  readonly gone?: Readonly<Record<string, number>>;
  readonly received?: readonly string[];
  readonly stored?: readonly string[];
  readonly gaps?: readonly { from: number; to: number; count: number }[];
  /** Ids the Sparkplug host has; absent: there is no host. */
  readonly atHost?: readonly string[];
};

const iso = (ms: number) => new Date(ms).toISOString();
const wanted = (list: Readonly<Record<string, number>> = {}) =>
  new Map(
    Object.entries(list).map(([id, timeMs]) => [
      id,
      { sensor: "1", kind: "rpm", timeMs, channels: ["channel1"] },
    ]),
  );

function judged({ must, gone, received = [], stored = [], gaps = [], atHost }: Parts) {
  const times = new Map(Object.entries({ ...must, ...gone }).map(([id, timeMs]) => [timeMs, id]));
  const evidence: Evidence = {
    recorder: {
      ids: new Map(received.map((id) => [id, { count: 1, values: { rpm: 1 } }])),
      doubled: new Set(),
      waveforms: new Set(),
      gaps: gaps.map(({ from, to, count }) => ({
        sensor: "1",
        kind: "rpm",
        from: iso(from),
        to: iso(to),
        count,
        reason: "disk_full",
      })),
    },
    host: atHost
      ? {
          hasReading: ({ timeMs }) => atHost.includes(times.get(timeMs) ?? ""),
          hasWaveform: () => false,
        }
      : null,
    stored: new Set(stored),
  };
  const may = new Map([...wanted(must), ...wanted(gone)]);
  const verdict = judge({ must: wanted(must), may, gone: wanted(gone) }, evidence);
  const { lost, givenUp, invented, takenBack } = verdict;
  return [lost.length, givenUp, invented.length, takenBack];
}

test("verdict – what came is well, what did not is lost, stored or not", () => {
  assert.deepEqual(judged({ must: { a: 1 }, received: ["a"], stored: ["a"] }), [0, 0, 0, 0]);
  assert.deepEqual(judged({ must: { a: 1, b: 2 }, stored: ["b"] }), [2, 0, 0, 0]);
});

test("verdict – a gap record accounts for as many as it counts, within its span, and for none that is stored", () => {
  const must = { a: 10, b: 20, c: 30 };
  const gap = { from: 10, to: 20, count: 2 };
  assert.deepEqual(judged({ must, gaps: [gap] }), [1, 2, 0, 0]);
  assert.deepEqual(judged({ must, gaps: [{ ...gap, count: 1 }] }), [2, 1, 0, 0]);
  assert.deepEqual(judged({ must, stored: ["a"], gaps: [gap] }), [2, 1, 0, 0]);
});

test("verdict – what was taken back may be missing, but not while the store holds it", () => {
  assert.deepEqual(judged({ gone: { a: 1, b: 2 } }), [0, 0, 0, 2]);
  assert.deepEqual(judged({ gone: { a: 1, b: 2 }, stored: ["a"] }), [1, 0, 0, 1]);
});

test("verdict – what nobody showed is invented, received or stored", () => {
  assert.deepEqual(judged({ received: ["x"], stored: ["x", "y"] }), [0, 0, 2, 0]);
});

test("verdict – a record that the Sparkplug host lacks is lost, whoever else has it", () => {
  const parts = { must: { a: 1, b: 2 }, received: ["a", "b"] };
  assert.deepEqual(judged({ ...parts, atHost: ["a"] }), [1, 0, 0, 0]);
  assert.deepEqual(judged({ ...parts, atHost: ["a", "b"] }), [0, 0, 0, 0]);
});

test("verdict – an id that the store holds twice is found", () => {
  const { ids, twice } = storedIds('{"id":"a"}\n{"id":"b"}\n{"id":"a"}\n');
  assert.deepEqual([[...ids], [...twice]], [["a", "b"], ["a"]]);
});

test("verdict – a waveform is missing wherever one channel of it is", () => {
  const must = new Map([
    ["a", { sensor: "1", kind: "accel", timeMs: 1, channels: ["channel1", "channel2"] }],
  ]);
  const recorder = {
    ids: new Map(),
    doubled: new Set<string>(),
    gaps: [],
    waveforms: new Set(["a channel1"]),
  };
  const host = {
    hasReading: () => true,
    hasWaveform: (_: unknown, name: string) => name !== "channel1",
  };
  assert.equal(missingWaveforms({ must }, { recorder, host: null }).length, 1);
  assert.equal(missingWaveforms({ must }, { recorder, host }).length, 2);
});
