import assert from "node:assert/strict";
import { test } from "node:test";
import { drawFlood, drawSeed } from "../../scripts/virtual/draw.ts";
import { HAPPENINGS } from "../../scripts/virtual/happenings.ts";
import { trialsIn } from "../support/virtual-trials.ts";

test("virtual trial – the same seed gives the same journal to the byte, with crashes, and nothing is lost or doubled", async (t) => {
  const run = await trialsIn(t);
  const drawn = drawSeed(3, 0.25, new Set(HAPPENINGS));
  const first = await run(drawn);
  assert.deepEqual(first.failures, []);
  assert.ok(first.received > 100, `${first.received} readings`);
  assert.ok(first.starts > 1, "the agent was never killed");
  const second = await run(drawn);
  assert.equal(second.digest, first.digest);
});

test("virtual trial – a first start over three uplinks, on a disk that others fill, gives up nothing that an uplink delivers", async (t) => {
  const run = await trialsIn(t);
  const full = { name: "disk fault", what: "full", forMs: 900_000 } as const;
  const plan = [{ atMs: 3_000, what: full }];
  const { failures, received } = await run({ ...drawFlood(1, 0.4), sensors: 3, plan });
  assert.deepEqual(failures, []);
  assert.ok(received > 2_000, `${received} readings`);
});

test("virtual trial – the box's clock is set back two hours: everything holds, the uptime too", async (t) => {
  const run = await trialsIn(t);
  const back = { name: "box clock set", offsetMs: -7_200_000 } as const;
  const plan = [{ atMs: 300_000, what: back }];
  const { failures } = await run({ ...drawSeed(4, 0.2, new Set()), plan });
  assert.deepEqual(failures, []);
});

test("virtual trial – a reload that is requested while the agent is being opened is made once it is open", async (t) => {
  const run = await trialsIn(t);
  const changes = ["removed", "removed"] as const;
  const killed = { name: "agent killed", at: "now", n: 1, forMs: 1_200_000 } as const;
  const plan = [
    { atMs: 60_000, what: { name: "site file changed", changes, draw: 1 } as const },
    { atMs: 120_000, what: killed },
  ];
  const { failures } = await run({ ...drawSeed(4, 0.2, new Set()), plan });
  assert.deepEqual(failures, []);
});

test("virtual trial – a signed site file has one outcome, also where the agent is killed while a file is put in its place", async (t) => {
  const run = await trialsIn(t);
  const document = { name: "document sent", change: "renamed", damage: null } as const;
  const killed = { name: "agent killed", forMs: 10_000 } as const;
  const plan = [
    { atMs: 120_000, what: { ...killed, at: "before rename", n: 2 } as const },
    { atMs: 120_000, what: { ...document, draw: 1 } },
    { atMs: 240_000, what: { ...killed, at: "after rename", n: 2 } as const },
    { atMs: 240_000, what: { ...document, draw: 2 } },
  ];
  const { failures, starts } = await run({ ...drawSeed(4, 0.25, new Set()), plan });
  assert.deepEqual(failures, []);
  assert.equal(starts, 3);
});
