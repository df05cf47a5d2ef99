import assert from "node:assert/strict";
import { test } from "node:test";
import {
  changeLines,
  changesOf,
  hasChanges,
  SAME_SITE,
  uplinksDifference,
} from "../../../src/core/configuration/configuration.ts";
import {
  canonicalJson,
  siteDifference,
  withUnchanged,
} from "../../../src/core/configuration/site-difference.ts";
import type { Sensor } from "../../../src/core/sensor.ts";
import type { Site } from "../../../src/core/site.ts";
import { FollowingEngine } from "../../support/following-engine.ts";

const sensor = (code: string, more: Partial<Sensor> = {}): Sensor => ({
  code,
  type: 3,
  kinds: ["loop"],
  channels: { channel1: { unit: "bar", low: 0, high: 10 } },
  ...more,
});
const rule = { name: "hot", select: { values: ["channel1"] }, high: 5 };
const site: Site = {
  site: "plant",
  sensors: [sensor("1"), sensor("2"), sensor("3")],
  machines: [{ id: 1 }],
  alarms: [rule],
};
/** As if read from a file. */
const read = (changes: Partial<Site>): Site => JSON.parse(JSON.stringify({ ...site, ...changes }));

test("site difference – what is unchanged stays the same object, wherever it stands; anything else is the new one", () => {
  const [first, second, third] = site.sensors;
  const moved = { channel1: { high: 10, low: 0, unit: "bar" } };
  const changed = { channel1: { unit: "bar", low: 0, high: 11 } };
  const next = read({
    sensors: [sensor("3", { channels: moved }), sensor("2", { channels: changed }), sensor("1")],
  });
  const after = withUnchanged(site, next);
  assert.deepEqual(after, next);
  assert.equal(after.sensors[0], third);
  assert.equal(after.sensors[2], first);
  assert.notEqual(after.sensors[1], second);
  assert.equal(after.machines, site.machines);
  assert.equal(after.alarms, site.alarms);
  const alarms = [{ ...rule, high: 6 }];
  assert.deepEqual(withUnchanged(site, read({ alarms })).alarms, alarms);
  const { machines: _machines, ...without } = read({});
  assert.equal(withUnchanged<Site>(site, without).machines, undefined);
  assert.deepEqual(siteDifference(site, after), siteDifference(site, next));
  // A member more or less is a difference, too.
  for (const more of [{ name: "Pump" }, { enabled: false }]) {
    const named = read({ sensors: [sensor("1", more)] });
    assert.deepEqual(withUnchanged(site, named), named);
    assert.deepEqual(withUnchanged(named, read({})), read({}));
  }
});

test("site difference – another order of sensors or uplinks is a difference, because the id of the configuration tells it; a new or removed one between the others is no other order", () => {
  const [first, second, third] = site.sensors as [Sensor, Sensor, Sensor];
  const fields = (...sensors: Sensor[]) => siteDifference(site, { ...site, sensors }).fields;
  assert.deepEqual(fields(first, third, second), ["sensor order"]);
  assert.deepEqual(fields(sensor("4"), first, third), []);
  const uplinks = (...names: string[]) => names.map((name) => ({ name }));
  const lines = (before: string[], after: string[]) => {
    const changes = changesOf(SAME_SITE, uplinksDifference(uplinks(...before), uplinks(...after)));
    return hasChanges(changes) ? changeLines(changes) : null;
  };
  assert.deepEqual(lines(["a", "b"], ["b", "a"]), ["uplink a changes: order"]);
  // Those that others merely pushed on are not named.
  assert.deepEqual(lines(["a", "b", "c", "d"], ["b", "c", "d", "a"]), ["uplink a changes: order"]);
  assert.deepEqual(lines(["a", "b", "c", "d"], ["e", "d", "b", "c"]), [
    "uplink e is added",
    "uplink a is removed; its undelivered readings are dropped",
    "uplink d changes: order",
  ]);
  assert.deepEqual(lines(["a", "b"], ["c", "a", "b"]), ["uplink c is added"]);
  assert.equal(lines(["a", "b"], ["a", "b"]), null);
});

test("site difference – known texts make the same canonical JSON", () => {
  const texts = new WeakMap(site.sensors.map((one) => [one, canonicalJson(one)]));
  assert.equal(canonicalJson(site, texts), canonicalJson(read({})));
});

test("alarm engine – a reload watches unchanged sensors by the new rules, and only they are compiled anew", () => {
  const engine = new FollowingEngine(site);
  const [before] = engine.watches("1");
  engine.setSite(withUnchanged(site, read({ sensors: [...site.sensors, sensor("4")] })));
  assert.equal(engine.watches("1")[0], before);
  assert.equal(engine.watches("4").length, 1);
  engine.setSite(withUnchanged(engine.site, read({ alarms: [{ ...rule, high: 6 }] })));
  const [after] = engine.watches("1");
  assert.deepEqual(after?.test, { type: "limits", limits: { high: 6 }, hysteresis: 0 });
  // Who was in a sensor's place may follow from the entries of others.
  const replacing = read({ sensors: [sensor("1", { replaces: ["2"] }), sensor("2")] });
  const longer = read({
    sensors: [sensor("1", { replaces: ["2"] }), sensor("2", { replaces: ["9"] })],
    alarms: [{ ...rule, select: { sensors: ["9"], values: ["channel1"] } }],
  });
  engine.setSite({ ...replacing, alarms: longer.alarms ?? [] });
  assert.equal(engine.watches("1").length, 0);
  engine.setSite(withUnchanged(engine.site, longer));
  assert.equal(engine.watches("1").length, 1);
});
