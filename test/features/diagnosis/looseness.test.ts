import assert from "node:assert/strict";
import { test } from "node:test";
import { type JudgeInput, judge } from "../../../src/features/diagnosis/rules/judge.ts";
import { around, learned, MACHINE, SENSOR, shaftRecord } from "./support.ts";

const RPM = 1480;
const REFERENCE = learned(0.6, 0.1, 0.1);

type Lines = Parameters<typeof shaftRecord>[1];

const judged = (lines: Lines, over: Partial<JudgeInput> = {}) =>
  judge(shaftRecord(RPM, lines), around(RPM, { reference: REFERENCE, ...over }));
const found = (lines: Lines, over: Partial<JudgeInput> = {}) =>
  judged(lines, over).verdicts.map(({ finding }) => finding);
const heldAs = (finding: string) => ({ isHeld: (key: string) => key === finding });

/** 1x is near a resonance, and each of the others stands in another direction. */
const SHAKEN: Lines = [
  { 1: 1.8, 3: 0.3, 5: 0.4 },
  { 1: 0.9, 4: 0.3, 7: 0.2 },
  { 1: 0.5, 8: 0.2 },
];

test("many orders that rose together are looseness, whatever of them the structure answers to", () => {
  assert.deepEqual(found(SHAKEN), ["looseness"]);
  // 6x is that of the blades: four orders are too few.
  const fewer = [{ 1: 1.8, 3: 0.3, 5: 0.4, 6: 0.3 }, { 1: 0.9, 4: 0.3, 7: 0.2 }, { 1: 0.5 }];
  assert.deepEqual(found(fewer), ["unbalance"]);
  // Against 1x that rose by far more they are an unbalance's weak harmonics.
  const weak = SHAKEN.map((lines) => ({ ...lines, 1: 3 }));
  assert.deepEqual(found(weak), ["unbalance"]);
  // The same against 2x, which is a misalignment's.
  const second = SHAKEN.map((lines) => ({ ...lines, 1: 0.6, 2: 2.5 }));
  assert.deepEqual(found(second), ["misalignment"]);
  // Before the machine was learned, 1x and 2x may always have been there.
  assert.deepEqual(found(SHAKEN, { reference: null }), []);
});

test("between readings that show a looseness, 2x alone is no misalignment, unless that stood before", () => {
  const second: Lines = [{ 1: 0.6, 2: 2.5, 3: 0.3 }, { 1: 0.6 }, { 1: 0.6, 2: 0.9 }];
  assert.deepEqual(found(second), ["misalignment"]);
  const seen = { fullRpm: (key: string) => (key === "looseness" ? RPM : null) };
  const { verdicts, cannot, judged: keys } = judged(second, seen);
  assert.deepEqual(verdicts, []);
  assert.match(
    cannot.find(({ finding }) => finding === "misalignment")?.text ?? "",
    /last readings/,
  );
  // Its row of readings is interrupted.
  assert.ok(keys.includes("misalignment"));
  const held = judged(second, { ...seen, ...heldAs("misalignment") });
  assert.ok(!held.judged.includes("misalignment"), "what stands stays as it is");
});

test("2x beside twice the mains is told to hide a loose base, too, once it rose", () => {
  const rpm = 2996;
  const reference = learned(0.6, 0.1, 0.1, rpm);
  const reasons = (second: number, third = 0.1) =>
    judge(
      shaftRecord(rpm, [{ 1: 0.6, 2: second, 3: third }, { 1: 0.6 }, { 1: 0.6 }]),
      around(rpm, { reference }),
    )
      .cannot.filter(({ reason }) => reason === "resolution_coarse")
      .map(({ finding }) => finding)
      .filter((finding) => finding === "misalignment" || finding === "looseness");
  assert.deepEqual(reasons(0.1), ["misalignment"]);
  assert.deepEqual(reasons(1.5), ["misalignment", "looseness"]);
});

test("what an unbalance does not exclude is named with it", () => {
  const reasons = (lines: Lines, over: Partial<JudgeInput> = {}) =>
    judged(lines, over)
      .cannot.filter(({ bearing }) => bearing === null)
      .map(({ finding, reason }) => `${finding}: ${reason}`);
  const first: Lines = [{ 1: 2.2 }, { 1: 1 }, { 1: 0.5 }];
  assert.deepEqual(reasons(first), []);
  // Its weak harmonics may be those of a looseness.
  const weak = SHAKEN.map((lines) => ({ ...lines, 1: 3 }));
  assert.deepEqual(reasons(weak), ["looseness: ambiguous"]);
  // 2x that rose with it is another fault's, however little it is beside 1x.
  const paired: Lines = [{ 1: 2.2, 2: 0.2 }, { 1: 1 }, { 1: 0.5 }];
  assert.deepEqual(found(paired), ["unbalance"]);
  assert.deepEqual(reasons(paired), ["misalignment: ambiguous", "looseness: ambiguous"]);
  const stronger: Lines = [{ 1: 2.2, 2: 1 }, { 1: 1 }, { 1: 0.5 }];
  assert.deepEqual(reasons(stronger, heldAs("unbalance")), [
    "misalignment: ambiguous",
    "looseness: ambiguous",
  ]);
  // What stands is not taken back by it.
  assert.deepEqual(found(paired, heldAs("misalignment")), []);
  assert.deepEqual(reasons(paired, heldAs("misalignment")), ["unbalance: ambiguous"]);
});

