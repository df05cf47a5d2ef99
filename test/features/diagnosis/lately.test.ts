import assert from "node:assert/strict";
import { test } from "node:test";
import { engineOf, type Record, recordOf, shaftRecord } from "./support.ts";

const RPM = 1480;
const NORMAL = [
  { 1: 0.8, 2: 0.2 },
  { 1: 0.6, 2: 0.15 },
  { 1: 0.3, 2: 0.1 },
];
/** 1x rose, and 2x by a third of it: which fault, these lines do not tell. */
const UNTOLD = [
  { 1: 2.8, 2: 0.9 },
  { 1: 0.6, 2: 0.15 },
  { 1: 0.3, 2: 0.1 },
];
const usual = () => shaftRecord(RPM, NORMAL);
const untold = () => shaftRecord(RPM, UNTOLD);
/** Lines at another speed than the measured one, or none at all. */
const elsewhere = () => ({ ...shaftRecord(1430, NORMAL), speedRpm: RPM });
const quiet = () => shaftRecord(RPM, [{}, {}, {}]);

/** A machine that was learned; gives what each further reading could not tell of a fault. */
function machine(finding: string) {
  const { engine, follow, world } = engineOf();
  let hour = 0;
  const read = (record: Record) => {
    follow(record, ++hour);
    // Of every part without damage, that nothing deep enough is seen.
    const cannot = (engine.of("10234").seen?.cannot ?? []).filter(
      ({ reason }) => reason !== "below_depth",
    );
    return cannot.filter((one) => one.finding === finding || one.finding === null);
  };
  for (let n = 0; n < 12; n++) read(usual());
  return { read, engine, world };
}

test("a fault that two of the last readings show is told with its lines, until it is a finding or forgotten", () => {
  const fault = (n: number) => recordOf({ fault: "outer_race", severity: 0.3 }, n);
  const { read, engine } = machine("bearing_outer_race");
  assert.deepEqual(read(fault(1)), []);
  assert.deepEqual(read(recordOf({}, 2)), []);
  const [told, ...more] = read(fault(3));
  assert.deepEqual(more, []);
  assert.equal(told?.reason, "seldom_seen");
  assert.equal(told?.bearing, "6205");
  assert.match(
    told?.text ?? "",
    /^2 of the last 8 readings show it, the newest of them by BPFO \(/,
  );
  assert.match(told?.text ?? "", /5 are a finding\.$/);
  // Also with a reading that does not show it.
  assert.equal(read(recordOf({}, 4))[0]?.reason, "seldom_seen");
  for (let n = 5; n <= 7; n++) read(fault(n));
  assert.ok(engine.of("10234").states.get("bearing_outer_race/6205")?.stands);
  assert.deepEqual(read(fault(8)), []);
  const other = machine("bearing_outer_race");
  other.read(fault(1));
  other.read(fault(2));
  for (let n = 3; n <= 9; n++) other.read(recordOf({}, n));
  assert.deepEqual(other.read(recordOf({}, 10)), []);
});

test("what lines could not tell in two of the last eight readings is said in those between", () => {
  const { read } = machine("misalignment");
  assert.equal(read(untold())[0]?.reason, "ambiguous");
  assert.deepEqual(read(usual()), []);
  assert.match(read(untold())[0]?.text ?? "", /^1x rose, and 2x with it/);
  for (let n = 0; n < 5; n++) {
    const [still, ...more] = read(usual());
    assert.deepEqual(more, []);
    assert.equal(still?.reason, "ambiguous");
    assert.match(still?.text ?? "", /^2 of the last 8 readings say: 1x rose, and 2x with it/);
  }
  assert.deepEqual(read(usual()), []);
});

test("a doubtful speed stays doubtful in readings without a line of the shaft, not where one fits it", () => {
  const { read } = machine("blade_pass");
  for (let n = 0; n < 2; n++) assert.equal(read(elsewhere())[0]?.reason, "speed_doubtful");
  assert.match(read(quiet())[0]?.text ?? "", /^2 of the last 8 readings say: No line stands at/);
  assert.deepEqual(read(usual()), []);
  assert.match(read(quiet())[0]?.text ?? "", /^2 of the last 8/);
});

test("readings that overloaded the sensor are remembered beside those that show nothing; a standing machine changes nothing", () => {
  const { read, world } = machine("unbalance");
  const loud = () => {
    const record = usual();
    return { ...record, tones: record.tones.map((axis) => ({ ...axis, isClipped: true })) };
  };
  for (let n = 0; n < 2; n++) assert.equal(read(loud())[0]?.reason, "overloaded");
  assert.match(read(usual())[0]?.text ?? "", /^2 of the last 8 readings say: The sensor was over/);
  world.state = "standing";
  for (let n = 0; n < 9; n++) {
    assert.deepEqual(
      read(usual()).map(({ reason }) => reason),
      ["machine_standing"],
    );
  }
  world.state = null;
  assert.match(read(usual())[0]?.text ?? "", /^2 of the last 8 readings say: The sensor was over/);
});
