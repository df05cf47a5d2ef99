import assert from "node:assert/strict";
import { test } from "node:test";
import { type ShownAlarm, shownTime } from "../../src/core/alarm/shown.ts";

test("alarms – a row of the list shows since when it stands, one of the history when its event happened", () => {
  const [since, raised, time] = ["2026-11-20T08:00:00.000Z", "2026-11-20T09:00:00.000Z", "now"];
  const alarm = { since, raised, time } as ShownAlarm;
  assert.equal(shownTime(alarm, false), since);
  assert.equal(shownTime(alarm, true), time);
  assert.equal(shownTime({ raised } as ShownAlarm, true), raised);
});
