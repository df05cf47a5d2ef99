import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { AlarmEvent } from "../../../src/core/alarm/event.ts";
import type { FollowedReading } from "../../../src/core/followed-reading.ts";
import { FindingEngine } from "../../../src/features/diagnosis/rules/engine.ts";
import { Wait } from "../../../src/features/machines/rules/wait.ts";
import { WaitRowsInMemory } from "../../../src/features/machines/rules/wait-rows.ts";
import { Transactions } from "../../support/tx.ts";
import { MACHINE, readingOf, recordOf, siteOf } from "./support.ts";

const tx = new Transactions();

const MINUTE = 60_000;
const HOURS = 20;
const END_MS = 86_400_000;
const SITE = siteOf({
  ...MACHINE,
  running: { sensor: "50021", kind: "rpm", value: "rpm", above: 300 },
});
const DAMAGED = Array.from({ length: HOURS }, (_, n) =>
  recordOf({ fault: "outer_race", severity: 0.3 }, n),
);
const HEALTHY = Array.from({ length: HOURS }, (_, n) => recordOf({}, n));

/** What happens in each hour: the machine stands or turns, and its bearing is damaged or not. */
const life = fc.array(
  fc.record({ stands: fc.nat(5).map((n) => n === 0), isDamaged: fc.nat(5).map((n) => n > 0) }),
  { minLength: HOURS, maxLength: HOURS },
);
/** Which sensor's readings come next and how many at once, and after which the process is restarted. */
const arrival = fc.array(
  fc.record({ isSpeed: fc.boolean(), count: fc.integer({ min: 1, max: 6 }), restarts: fc.nat(9) }),
  { maxLength: 40 },
);

type Life = typeof life extends fc.Arbitrary<infer T> ? T : never;
type Arrival = typeof arrival extends fc.Arbitrary<infer T> ? T : never;

function speedReading(timeMs: number, rpm: number): FollowedReading {
  const id = timeMs.toString(16).padStart(32, "0");
  return { id, timeMs, isFuture: false, values: { rpm }, quality: {}, tones: null };
}

function eventsOf(lived: Life, how: Arrival): AlarmEvent[] {
  const left = {
    accel: lived.map(({ isDamaged }, n) => {
      const record = (isDamaged ? DAMAGED : HEALTHY)[n];
      assert.ok(record !== undefined);
      return readingOf(record, n + 1);
    }),
    rpm: lived.map(({ stands }, n) =>
      speedReading((n + 1) * 60 * MINUTE - MINUTE, stands ? 0 : (DAMAGED[n]?.speedRpm ?? 1480)),
    ),
  };
  const rows = new WaitRowsInMemory();
  const saved = new Map<string, string | null>();
  const speeds: FollowedReading[] = [];
  const heard: FollowedReading[] = [];
  const open = () => {
    const wait = new Wait(SITE, { rows });
    wait.load();
    const points = speeds.map(({ timeMs, values }) => ({ timeMs, value: values["rpm"] as number }));
    for (const signal of wait.signals) wait.prime(signal, points, 0);
    const engine = new FindingEngine(SITE, { wait });
    for (const [sensor, text] of saved) if (text !== null) engine.restore({ sensor, text });
    const newest = heard.at(-1);
    if (newest !== undefined) engine.prime("10234", newest.timeMs);
    return { wait, engine };
  };
  let { wait, engine } = open();
  const events: AlarmEvent[] = [];
  const take = (up: ReturnType<FindingEngine["judgeDue"]>) => {
    events.push(...up.events);
    for (const { sensor, text } of up.states) saved.set(sensor, text);
    tx.commit();
  };
  for (let turn = 0; left.accel.length + left.rpm.length > 0; turn++) {
    const { isSpeed, count, restarts } = how[turn] ?? {
      isSpeed: turn % 2 === 0,
      count: 3,
      restarts: 1,
    };
    const kind = isSpeed ? "rpm" : "accel";
    const list = left[kind].splice(0, count);
    const newest = list.at(-1);
    if (newest === undefined) continue;
    const read = { day: "1970-01-01", atMs: newest.timeMs };
    const sensor = isSpeed ? "50021" : "10234";
    wait.note(tx.now, sensor, kind, list, read);
    take(engine.follow(tx.now, sensor, kind, list));
    (isSpeed ? speeds : heard).push(...list);
    if (restarts === 0) ({ wait, engine } = open());
  }
  wait.noteRead("50021", "rpm", { day: "1970-01-01", atMs: END_MS });
  while (wait.releases()) take(engine.judgeDue(tx.now));
  assert.deepEqual(rows.all(), []);
  return events.map((event) => ({ ...event, sinceMs: 0 }));
}

test("findings – the order in which sensors are read, and restarts, change no event", () => {
  let told = 0;
  fc.assert(
    fc.property(life, arrival, arrival, (lived, one, other) => {
      const events = eventsOf(lived, one);
      told += events.length;
      assert.deepEqual(eventsOf(lived, other), events);
      assert.equal(new Set(events.map(({ id }) => id)).size, events.length);
    }),
    { numRuns: 25 },
  );
  assert.equal(told > 0, true, "no finding was ever told");
});
