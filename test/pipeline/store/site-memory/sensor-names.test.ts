import assert from "node:assert/strict";
import { test } from "node:test";
import type { Sensor } from "../../../../src/core/sensor.ts";
import { ReplaceableSite } from "../../../../src/core/site-source.ts";
import { silentLogger } from "../../../../src/lib/logger.ts";
import { keepSensorNames } from "../../../../src/pipeline/store/site-memory/sensor-names.ts";

const names = { company: "Acme", area: "Boiler house", machine: "Pump 4", point: "DE bearing" };
const sensor = (code: string, more: Partial<Sensor> = {}): Sensor => ({
  code,
  type: 40,
  kinds: ["rpm"],
  channels: {},
  ...more,
});
const located = sensor("b", { location: { company: 1, area: 2, machine: 3, point: 4, names } });

test("sensor names – a removed sensor keeps its last one, over restarts and until it comes back with another", () => {
  const kept = new Map<string, string>();
  let writes = 0;
  const memory = {
    get: (name: string) => kept.get(name) ?? null,
    set: (name: string, value: string) => {
      writes += 1;
      kept.set(name, value);
    },
  };
  const site = new ReplaceableSite({ site: "p", sensors: [sensor("a", { name: "Fan" }), located] });
  const open = () => keepSensorNames({ site, memory, logger: silentLogger });
  const nameOf = open();
  assert.deepEqual([nameOf("a"), nameOf("b"), nameOf("c")], ["Fan", "Pump 4 DE bearing", null]);
  site.replace({ site: "p", sensors: [sensor("c")] });
  assert.deepEqual([nameOf("a"), nameOf("b"), nameOf("c")], ["Fan", "Pump 4 DE bearing", null]);
  const again = open();
  assert.equal(again("a"), "Fan");
  assert.equal(writes, 1, "what has not changed is not written");
  site.replace({ site: "p", sensors: [sensor("a", { name: "Blower" })] });
  assert.equal(again("a"), "Blower");
});
