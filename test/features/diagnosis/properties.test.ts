/** What must hold of any record: names do not change with the scale or with the order of axes that nobody named. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { judge } from "../../../src/features/diagnosis/rules/judge.ts";
import { analyseAxis } from "../../../src/pipeline/signal/analyse.ts";
import { DftPlans } from "../../../src/pipeline/signal/fft.ts";
import { faultyRecord } from "../../support/machines/faulty-machine.ts";
import type { FaultKind } from "../../support/machines/machine-fault.ts";
import { around, normalState, PLANT, SENSOR } from "./support.ts";

const SHAPE = { sampleRateHz: 6400, samples: 8192, rangeG: 16 };
const FAULTS = {
  unbalance: "unbalance",
  misalignment: "misalignment",
  looseness: "looseness",
  outer_race: "bearing_outer_race",
  inner_race: "bearing_inner_race",
} as const satisfies Partial<Record<FaultKind, string>>;
const plans = new DftPlans();

function measured(channels: readonly Int16Array[], calibration: number, sampleRateHz = 6400) {
  const values: Record<string, number | null> = {};
  const tones = channels.map((counts, i) => {
    const found = analyseAxis(counts, { sampleRateHz, calibration, plans, tones: true });
    values[`channel${i + 1}_vel_rms`] = found.velocityRms.value;
    values[`channel${i + 1}_env_rms`] = found.envelopeRms.value;
    return {
      channel: i + 1,
      axis: (["H", "V", "A"] as const)[i] ?? "A",
      durationS: counts.length / sampleRateHz,
      isClipped: (found.clipCount ?? 0) > 0,
      tones: found.tones,
    };
  });
  return { tones, values };
}

const NORMAL = normalState();

const CASES = Object.entries(FAULTS).flatMap(([fault, finding]) =>
  [0.6, 0.9].map((severity) => {
    const whole = { fault: fault as FaultKind, severity, load: 0.8 };
    return { finding, severity, ...faultyRecord(PLANT, whole, 3, SHAPE) };
  }),
);

const ORDERS = [
  [0, 1, 2],
  [0, 2, 1],
  [1, 0, 2],
  [1, 2, 0],
  [2, 0, 1],
  [2, 1, 0],
] as const;

test("axes that the site file does not name lead to the same names in any order, and to no wrong one", () => {
  for (const { finding, severity, channels, calibration, speedRpm } of CASES) {
    const named = ORDERS.map((order) => {
      const turned = order.map((axis) => channels[axis] ?? new Int16Array(0));
      // What is normal belongs to a channel, which the permutation moves.
      const move = (levels: Readonly<Record<string, number>>) =>
        Object.fromEntries(
          Object.entries(levels).map(([key, level]) => {
            const [channel, of] = key.split(":");
            const axis = (Number(channel) - 1) as 0 | 1 | 2;
            return [`${order.indexOf(axis) + 1}:${of}`, level];
          }),
        );
      const reference = {
        speeds: (NORMAL?.speeds ?? []).map((one) => ({
          ...one,
          first: move(one.first),
          highest: move(one.highest),
        })),
      };
      const sensor = { ...SENSOR, channels: {} };
      const { verdicts } = judge(
        measured(turned, calibration),
        around(speedRpm, { sensor, reference }),
      );
      return verdicts.map((one) => one.finding).toSorted();
    });
    for (const names of named) assert.deepEqual(names, named[0], `${finding} ${severity}`);
    for (const name of named[0] ?? []) assert.equal(name, finding);
  }
});

test("a record at half or twice the scale shows the same damaged parts of a bearing", () => {
  for (const { finding, channels, calibration, speedRpm } of CASES) {
    if (!finding.startsWith("bearing")) continue;
    const named = [0.5, 1, 2].map((scale) => {
      const { verdicts } = judge(measured(channels, scale * calibration), around(speedRpm));
      return verdicts.map((one) => one.finding).filter((name) => name.startsWith("bearing"));
    });
    assert.deepEqual(named, [[finding], [finding], [finding]], finding);
  }
});

test("records of any length, constant, clipped or of noise, at any speed: nothing fails, and short or flat ones find nothing", () => {
  const axis = fc.oneof(
    fc.integer({ min: 0, max: 17 }).map((size) => new Int16Array(size).fill(100)),
    fc.integer({ min: 0, max: 3000 }).map((size) => new Int16Array(size).fill(-7)),
    fc.constantFrom(255, 256, 1023, 2048).map((size) => new Int16Array(size).map((_, n) => n % 7)),
    fc.constantFrom(256, 2048).map((size) => new Int16Array(size).fill(32767, 0, size / 2)),
  );
  const speed = fc.constantFrom(null, 0, 29, 30, 1480, 60_000);
  fc.assert(
    fc.property(fc.array(axis, { minLength: 0, maxLength: 3 }), speed, (channels, speedRpm) => {
      const seen = measured(channels, 0.0005);
      const { verdicts, judged, cannot } = judge(seen, around(speedRpm));
      const isUsable = seen.tones.some((one) => one.tones !== null && !one.isClipped);
      if (isUsable && speedRpm !== null && speedRpm >= 30) return;
      assert.deepEqual([verdicts, judged], [[], []]);
      assert.ok((cannot[0]?.text.length ?? 0) > 0);
    }),
    { numRuns: 150 },
  );
});
