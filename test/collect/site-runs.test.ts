/** Two boxes with one site name, told apart from one that starts again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SiteRuns } from "../../src/collect/site-runs.ts";

const MINUTE_MS = 60_000;
const A = "aaaaaaaa";
const B = "bbbbbbbb";

function collected() {
  const runs = new SiteRuns();
  const stats = (run: string, minute: number, sentAt = minute) => {
    const body = { run, time: new Date(sentAt * MINUTE_MS).toISOString() };
    return runs.heard({ type: "boxStats", site: "plant-7", body }, minute * MINUTE_MS);
  };
  const state = (run: string, minute: number, text: string) => {
    const body = { run, state: text, time: new Date(minute * MINUTE_MS).toISOString() };
    return runs.heard({ type: "boxState", site: "plant-7", body }, minute * MINUTE_MS);
  };
  return { stats, state };
}

test("site runs – two that alternate are told at the third message, however long the first one ran before", () => {
  const { stats, state } = collected();
  for (let minute = 0; minute < 60; minute += 1) assert.equal(stats(A, minute), null);
  assert.equal(state(B, 60, "online"), null);
  assert.deepEqual(stats(A, 61), [A, B]);
  assert.deepEqual(stats(B, 62), [B, A]);
});

test("site runs – a box that starts again is one, also with its will behind, delivered twice, or back after ten minutes", () => {
  const { stats, state } = collected();
  stats(A, 0);
  state(B, 1, "online");
  assert.equal(state(A, 2, "offline"), null);
  assert.equal(stats(A, 3, 0), null);
  assert.equal(stats(B, 4), null);
  assert.equal(stats(A, 11), null);
});

test("site runs – what another collector had left of the former run comes between two messages of the new one", () => {
  const { stats, state } = collected();
  assert.equal(state(B, 60, "online"), null);
  assert.equal(stats(A, 61, 59), null);
  assert.equal(stats(B, 62), null);
  assert.equal(stats(B, 63), null);
  // A second box whose clock is behind is told with its next message.
  assert.deepEqual(stats(A, 64, 60), [A, B]);
});
