import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeEvents } from "../../scripts/chaos/alarm-events.ts";
import { type Evidence, judge, missingWaveforms, storedIds } from "../../scripts/chaos/compare.ts";
import { judgeUplinks } from "../../scripts/chaos/compare-uplinks.ts";
import type { GapRecord } from "../../scripts/chaos/received.ts";

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
      ids: new Map(received.map((id) => [id, { kind: "rpm", count: 1, values: { rpm: 1 } }])),
      doubled: new Map(),
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
  const { lost, dropped, invented, takenBack } = verdict;
  return [lost.length, dropped, invented.length, takenBack];
}

test("verdict – what arrived is fine, what did not is lost, stored or not", () => {
  assert.deepEqual(judged({ must: { a: 1 }, received: ["a"], stored: ["a"] }), [0, 0, 0, 0]);
  assert.deepEqual(judged({ must: { a: 1, b: 2 }, stored: ["b"] }), [2, 0, 0, 0]);
});

test("verdict – a gap record accounts for as many readings as it counts, within its span, and for none that is stored", () => {
  const must = { a: 10, b: 20, c: 30 };
  const gap = { from: 10, to: 20, count: 2 };
  assert.deepEqual(judged({ must, gaps: [gap] }), [1, 2, 0, 0]);
  assert.deepEqual(judged({ must, gaps: [{ ...gap, count: 1 }] }), [2, 1, 0, 0]);
  assert.deepEqual(judged({ must, stored: ["a"], gaps: [gap] }), [2, 1, 0, 0]);
});

test("verdict – gap records whose spans overlap account for all that they count, whichever comes first", () => {
  const must = { b: 20, c: 30, a: 10 };
  const long = { from: 10, to: 30, count: 2 };
  const short = { from: 20, to: 20, count: 1 };
  assert.deepEqual(judged({ must, gaps: [long, short] }), [0, 3, 0, 0]);
  assert.deepEqual(judged({ must, gaps: [short, long] }), [0, 3, 0, 0]);
  assert.deepEqual(judged({ must, gaps: [short, { ...long, count: 1 }] }), [1, 2, 0, 0]);
});

test("verdict – what was withdrawn may be missing, unless the store holds it", () => {
  assert.deepEqual(judged({ gone: { a: 1, b: 2 } }), [0, 0, 0, 2]);
  assert.deepEqual(judged({ gone: { a: 1, b: 2 }, stored: ["a"] }), [1, 0, 0, 1]);
});

test("verdict – what nobody produced is invented, received or stored", () => {
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

test("verdict – a waveform is missing if any channel of it is", () => {
  const must = new Map([
    ["a", { sensor: "1", kind: "accel", timeMs: 1, channels: ["channel1", "channel2"] }],
  ]);
  const recorder = {
    ids: new Map(),
    doubled: new Map<string, readonly [string, string]>(),
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

test("verdict – each uplink is judged by its selection and its own gaps; values that differ from those on main are invented", () => {
  const at = (sensor: string, kind: string, timeMs: number) => ({
    sensor,
    kind,
    timeMs,
    channels: [],
  });
  const must = new Map([
    ["a", at("100200411", "rpm", 1)],
    ["b", at("100200411", "rpm", 2)],
    ["c", at("100200448", "dryContact", 3)],
    ["d", at("100200374", "loop", 4)],
  ]);
  const came = (list: Readonly<Record<string, object>>) => ({
    ids: new Map(
      Object.entries(list).map(([id, values]) => [
        id,
        { kind: "rpm", count: 1, values: { ...values } },
      ]),
    ),
    doubled: new Map<string, readonly [string, string]>(),
    live: 0,
  });
  const main = came({ a: { rpm: 1 }, b: { rpm: 2 }, c: { input1: true }, d: { channel2: 5 } });
  const judgeAll = (cloud: ReturnType<typeof came>, gaps: GapRecord[], stored: Set<string>) => {
    const far = { cloud, visitor: main, host: { hasReading: () => true } };
    return judgeUplinks(
      { must, may: must, gone: new Map() },
      main,
      far as unknown as Parameters<typeof judgeUplinks>[2],
      gaps,
      stored,
    );
  };
  const judgedBy = (...words: Parameters<typeof judgeAll>) => {
    const [one] = judgeAll(...words);
    return [one?.due, one?.received, one?.lost.length, one?.dropped, one?.invented.length];
  };
  const everything = new Set(must.keys());
  assert.deepEqual(
    judgedBy(came({ a: { rpm: 1 }, b: { rpm: 2 } }), [], everything),
    [2, 2, 0, 0, 0],
  );
  assert.deepEqual(judgedBy(came({ a: { rpm: 1 } }), [], everything), [2, 1, 1, 0, 0]);
  const gap = {
    sensor: "100200411",
    kind: "rpm",
    from: iso(2),
    to: iso(2),
    count: 1,
    reason: "disk_full",
  };
  const alike = came({ a: { rpm: 1 }, b: { rpm: 2 } });
  alike.doubled.set("a and b", ["a", "b"]).set("a and z", ["a", "z"]);
  assert.deepEqual(judgeAll(alike, [], everything)[0]?.doubled, ["cloud: a and z"]);
  const without = new Set(["a"]);
  const outcomeFor = (uplink: string) =>
    judgedBy(came({ a: { rpm: 1 } }), [{ ...gap, uplink }], without);
  assert.deepEqual(outcomeFor("cloud"), [2, 1, 0, 1, 0]);
  assert.deepEqual(outcomeFor("main"), [2, 1, 1, 0, 0]);
  const odd = came({ a: { rpm: 7 }, b: { rpm: 2 }, c: { input1: true } });
  assert.deepEqual(judgedBy(odd, [], everything), [2, 1, 0, 0, 2]);
});

test("verdict – an event that is stored but was never published is lost; one transition with two ids is a duplicate", () => {
  const event = (id: string, content: string, readingId = "") =>
    [id, { id, content, readingId }] as const;
  const stored = new Map([
    ["e1", "1"],
    ["e2", "2"],
  ]);
  const judgeOf = (...events: ReturnType<typeof event>[]) => {
    const { lost, doubled, invented } = judgeEvents(
      stored,
      { events: new Map(events) },
      () => true,
      new Set(["r".repeat(32)]),
    );
    return [lost.length, doubled.length, invented.length];
  };
  assert.deepEqual(judgeOf(event("e1", "x"), event("e2", "y")), [0, 0, 0]);
  assert.deepEqual(judgeOf(event("e1", "x")), [1, 0, 0]);
  assert.deepEqual(judgeOf(event("e1", "x"), event("e2", "x")), [0, 1, 0]);
  const other = event("e3", "z", "0123456789abcdef0123456789abcdef");
  assert.deepEqual(judgeOf(event("e1", "x"), event("e2", "y"), other), [0, 0, 1]);
});
