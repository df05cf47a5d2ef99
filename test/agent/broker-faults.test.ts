/** Brokers and lines that misbehave, before the built agent: each is survived, and reported to the operator. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import mqtt from "mqtt";
import { Relay } from "../../scripts/chaos/relay.ts";
import { brokerDetail, metricOf, untilMetric } from "../support/agent-answers.ts";
import { deadlineMs } from "../support/deadline.ts";
import { startFakeBroker } from "../support/fake-broker.ts";
import { type MosquittoOptions, skipWithoutMosquitto } from "../support/mosquitto.ts";
import { type BuiltAgent, type Plant, skipWithoutBuild, startPlant } from "../support/plant.ts";
import { assertLiveMovesForward, SeenReadings, truthOf } from "../support/seen-readings.ts";
import { until } from "../support/wait-until.ts";

const START_MS = Math.floor(Date.now() / 86_400_000) * 86_400_000 + 9 * 3_600_000;
const MINUTE_MS = 60_000;
const STATE = "gateside/plant/agent/state";
const STATS = "gateside/plant/agent/stats";
/** The fourth sensor of the simulated plant measures a speed. */
const RPM = "100200411";
const skip = skipWithoutBuild || skipWithoutMosquitto;

function plantWith(
  t: TestContext,
  broker: MosquittoOptions,
  env: Readonly<Record<string, string>> = {},
): Promise<Plant> {
  return startPlant(t, {
    simulator: {
      sensors: 7,
      startMs: START_MS,
      historyDays: MINUTE_MS / 86_400_000,
      waveform: { sampleRateHz: 6400, samples: 2048 },
      cadenceS: {
        accel: 15,
        accCurrent: 3,
        current: 3,
        currentV2: 3,
        loop: 3,
        dryContact: 3,
        rpm: 3,
      },
    },
    broker,
    env: { PUBLISH_WAVEFORMS: "never", ...env },
  });
}

const truthNow = ({ simulator }: Plant) => truthOf(simulator, START_MS - 2 * MINUTE_MS);

async function relayTo(t: TestContext, { broker }: Plant): Promise<Relay> {
  const relay = new Relay(broker.port);
  await relay.listen();
  t.after(() => relay.close());
  return relay;
}

const logged = (agent: BuiltAgent, pattern: RegExp) =>
  agent.log.filter((line) => pattern.test(JSON.stringify(line)));

