import assert from "node:assert/strict";
import { test } from "node:test";
import type { Kind } from "../../../src/core/sensor.ts";
import { fixedSite, type SiteSource } from "../../../src/core/site-source.ts";
import type { StoredReading } from "../../../src/core/stored-reading.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { createGatesideProfile } from "../../../src/pipeline/publish/formats/gateside.ts";
import { RetainedCheck } from "../../../src/pipeline/publish/retained-check.ts";
import { FakeLink, turnsOver } from "../../support/fake-link.ts";
import { LOOP, loopReading, options, SITE, TIME } from "./formats/profiles.ts";

const MARKER = "gateside/plant-7/agent/state";

function start(
  given: {
    readonly mark?: number | null;
    readonly newest?: StoredReading | null;
    readonly isNew?: boolean;
    readonly kind?: Kind;
    readonly site?: SiteSource;
  } = {},
) {
  const { mark = TIME, newest = loopReading(), kind: own = "loop", site = SITE } = given;
  const state = { mark };
  const link = new FakeLink();
  const check = new RetainedCheck({
    link,
    turns: turnsOver(link),
    profile: createGatesideProfile({ waveforms: { read: () => null } }, options()),
    site,
    logger: silentLogger,
    newest: (sensor, kind) => (sensor === LOOP.code && kind === own ? newest : null),
    liveMark: (format, sensor) => (format === "json" && sensor === LOOP.code ? state.mark : null),
    isNew: () => given.isNew ?? false,
  });
  return { link, check, state };
}

test("retained – a broker without our own state has lost everything: live topics are sent again, once", async () => {
  const { link, check } = start();
  check.begin();
  await check.look(true);
  assert.deepEqual(
    link.messages.map(({ topic, retain }) => [topic, retain]),
    [["gateside/plant-7/30007/loop", true]],
  );
  await check.look(true);
  assert.equal(link.messages.length, 1);
});

test("retained – the state of a node, which may not change for a day, is sent again too", async () => {
  const stateReads = [{ operation: "getState", fields: { battery: { from: "B", unit: "V" } } }];
  const { link, check } = start({
    kind: "node",
    newest: loopReading({ kind: "node" }),
    site: fixedSite({ site: "plant-7", sensors: [{ ...LOOP, stateReads }] }),
  });
  check.begin();
  await check.look(true);
  assert.deepEqual(
    link.messages.map(({ topic, retain }) => [topic, retain]),
    [["gateside/plant-7/30007/node", true]],
  );
});

test("retained – an uplink that begins with its first new reading sends nothing older in its first session", async () => {
  const { link, check } = start({ isNew: true });
  assert.equal(check.begin(), null);
  await check.look(true);
  assert.deepEqual(link.messages, []);
});

test("retained – if our state is still there nothing is sent; the next session is checked anew", async () => {
  const { link, check } = start();
  assert.equal(check.begin(), MARKER);
  check.received(MARKER);
  await check.look(true);
  assert.equal(link.messages.length, 0);
  check.begin();
  check.received(`${MARKER}/other`);
  await check.look(true);
  assert.equal(link.messages.length, 1);
});

test("retained – after a refusal nothing is sent on suspicion", async () => {
  const { link, check } = start();
  check.begin();
  await check.look(false);
  assert.equal(link.messages.length, 0);
});

test("retained – a pending reading goes live from the outbox, not from here", async () => {
  const waiting = start({ mark: TIME - 1000 });
  waiting.check.begin();
  await waiting.check.look(true);
  assert.equal(waiting.link.messages.length, 0);
  const never = start({ mark: null });
  never.check.begin();
  await never.check.look(true);
  assert.equal(never.link.messages.length, 0);
});

test("retained – what goes live in this session is not sent twice, so a first start duplicates nothing", async () => {
  const { link, check, state } = start({ mark: null });
  check.begin();
  state.mark = TIME;
  await check.look(true);
  assert.equal(link.messages.length, 0);
});
