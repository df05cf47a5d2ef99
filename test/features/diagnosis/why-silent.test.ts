/** Why a bearing's part is not named: nothing passes without a word. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FindingKind } from "../../../src/core/diagnosis/finding.ts";
import { judge } from "../../../src/features/diagnosis/rules/judge.ts";
import type { Reference } from "../../../src/features/diagnosis/rules/reference.ts";
import {
  around,
  type DrawnLine,
  engineOf,
  normalState,
  recordOf,
  SENSOR,
  toneList,
} from "./support.ts";

const SHAFT_HZ = 1480 / 60;
const BPFO = 3.5848;

/** What is said of a part of the bearing, of a record with these lines in its whitened envelope. */
function saidOf(
  finding: FindingKind,
  white: readonly DrawnLine[],
  { env = 0.01, reference = null }: { env?: number; reference?: Reference | null } = {},
) {
  const listOf = (lines: readonly DrawnLine[]) => toneList(SHAFT_HZ, 0.5, lines);
  const tones = { accel: listOf([[1, 0.01, 20]]), envelope: listOf([]), white: listOf(white) };
  const { cannot } = judge(
    {
      tones: [{ channel: 1, axis: "H", durationS: 2, isClipped: false, tones }],
      values: { channel1_vel_rms: 0.5, channel1_env_rms: env },
    },
    around(1480, { reference }),
  );
  return cannot.filter((one) => one.finding === finding && one.bearing === "6205");
}

test("a part without lines deep enough says from which depth it would be told, and which is seen", () => {
  const [none] = saidOf("bearing_outer_race", []);
  assert.equal(none?.reason, "below_depth");
  assert.match(none?.text ?? "", /^BPFO: .* depth of 9 % .*; seen none \(0 %\)\.$/);
  const [faint] = saidOf("bearing_outer_race", [[BPFO, 0.03, 6]]);
  assert.match(faint?.text ?? "", /9 % .*; seen 2\.1 %\.$/);
  assert.deepEqual([faint?.depth, faint?.depthLimit], [2.1, 9]);
  const [cage] = saidOf("cage", []);
  assert.equal(cage?.depthLimit, 25);
});

test("a deep line that is no series says so", () => {
  const [alone] = saidOf("bearing_outer_race", [[BPFO, 0.2, 12]]);
  assert.equal(alone?.reason, "ambiguous");
  assert.match(alone?.text ?? "", /88\.4 Hz has 14 %, but too few harmonics/);
});

test("an envelope ten times the learned one, without lines of a part, is the bearing's or its lubrication's", () => {
  const levels = { "1:1": 0.5, "1:0": 0.02 };
  const reference = { speeds: [{ rpm: 1480, readings: 20, first: levels, highest: levels }] };
  const [risen] = saidOf("bearing_outer_race", [], { env: 0.24, reference });
  assert.equal(risen?.reason, "envelope_risen");
  assert.match(risen?.text ?? "", /12 times the learned one \(0\.24 GE, learned up to 0\.020\)/);
  assert.equal(
    saidOf("bearing_outer_race", [], { env: 0.15, reference })[0]?.reason,
    "below_depth",
  );
  assert.equal(saidOf("bearing_outer_race", [], { env: 0.24 })[0]?.reason, "below_depth");
});

test("the level of the envelope is learned with the orders", () => {
  const { engine, follow } = engineOf();
  for (let n = 1; n <= 12; n++) follow(recordOf({}, n), n);
  const [state] = engine.of(SENSOR.code).reference?.speeds ?? [];
  assert.ok((state?.highest["1:0"] ?? 0) > 0);
});

test("what the last readings showed is said rather than that the newest shows nothing", () => {
  const { engine, follow } = engineOf();
  for (let n = 1; n <= 2; n++) follow(recordOf({ fault: "outer_race", severity: 0.3 }, n), n);
  follow(recordOf({}, 3), 3);
  const said = (engine.of(SENSOR.code).seen?.cannot ?? []).filter(
    ({ finding }) => finding === "bearing_outer_race",
  );
  assert.deepEqual(
    said.map(({ reason }) => reason),
    ["seldom_seen"],
  );
});

for (const [finding, severity, said, numbers] of [
  [
    "blade_pass",
    0.2,
    /^6x at 147\.8 Hz \(axis V\) .* 0\.75 mm\/s RMS \(learned up to 0\.25\): .* 1\.4 mm\/s/,
    [0.77, 1.4],
  ],
  [
    "gear_mesh",
    0.15,
    /^23x \(mesh\) .* 0\.62 mm\/s .* its side bands at 0\.4 \(0\.041\): .* 0\.98 mm\/s/,
    [0.75, 0.98],
  ],
] as const) {
  const at = (share: number) => {
    const record = recordOf({ fault: finding, severity: share }, 3);
    return [record, around(record.speedRpm, { reference: normalState() })] as const;
  };
  const saidOfIt = (share: number) =>
    judge(...at(share)).cannot.filter((one) => one.finding === finding);

  test(`a line of ${finding} that rose and is too weak to be told says from which level it would be`, () => {
    const [one, ...more] = saidOfIt(severity);
    assert.deepEqual(more, []);
    assert.equal(one?.reason, "below_level");
    assert.match(one?.text ?? "", said);
    assert.deepEqual([one?.level, one?.levelLimit], numbers);
    assert.deepEqual(saidOfIt(0), [], "of a healthy machine");
    assert.deepEqual(saidOfIt(0.6), [], "of one that is told");
    const [record] = at(severity);
    const unlearned = judge(record, around(record.speedRpm)).cannot;
    assert.ok(
      unlearned.every(({ reason }) => reason !== "below_level"),
      "rose from nothing known",
    );
  });
}

test("a line of blades below its level in two of eight readings is said in those between, and once", () => {
  const { engine, follow } = engineOf();
  let hour = 0;
  const read = (severity: number) => {
    follow(recordOf({ fault: "blade_pass", severity }, ++hour), hour);
    const cannot = engine.of("10234").seen?.cannot ?? [];
    return cannot.filter((one) => one.finding === "blade_pass").map(({ text }) => text);
  };
  for (let n = 0; n < 12; n++) read(0);
  const said = [read(0.2), read(0), read(0.2), read(0)];
  assert.deepEqual(
    said.map((texts) => texts.map((text) => text.startsWith("2 of the last 8 readings say: 6x"))),
    [[false], [], [false], [true]],
  );
});
