/** Publishes that a broker acknowledges over MQTT 3.1.1 and passes on to nobody. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ReadBack } from "../../../src/pipeline/publish/read-back.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { skipWithoutMosquitto } from "../../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../../support/plant.ts";
import { until } from "../../support/wait-until.ts";

const TOPIC = "gateside/plant/agent/state";
const send = (readBack: ReadBack, payload: string) =>
  readBack.sending([{ topic: TOPIC, payload, qos: 1, retain: true }]);
const hear = (readBack: ReadBack, payload: string) => readBack.heard(TOPIC, Buffer.from(payload));

test("read back – a state that does not come back is lost only where this client has read something there; it is repeated until it comes", async () => {
  const clock = new ManualClock();
  const readBack = new ReadBack(TOPIC, clock);
  assert.equal(readBack.begin(), TOPIC);
  send(readBack, "one");
  await clock.advance(60_000);
  assert.equal(readBack.lostAt, null, "perhaps it may not read");

  readBack.begin();
  hear(readBack, "of a former session");
  send(readBack, "two");
  await clock.advance(10_000);
  assert.equal(readBack.lostAt, null, "it may be on its way");
  await clock.advance(10_000);
  assert.equal(readBack.lostAt, TOPIC);
  assert.equal(readBack.isRepeatDue, false);
  await clock.advance(60_000);
  assert.equal(readBack.isRepeatDue, true);
  send(readBack, "three");
  assert.equal(readBack.lostAt, TOPIC);
  assert.equal(readBack.isRepeatDue, false);
  hear(readBack, "three");
  assert.equal(readBack.lostAt, null);
});

test("read back – over MQTT 3.1.1, a box that has lost its right to write says so in /readyz and status, although mosquitto acknowledges everything", {
  skip: skipWithoutBuild || skipWithoutMosquitto,
}, async (t) => {
  const plant = await startPlant(t, {
    simulator: { sensors: 1, historyDays: 0.01 },
    broker: { acl: "topic readwrite #" },
    env: { MQTT_VERSION: "4" },
  });
  const seen = await plant.subscribe();
  const first = plant.startAgent();
  await seen.waitFor(({ topic, text }) => topic === TOPIC && text.includes("online"), 40_000);
  await first.stop();
  plant.broker.reload({ acl: "topic read #" });
  const second = plant.startAgent();
  const address = await second.address;
  await until("the agent says so", async () => {
    const answer = await fetch(`${address}/readyz`);
    const text = await answer.text();
    return (answer.status === 503 && /passes none on.*access list/.test(text)) || undefined;
  });
});
