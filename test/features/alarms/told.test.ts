import assert from "node:assert/strict";
import { test } from "node:test";
import { type AlarmEvent, eventPayload, eventText } from "../../../src/core/alarm/event.ts";
import { activePayloads } from "../../../src/features/alarms/active-payloads.ts";
import { FollowingEngine } from "../../support/following-engine.ts";
import { Transactions } from "../../support/tx.ts";
import { Disk, engineOf, feed, MINUTE, PRESSURE, pressures, siteWith, T0 } from "./support.ts";

const SITE = siteWith([PRESSURE]);

test("alarm told – later readings, a restart and an acknowledgement leave the retained topic as its newest event", () => {
  const tx = new Transactions();
  const disk = new Disk();
  const engine = engineOf(SITE);
  const isTold = (event: AlarmEvent | undefined) => {
    assert.ok(event);
    const told = eventPayload(event.id, SITE.site, eventText(event));
    const restarted = new FollowingEngine(SITE);
    restarted.load(disk.saved());
    for (const one of [engine, restarted])
      assert.deepEqual(
        activePayloads(one, () => true),
        [told],
      );
  };
  const events = feed(engine, pressures([8.5, 8.6, 8.8]), disk);
  isTold(events.at(-1));
  const alarm = engine.find(events.at(-1)?.id ?? "");
  assert.ok(alarm);
  const acknowledged = { by: "Ann", timeMs: T0 + 5 * MINUTE, note: "valve" };
  const next = { acknowledged, shelved: null, note: null };
  const up = engine.change(tx.now, alarm, next, "acknowledge", T0 + 5 * MINUTE, "Ann");
  disk.write(up);
  tx.commit();
  assert.equal(feed(engine, pressures([8.7], T0 + 6 * MINUTE), disk).length, 0);
  isTold(up.events.at(-1));
});
