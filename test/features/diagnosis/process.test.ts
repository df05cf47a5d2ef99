import assert from "node:assert/strict";
import { test } from "node:test";
import { type JudgeInput, judge } from "../../../src/features/diagnosis/rules/judge.ts";
import { learn, type Reference } from "../../../src/features/diagnosis/rules/reference.ts";
import {
  around,
  MACHINE,
  normalState,
  orderAmplitudes,
  raised,
  recordOf,
  shaftRecord,
} from "./support.ts";

const LINES = [
  { finding: "blade_pass", order: 6 },
  { finding: "gear_mesh", order: 23 },
] as const;

const HEALTHY = normalState();

type Record = ReturnType<typeof recordOf>;

const told = (
  record: Record,
  reference: Reference | null,
  isHeld: JudgeInput["isHeld"] = () => false,
) =>
  judge(record, around(record.speedRpm, { reference, isHeld })).verdicts.map((one) => one.finding);

/** As if the order had stood like this while the machine was learned. */
function normalWith(record: Record, order: number): Reference {
  const levels = orderAmplitudes(record, order).map((mmS, i) => [`${i + 1}:${order}`, mmS]);
  const highest = Object.fromEntries(levels);
  return { speeds: [{ rpm: 1480, readings: 20, first: highest, highest }] };
}

for (const { finding, order } of LINES) {
  test(`a line of ${finding} that stood when the machine was learned is told once it rises`, () => {
    const record = recordOf({ fault: finding, severity: 0.9 }, 3);
    const times = (by: number) => raised(record, { [order]: [by, by, by] });
    const reference = normalWith(record, order);
    assert.ok(told(record, null).includes(finding));
    assert.ok(!told(record, reference).includes(finding));
    assert.ok(!told(times(1.5), reference).includes(finding));
    assert.ok(told(times(1.7), reference).includes(finding));
    const isHeld = (key: string) => key === finding;
    assert.ok(told(times(1.35), reference, isHeld).includes(finding));
    assert.ok(!told(times(1.2), reference, isHeld).includes(finding));
  });

  test(`before the machine was learned, a line of ${finding} must be twice as strong`, () => {
    const weaker = recordOf({ fault: finding, severity: 0.4 }, 3);
    assert.ok(told(weaker, HEALTHY).includes(finding));
    assert.ok(!told(weaker, null).includes(finding));
    assert.ok(told(recordOf({ fault: finding, severity: 1 }, 3), null).includes(finding));
  });

  test(`a line that ${finding} names does not become normal`, () => {
    const record = recordOf({ fault: finding, severity: 0.5 }, 3);
    const key = `1:${order}`;
    const { levels, verdicts } = judge(record, around(record.speedRpm, { reference: HEALTHY }));
    assert.ok(verdicts.some((one) => one.finding === finding));
    assert.ok(levels && !(key in levels));
    // Nor does it while the finding stands and a reading does not show it.
    const weaker = raised(record, { [order]: [0.3, 0.3, 0.3] });
    const levelsOf = (isHeld: (of: string) => boolean) =>
      judge(weaker, around(weaker.speedRpm, { isHeld })).levels ?? {};
    assert.ok(key in levelsOf(() => false));
    assert.ok(!(key in levelsOf((of) => of === finding)));
  });
}

test("a damaged gear is told after its healthy mesh was learned", () => {
  let reference = HEALTHY;
  const record = recordOf({ fault: "gear_mesh", severity: 0.5 }, 3);
  assert.ok(told(record, reference).includes("gear_mesh"));
  for (let n = 0; n < 30; n++) {
    const { levels } = judge(record, around(record.speedRpm, { reference }));
    reference = learn(reference, levels, record.speedRpm);
  }
  assert.ok(told(record, reference).includes("gear_mesh"));
});

test("a gear is told by its side bands where the line of its mesh hardly rose", () => {
  const record = recordOf({ fault: "gear_mesh", severity: 0.9 }, 3);
  const lines = normalWith(record, 23);
  assert.ok(!told(record, lines).includes("gear_mesh"));
  // They stand at three quarters of the line or more: learned at a third of it they rose, at two thirds they did not.
  const withBands = (share: number): Reference => {
    const [speed] = lines.speeds;
    assert.ok(speed !== undefined);
    const bands = orderAmplitudes(record, 23).map((mmS, i) => [`${i + 1}:-23`, share * mmS]);
    const highest = { ...speed.highest, ...Object.fromEntries(bands) };
    return { speeds: [{ ...speed, highest }] };
  };
  assert.ok(told(record, withBands(0.33)).includes("gear_mesh"));
  assert.ok(!told(record, withBands(0.67)).includes("gear_mesh"));
  // Weak beside the line, they may rise without saying anything.
  const healthy = recordOf({}, 3);
  const { levels } = judge(healthy, around(healthy.speedRpm));
  const share = (levels?.["1:-23"] ?? 0) / (levels?.["1:23"] ?? 0);
  assert.ok(share > 0.05 && share < 0.2, `${share}`);
});

test("a line at twice the mains frequency is no blade pass beside it", () => {
  // 8x of a slow shaft is 1.5 Hz below 100 Hz. Without a line of 1x it is searched within the error of the speed.
  const machine = { ...MACHINE, blades: 8 };
  const found = (hz: number) => {
    const record = shaftRecord(739, [{ [hz / (739 / 60)]: 4 }, {}, {}]);
    const { verdicts } = judge(record, around(739, { machine }));
    return verdicts.map(({ finding }) => finding);
  };
  assert.deepEqual(found(100.05), ["electrical"]);
  assert.deepEqual(found(98.6), ["blade_pass"]);
});
