import assert from "node:assert/strict";
import { test } from "node:test";
import { backlogOf } from "../../../src/core/delivery/backlog.ts";

test("backlog – is empty if no lane has pending entries", () => {
  assert.deepEqual(backlogOf({}), { readings: 0, oldestTimeMs: null });
  const json = { readings: 0, oldestTimeMs: null };
  assert.deepEqual(backlogOf({ json }), { readings: 0, oldestTimeMs: null });
});

test("backlog – is that of the longest lane and as old as the oldest reading in any, ignoring waveforms", () => {
  const lanes = {
    json: { readings: 2, oldestTimeMs: 5_000 },
    sparkplug: { readings: 7, oldestTimeMs: 4_000 },
    waveform: { readings: 90, oldestTimeMs: 1_000 },
    sparkplugWaveform: { readings: 80, oldestTimeMs: 500 },
  };
  assert.deepEqual(backlogOf(lanes), { readings: 7, oldestTimeMs: 4_000 });
});
