import assert from "node:assert/strict";
import { test } from "node:test";
import type { Sensor } from "../../../src/core/sensor.ts";
import { firstStartOf } from "../../../src/core/time/first-start.ts";
import { SELECT_ALL } from "../../../src/core/uplink.ts";

const sensor = (code: string, kinds: Sensor["kinds"], more: Partial<Sensor> = {}): Sensor => ({
  code,
  type: 1,
  kinds,
  channels: {},
  ...more,
});
const SITE = {
  site: "s",
  sensors: [
    sensor("1", ["rpm"]),
    sensor("2", ["loop", "accCurrent"]),
    sensor("3", ["rpm"], { enabled: false }),
  ],
};
const UPLINK = {
  name: "main",
  formats: ["json"],
  history: true,
  select: SELECT_ALL,
  sparkplug: null,
  backlogRatePerS: 0,
} as const;

test("first start – counts what enabled sensors send in the previous days and the current one", () => {
  const [week] = firstStartOf(SITE, [UPLINK], 7);
  const perDay = 1440 + 2880 + 96;
  assert.equal(week?.messages, 8 * perDay);
  assert.equal(week.seconds, null);
  assert.ok(week.bytes > week.messages * 500 && week.bytes < week.messages * 1500);
  assert.equal(firstStartOf(SITE, [UPLINK], 0)[0]?.messages, perDay);
});

test("first start – each uplink has its own selection, formats and pace; one without history has none", () => {
  const starts = firstStartOf(
    SITE,
    [
      { ...UPLINK, name: "rpm", select: { ...SELECT_ALL, kinds: ["rpm"] }, backlogRatePerS: 20 },
      {
        ...UPLINK,
        name: "scada",
        formats: ["sparkplug"],
        sparkplug: { group: "g", node: "n", host: null, historyBatch: 256 },
      },
      { ...UPLINK, name: "live", history: false },
      { ...UPLINK, name: "plain", formats: ["plain"] },
    ],
    0,
  );
  assert.deepEqual(
    starts.map(({ uplink, messages, seconds }) => [uplink, messages, seconds]),
    [
      ["rpm", 1440, 72],
      ["scada", Math.ceil((1440 + 2880 + 96) / 256), null],
    ],
  );
});
