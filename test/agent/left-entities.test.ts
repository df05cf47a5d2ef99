import assert from "node:assert/strict";
import { test } from "node:test";
import { announcedKey, LeftEntities, machinesKey } from "../../src/agent/left-entities.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";

const RECORDED: Readonly<Record<string, string>> = {
  announced_at: JSON.stringify({ hall: ["mqtt://broker.example:1883"] }),
  [announcedKey("hall")]: JSON.stringify({
    "10234": {
      state: [],
      descriptions: ["homeassistant/sensor/a/config"],
      readings: [],
      kinds: [],
    },
  }),
  [machinesKey("hall")]: JSON.stringify({ "40": ["homeassistant/sensor/b/config"] }),
};

test("left entities – whatever one damaged byte makes of what was recorded, the agent starts", () => {
  for (const name of Object.keys(RECORDED))
    for (let at = 0; at < Buffer.byteLength(RECORDED[name] ?? ""); at += 1)
      for (const bit of [1, 2, 4, 8, 16, 32, 64]) {
        const damaged = Buffer.from(RECORDED[name] ?? "");
        damaged[at] = (damaged[at] ?? 0) ^ bit;
        const rows = new Map(Object.entries({ ...RECORDED, [name]: damaged.toString() }));
        const meta = {
          get: (key: string) => rows.get(key) ?? null,
          keep: () => Promise.resolve(),
        };
        const parts = { clock: systemClock, logger: silentLogger, store: { meta } };
        assert.doesNotThrow(() => new LeftEntities(parts).open([]), damaged.toString());
      }
});