describe("an agent whose broker misbehaves", {
  skip,
  concurrency: true,
  timeout: deadlineMs(150_000),
}, () => {
  it("delivers everything except a refused topic, reports it, and delivers that topic once it is allowed", async (t) => {
    const denied = `gateside/plant/${RPM}/rpm`;
    const plant = await plantWith(t, { acl: `topic readwrite #\ntopic deny ${denied}` });
    const relay = await relayTo(t, plant);
    const seen = new SeenReadings(await plant.subscribe());
    const agent = plant.startAgent({ MQTT_URL: relay.url });
    const refused = 'gateside_delivery_failures_total{reason="not_authorized"}';
    await untilMetric(agent, refused, (value) => value > 0);
    const live = truthNow(plant);
    const newestRpm = Math.max(
      ...[...live.values()].filter(({ kind }) => kind === "rpm").map(({ timeMs }) => timeMs),
    );
    for (const [id, { kind, timeMs }] of live)
      if (kind === "rpm" && timeMs === newestRpm) live.delete(id);
    await seen.waitFor(live, 30_000);
    assert.ok(!seen.list.some(({ kind, isHistory }) => kind === "rpm" && !isHistory));

    // Statistics come with a new session.
    relay.reset();
    const all = await plant.subscribe({ topics: [STATS] });
    const stats = await all.waitFor(({ text }) => text.includes("not_authorized"), 30_000);
    assert.ok(JSON.parse(stats.text).brokers[0].failures.not_authorized > 0);
    plant.broker.reload({ acl: "topic readwrite #" });
    await until(
      "the refused topic",
      () =>
        seen.update().list.some(({ kind, isHistory }) => kind === "rpm" && !isHistory) || undefined,
    );
    await seen.waitFor(truthNow(plant), 30_000);
    assert.equal(logged(agent, /the broker refuses this topic/).length, 1);
    const accepted = () => logged(agent, /the broker accepts this topic again/);
    await until("the line", () => accepted().length > 0 || undefined);
    assert.equal(accepted().length, 1);
    assertLiveMovesForward(seen.list);
  });

  it("holds back only a waveform if the broker does not accept messages of its size, counted once", async (t) => {
    const plant = await plantWith(
      t,
      { maxPacketSize: 4096 },
      { PUBLISH_WAVEFORMS: "always", POLL_INTERVAL_S: "1" },
    );
    const relay = await relayTo(t, plant);
    const subscriber = await plant.subscribe();
    const seen = new SeenReadings(subscriber);
    const agent = plant.startAgent({ MQTT_URL: relay.url });
    await seen.waitFor(truthNow(plant), 30_000);
    const oversize = 'gateside_delivery_failures_total{reason="oversize"}';
    await untilMetric(agent, oversize, (value) => value > 0);
    const pending = "gateside_lane_outbox_readings";
    await untilMetric(agent, `${pending}{lane="json"}`, (value) => value === 0);
    relay.reset();
    await untilMetric(agent, 'gateside_broker_connects_total{link="mqtt"}', (value) => value === 2);
    await seen.waitFor(truthNow(plant), 30_000);
    // A measurement that waits is one trouble, also after it was tried again on the new session.
    const measured = [...truthNow(plant).values()].filter(({ kind }) => kind === "accel").length;
    const counted = await metricOf(agent, oversize);
    assert.ok(counted <= measured + 1, `${counted} counted, ${measured} measured`);
    assert.ok((await metricOf(agent, `${pending}{lane="waveform"}`)) > 0, "they are kept");
    assert.ok(!subscriber.messages.some(({ topic }) => topic.includes("/waveform/")));
    const [line] = logged(agent, /exceeds the broker's packet limit/);
    assert.equal(line?.["limitBytes"], 4096);
    assert.equal(await agent.stop(), 0);
  });

  it("delivers everything to a broker that accepts one message at a time", async (t) => {
    const plant = await plantWith(t, { receiveMaximum: 1 }, { PUBLISH_WAVEFORMS: "always" });
    const seen = new SeenReadings(await plant.subscribe());
    const agent = plant.startAgent();
    await seen.waitFor(truthNow(plant), 30_000);
    assert.equal(logged(agent, /mqtt connected/)[0]?.["receiveMaximum"], 1);
    assertLiveMovesForward(seen.list);
    assert.equal(await agent.stop(), 0);
  });

  it("reports that another client uses its id, and delivers what was pending when that client is gone", async (t) => {
    const plant = await plantWith(t, {});
    const all = await plant.subscribe();
    const seen = new SeenReadings(all);
    const agent = plant.startAgent();
    await seen.waitFor(truthNow(plant), 30_000);
    const rival = await mqtt.connectAsync(plant.broker.url, {
      clientId: "gateside-plant",
      protocolVersion: 5,
      reconnectPeriod: 50,
    });
    t.after(() => rival.endAsync(true));
    await all.waitFor(({ topic, text }) => topic === STATE && text.includes("offline"), 10_000);
    // Mosquitto 2.0.11 closes without a reason; the third close in a row reveals it.
    const line = await until("the reason", () => logged(agent, /another client uses/)[0], 60_000);
    assert.match(String(line["reason"]), /"gateside-plant".*MQTT_CLIENT_ID/);
    assert.equal(line["level"], 50);
    assert.ok(logged(agent, /mqtt connected/).length <= 5, "it does not fight at full speed");
    const waited = truthNow(plant);
    await rival.endAsync(true);
    await seen.waitFor(waited, 60_000);
    assertLiveMovesForward(seen.list);
  });

  it("reports that its password is refused, without showing it, and delivers what was pending when it is right again", async (t) => {
    const passwords = { agent: "first-secret", viewer: "v" };
    const changed = { ...passwords, agent: "second-secret" };
    const plant = await plantWith(t, { passwords });
    const relay = await relayTo(t, plant);
    const seen = new SeenReadings(
      await plant.subscribe({ username: "viewer", password: passwords.viewer }),
    );
    const agent = plant.startAgent({
      MQTT_URL: relay.url,
      MQTT_USERNAME: "agent",
      MQTT_PASSWORD: passwords.agent,
    });
    await seen.waitFor(truthNow(plant), 30_000);
    plant.broker.reload({ passwords: changed });
    await until("the refusal", async () => {
      // Some brokers let a session live on that was opened with the old password.
      if ((await brokerDetail(agent)) === "connected") relay.reset();
      return /check MQTT_USERNAME, MQTT_PASSWORD/.test(await brokerDetail(agent)) || undefined;
    });
    await untilMetric(agent, "gateside_outbox_readings", (value) => value > 0);
    const waiting = truthNow(plant);
    plant.broker.reload({ passwords });
    await seen.waitFor(waiting, 60_000);
    const lines = logged(agent, /check MQTT_USERNAME, MQTT_PASSWORD/);
    assert.ok(lines.length > 0 && lines.length <= 2, `logged ${lines.length} times`);
    assert.equal(lines[0]?.["level"], 50);
    assert.doesNotMatch(JSON.stringify(agent.log), /secret/);
  });

  it("detects a connection that went silent, and sends again what was in flight", async (t) => {
    const plant = await plantWith(t, {});
    const relay = await relayTo(t, plant);
    const all = await plant.subscribe();
    const seen = new SeenReadings(all);
    const agent = plant.startAgent({ MQTT_URL: relay.url });
    await seen.waitFor(truthNow(plant), 30_000);
    relay.silence();
    const detail = await until(
      "the silence",
      async () => {
        const text = await brokerDetail(agent);
        return text === "connected" ? undefined : text;
      },
      45_000,
    );
    // Whichever runs out first: the publish that waits, or the ping.
    const silence = /not acknowledged within 30 s|nothing was received from the broker/;
    assert.match(detail, silence);
    assert.equal(logged(agent, /no broker session/).length, 1);
    relay.heal();
    await seen.waitFor(truthNow(plant), 30_000);
    await all.waitFor(({ topic, text }) => topic === STATE && text.includes("connection lost"));
    await all.waitFor(({ topic, text }) => topic === STATE && text.includes("reconnected"));
    assertLiveMovesForward(seen.list);
  });

  it("delivers to a broker that does not answer SUBSCRIBE, and says why it tries another session", async (t) => {
    const plant = await plantWith(t, {}, { COMMANDS_ENABLED: "true" });
    // It knows CONNECT, PUBLISH and PINGREQ only.
    const deaf = await startFakeBroker({ version: 5 });
    t.after(() => deaf.close());
    const agent = plant.startAgent({ MQTT_URL: deaf.url });
    const wanted = truthNow(plant).size;
    await untilMetric(agent, "gateside_delivered_total", (value) => value >= wanted);
    await until("a second session", () => deaf.connects > 1 || undefined, 50_000);
    const [line] = logged(agent, /no broker session/);
    assert.match(String(line?.["reason"]), /did not respond to SUBSCRIBE within 30 s/);
  });
});
