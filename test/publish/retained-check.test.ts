import assert from "node:assert/strict";
import { test } from "node:test";
import type { Message, PublishOutcome } from "../../src/core/message.ts";
import type { Kind } from "../../src/core/sensor.ts";
import { fixedSite, type SiteSource } from "../../src/core/site-source.ts";
import type { StoredReading } from "../../src/core/stored-reading.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { createGatesideProfile } from "../../src/publish/formats/gateside.ts";
import { RetainedCheck } from "../../src/publish/retained-check.ts";
import { ManualClock } from "../support/manual-clock.ts";
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
  const clock = new ManualClock();
  const { mark = TIME, newest = loopReading(), kind: own = "loop", site = SITE } = given;
  const state = { mark };
  const link = {
    session: 1,
    isConnected: true,
    inflightMax: 100,
    sent: [] as Message[],
    asked: [] as string[],
    isGranted: true,
    ready: () => Promise.resolve(true),
    publish(message: Message): Promise<PublishOutcome> {
      link.sent.push(message);
      return Promise.resolve({ result: "delivered" });
    },
    subscribe(topic: string): Promise<boolean> {
      link.asked.push(topic);
      return Promise.resolve(link.isGranted);
    },
  };
  const check = new RetainedCheck({
    link,
    profile: createGatesideProfile({ waveforms: { read: () => null } }, options()),
    site,
    clock,
    logger: silentLogger,
    newest: (sensor, kind) => (sensor === LOOP.code && kind === own ? newest : null),
    liveMark: (format, sensor) => (format === "json" && sensor === LOOP.code ? state.mark : null),
    isNew: () => given.isNew ?? false,
  });
  const look = async (ms = 3000) => {
    await Promise.resolve();
    await clock.advance(ms);
    await check.look();
  };
  return { link, check, look, state };
}

test("retained – a broker without our own state has lost everything: live topics are sent again, once", async () => {
  const { link, check, look } = start();
  check.begin();
  await look();
  assert.deepEqual(
    link.sent.map(({ topic, retain }) => [topic, retain]),
    [["gateside/plant-7/30007/loop", true]],
  );
  await look();
  assert.equal(link.sent.length, 1);
});

test("retained – the state of a node, which may not change for a day, is sent again too", async () => {
  const stateReads = [{ operation: "getState", fields: { battery: { from: "B", unit: "V" } } }];
  const { link, check, look } = start({
    kind: "node",
    newest: loopReading({ kind: "node" }),
    site: fixedSite({ site: "plant-7", sensors: [{ ...LOOP, stateReads }] }),
  });
  check.begin();
  await look();
  assert.deepEqual(
    link.sent.map(({ topic, retain }) => [topic, retain]),
    [["gateside/plant-7/30007/node", true]],
  );
});

test("retained – an uplink that begins with its first new reading sends nothing older in its first session", async () => {
  const { link, check, look } = start({ isNew: true });
  check.begin();
  await look();
  assert.deepEqual([link.sent, link.asked], [[], []]);
});

test("retained – if our state is still there nothing is sent; our own message is no proof of it", async () => {
  const { link, check, look } = start();
  check.begin();
  check.received(MARKER, true);
  await look();
  assert.equal(link.sent.length, 0);
  link.session = 2;
  check.begin();
  check.received(MARKER, false);
  await look();
  assert.equal(link.sent.length, 1);
});

test("retained – before the broker could answer, and after a refusal, nothing is sent on suspicion", async () => {
  const early = start();
  early.check.begin();
  await early.look(1000);
  assert.equal(early.link.sent.length, 0);
  const refused = start();
  refused.link.isGranted = false;
  refused.check.begin();
  await refused.look();
  assert.equal(refused.link.sent.length, 0);
});

test("retained – a pending reading goes live from the outbox, not from here", async () => {
  const waiting = start({ mark: TIME - 1000 });
  waiting.check.begin();
  await waiting.look();
  assert.equal(waiting.link.sent.length, 0);
  const never = start({ mark: null });
  never.check.begin();
  await never.look();
  assert.equal(never.link.sent.length, 0);
});

test("retained – a broker that ends sessions because of the check is not asked a third time", () => {
  const { link, check } = start();
  for (let session = 1; session <= 5; session++) {
    link.session = session;
    check.begin();
  }
  assert.equal(link.asked.length, 2);
});

test("retained – what goes live in this session is not sent twice, so a first start doubles nothing", async () => {
  const { link, check, look, state } = start({ mark: null });
  check.begin();
  state.mark = TIME;
  await look();
  assert.equal(link.sent.length, 0);
});