test("1x beside looseness is told as no unbalance, unless that stood before", () => {
  const first: Lines = [{ 1: 2.2 }, { 1: 1 }, { 1: 0.5 }];
  assert.deepEqual(found(first), ["unbalance"]);
  const { verdicts, cannot } = judged(first, heldAs("looseness"));
  assert.deepEqual(verdicts, []);
  assert.ok(
    cannot.some(({ finding, reason }) => finding === "unbalance" && reason === "ambiguous"),
  );
  assert.deepEqual(found(SHAKEN, heldAs("unbalance")), ["unbalance", "looseness"]);
});

test("a loose base that stands goes on where a reading could be a misalignment's", () => {
  const lines: Lines = [{ 1: 0.5, 2: 1.8, 3: 0.5 }, { 1: 0.5, 2: 1.2, 3: 0.5 }, { 1: 0.5 }];
  const reference = learned(0.6, 0.1, 0.5);
  const { verdicts, cannot } = judged(lines, { reference });
  assert.deepEqual(verdicts, []);
  assert.ok(
    cannot.some(({ finding, reason }) => finding === "looseness" && reason === "ambiguous"),
  );
  assert.deepEqual(found(lines, { reference, ...heldAs("looseness") }), ["looseness"]);
});

test("lines that rose in directions that fit no fault are told with the order, and a look at the axes is asked for", () => {
  const H_AND_A = {
    channel1: { axis: "A" },
    channel2: { axis: "V" },
    channel3: { axis: "H" },
  } as const;
  const exchanged = (lines: Lines, over: Partial<JudgeInput> = {}) => {
    const { tones, ...rest } = shaftRecord(RPM, lines);
    const turned = tones.map((one, i) => ({ ...one, axis: (["A", "V", "H"] as const)[i] ?? "A" }));
    return judge(
      { ...rest, tones: turned },
      around(RPM, { reference: REFERENCE, sensor: { ...SENSOR, channels: H_AND_A }, ...over }),
    );
  };
  const said = ({ verdicts, cannot }: ReturnType<typeof judge>) => {
    assert.deepEqual(verdicts, []);
    return cannot.filter(({ reason }) => reason === "ambiguous");
  };
  // 1x of an unbalance in what the site file calls the axial direction, too little beside it for a name, too much for a bent shaft.
  const lines: Lines = [{ 1: 2.3 }, { 1: 1.3 }, { 1: 0.4 }];
  assert.deepEqual(found(lines), ["unbalance"]);
  const told = said(exchanged(lines));
  assert.deepEqual(
    told.map(({ finding }) => finding),
    ["unbalance", "misalignment", "looseness"],
  );
  assert.match(told[0]?.text ?? "", /^1x rose to 2\.3 mm\/s RMS in axis A, .* Check that the site/);
  // Along the shaft alone, which a bent shaft would show too.
  const alone = said(exchanged([{ 1: 2.3 }, { 1: 0.7 }, { 1: 0.4 }]));
  assert.match(alone[0]?.text ?? "", /bent shaft .* unless the site file exchanges the axes/);
  // Any other order alone is as little silent, also without stated axes.
  const third = judged([{ 3: 2 }, {}, {}], { sensor: { ...SENSOR, channels: {} } });
  assert.match(
    said(third)[0]?.text ?? "",
    /^3x rose to 2\.0 mm\/s RMS in channel 1, .* State the axes/,
  );
  // What stood when the machine was learned, the blades' own order, and what a finding explains need no word.
  assert.deepEqual(said(exchanged([{ 1: 0.7 }, { 1: 0.7 }, { 1: 0.7 }])), []);
  const blades = judged([{ 6: 2 }, {}, {}]);
  const beside = judged([{ 1: 2.3, 3: 1.6 }, {}, {}], heldAs("unbalance"));
  for (const { cannot } of [blades, beside])
    assert.ok(cannot.every(({ text }) => !text.includes("site file")));
});

test("a loose base is seldom named, so 2x that may be one is told before it reaches the level", () => {
  const told = (second: number) =>
    judged([
      { 1: 0.6, 2: second, 3: 0.1 },
      { 1: 0.6, 3: 0.1 },
      { 1: 0.6, 3: 0.1 },
    ]).cannot.filter(({ bearing }) => bearing === null);
  assert.deepEqual(told(0.55), []);
  assert.ok(told(0.9).every(({ text }) => text.includes("a misalignment or a loose base")));
  assert.deepEqual(
    told(0.9).map(({ finding }) => finding),
    ["misalignment", "looseness"],
  );
});

test("orders of the line beside a wrong speed are no bearing's", () => {
  // At a speed taken for 3 % more, BPFI is where 5x is.
  const machine = { ...MACHINE, bearings: [{ point: 1, name: "B", bpfi: 5 / 1.03 }] };
  const lines: Lines = [{ 1: 1.5, 5: 0.8, 10: 0.5 }, { 1: 1.5 }, { 1: 1 }];
  const at = (speedRpm: number, of: Lines) =>
    judge(shaftRecord(RPM, of), around(speedRpm, { reference: REFERENCE, machine })).verdicts;
  assert.deepEqual(at(1.03 * RPM, lines), []);
  const [bearing] = at(RPM, [{ 1: 0.5, 4.86: 0.8, 9.72: 0.5 }, { 1: 0.5 }, { 1: 0.5 }]);
  assert.equal(bearing?.finding, "bearing_inner_race");
});
