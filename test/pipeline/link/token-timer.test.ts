import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { LinkHooks } from "../../../src/core/delivery/link.ts";
import type { Message } from "../../../src/core/message.ts";
import { TokenTimer } from "../../../src/pipeline/link/token-timer.ts";
import { startTap } from "../../features/sparkplug/tap.ts";
import { deadlineMs } from "../../support/deadline.ts";
import { linkFor } from "../../support/link.ts";
import { recordMessages, skipWithoutMosquitto, startMosquitto } from "../../support/mosquitto.ts";

function timers(t: TestContext) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  return (ms: number) => t.mock.timers.tick(ms);
}

test("token timer – renews once per session, one lifetime after it began", (t) => {
  const pass = timers(t);
  let renewed = 0;
  const timer = new TokenTimer(1000, () => {
    renewed += 1;
  });
  timer.begin();
  pass(999);
  assert.equal(renewed, 0);
  pass(1);
  assert.equal(renewed, 1);
  pass(5000);
  assert.equal(renewed, 1, "the next session begins its own time");
  timer.begin();
  pass(600);
  timer.begin();
  pass(600);
  assert.equal(renewed, 1, "a session that broke and came back has a new token");
  pass(400);
  assert.equal(renewed, 2);
  timer.begin();
  timer.end();
  pass(5000);
  assert.equal(renewed, 2, "no session, nothing to renew");
});

test("token timer – over a broker: a new session with a new token before the old one expires, and no message is lost", {
  skip: skipWithoutMosquitto,
  timeout: deadlineMs(30_000),
}, async (t) => {
  const broker = await startMosquitto();
  const seen = await recordMessages(broker.url, { topics: ["devices/#"] });
  const tap = await startTap(broker.port, 4);
  t.after(async () => {
    await tap.close();
    await seen.close();
    await broker.close();
  });
  let made = 0;
  const passwords = () =>
    tap.connections.flatMap(({ packets }) =>
      packets.flatMap((packet) => (packet.cmd === "connect" ? [String(packet.password)] : [])),
    );
  let opened = 0;
  const tokens = new TokenTimer(150, () => void link.leave(false, null));
  const hooks: LinkHooks = {
    onConnected: () => {
      opened += 1;
      if (opened < 3) tokens.begin();
    },
    onDisconnected: () => tokens.end(),
  };
  const { link, stop } = linkFor(
    t,
    {
      url: tap.url,
      version: 4,
      clientId: "box",
      username: "hub.example/box/?api-version=2021-04-12",
      password: () => `token ${++made}`,
      inflight: 10,
    },
    { hooks },
  );
  const topic = "devices/box/messages/events/";
  const sent = new Set<string>();
  for (let n = 0; opened < 3 || n < 20; n++) {
    const message: Message = { topic, payload: `${n}`, qos: 1, retain: false };
    sent.add(`${n}`);
    // As the publisher does: what was not acknowledged goes again.
    while (true) {
      assert.ok(await link.ready(stop.signal));
      if ((await link.publish(message)).result === "delivered") break;
    }
  }
  await seen.waitFor(({ text }) => text === [...sent].at(-1));
  assert.deepEqual(new Set(seen.messages.map(({ text }) => text)), sent);
  assert.deepEqual(passwords(), ["token 1", "token 2", "token 3"]);
});
