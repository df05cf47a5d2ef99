/** Transitions of alarms, each in its turn: which message tells the host of it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AlarmSource, AlarmStand } from "../../../src/features/sparkplug/alarms.ts";
import { skipWithoutMosquitto } from "../../support/mosquitto.ts";
import { MOTOR, metric, PUMP, TestSite } from "./site.ts";

const skip = skipWithoutMosquitto;
const NAMES = [{ alarm: "pressure", value: "channel1" }];

/** Alarms by hand: `change` is a transition of a sensor's alarm. */
class Alarms implements AlarmSource {
  readonly #active = new Map<string, AlarmStand>();
  #listener: (sensor: string, stand: AlarmStand) => void = () => {};
  watched = () => NAMES;
  active = (sensor: string) => [...this.#active].flatMap(([of, one]) => (of === sensor ? one : []));
  normalMs = () => 1;
  onChange(listener: (sensor: string, stand: AlarmStand) => void) {
    this.#listener = listener;
    return () => {
      this.#listener = () => {};
    };
  }

  change(sensor: string, stand: AlarmStand): void {
    this.#active.set(sensor, stand);
    this.#listener(sensor, stand);
  }
}

test("sparkplug – an alarm's transitions are sent one by one; where a device is not born, its birth will tell", {
  skip,
}, async (t) => {
  const alarms = new Alarms();
  const site = await TestSite.open(t);
  site.states.set(MOTOR.code, { state: "silent", lastReadingMs: 1 });
  site.run(site.node({}, { alarms }));
  await site.until((m) => m.length === 2);
  assert.deepEqual(site.verbs(), ["NBIRTH", `DBIRTH ${PUMP.code}`]);
  const born = metric(site.seen[1], "alarm/pressure/channel1");
  assert.deepEqual([born?.stringValue, Number(born?.timestamp)], ["normal", 1]);

  const stand = { alarm: "pressure", value: "channel1", timeMs: 1000 } as const;
  alarms.change(MOTOR.code, { ...stand, severity: "alarm" });
  alarms.change(PUMP.code, { ...stand, severity: "warning" });
  alarms.change(PUMP.code, { ...stand, severity: "alarm", timeMs: 2000 });
  // Its rule is new: no birth has announced it.
  alarms.change(PUMP.code, { ...stand, alarm: "wire", severity: "warning" });
  await site.until((m) => m.length >= 5);
  assert.deepEqual(site.verbs().slice(2), [
    `DDATA ${PUMP.code}`,
    `DDATA ${PUMP.code}`,
    `DBIRTH ${PUMP.code}`,
  ]);
  const told = site.seen.slice(2, 4).map((m) => metric(m, "alarm/pressure/channel1"));
  assert.deepEqual(
    told.map((m) => [m?.stringValue, Number(m?.timestamp)]),
    [
      ["warning", 1000],
      ["alarm", 2000],
    ],
  );
  assert.equal(metric(site.seen[4], "alarm/wire/channel1")?.stringValue, "warning");

  site.append(site.reading({ channel1: 1 }, { sensor: MOTOR.code, kind: "accel" }));
  await site.until((m) => m.some(({ device }) => device === MOTOR.code));
  const motor = site.of("DBIRTH", MOTOR.code)[0];
  assert.equal(metric(motor, "alarm/pressure/channel1")?.stringValue, "alarm");
});
