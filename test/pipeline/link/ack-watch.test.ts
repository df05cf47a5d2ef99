/** When silence of a broker ends a session, tick by tick. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { AckWatch } from "../../../src/pipeline/link/ack-watch.ts";

const TIMEOUT_MS = 20_000;
const TICK_MS = TIMEOUT_MS / 4;

function watch(t: TestContext) {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const session: { acks: number; oldestTick: number | null } = { acks: 0, oldestTick: null };
  const said: string[] = [];
  const watch = new AckWatch(TIMEOUT_MS, session, (text) => said.push(text));
  watch.start();
  t.after(() => watch.stop());
  return { watch, session, said, pass: (ticks: number) => t.mock.timers.tick(ticks * TICK_MS) };
}

test("ack watch – a publish that nobody acknowledges is noticed after its timeout, and not before", (t) => {
  const { session, said, pass } = watch(t);
  pass(20);
  session.oldestTick = 20;
  pass(4);
  assert.deepEqual(said, []);
  pass(1);
  assert.deepEqual(said, ["a publish was not acknowledged within 20 s"]);
});

test("ack watch – acknowledgements put it off, at most four timeouts for one publish", (t) => {
  const { session, said, pass } = watch(t);
  session.oldestTick = 0;
  for (let tick = 0; tick < 16; tick++) {
    if (tick % 4 === 0) session.acks += 1;
    pass(1);
  }
  assert.deepEqual(said, []);
  session.acks += 1;
  pass(1);
  assert.equal(said.length, 1);
});

test("ack watch – once nothing is in flight, the next publish has the whole timeout", (t) => {
  const { watch: ticking, session, said, pass } = watch(t);
  session.oldestTick = ticking.tick;
  pass(4);
  session.acks += 1;
  session.oldestTick = null;
  pass(10);
  session.oldestTick = ticking.tick;
  pass(4);
  assert.deepEqual(said, []);
});

test("ack watch – requests have a timeout each; what was answered is forgotten", (t) => {
  const { watch: asked, said, pass } = watch(t);
  asked.requested("SUBSCRIBE");
  asked.requested("PINGREQ");
  pass(4);
  asked.answered("PINGREQ");
  assert.deepEqual(said, []);
  pass(1);
  assert.deepEqual(said, ["the broker did not respond to SUBSCRIBE within 20 s"]);
  asked.stop();
  pass(10);
  assert.equal(said.length, 1);
});
