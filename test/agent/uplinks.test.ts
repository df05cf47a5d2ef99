/** Several uplinks of the built agent over real brokers: a dead one costs the others nothing. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { brokerDetail, metricOf } from "../support/agent-answers.ts";
import { freePort, skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../support/plant.ts";
import { until } from "../support/wait-until.ts";

/** A busy machine takes its time to start an agent. */
const WAIT_MS = 40_000;
const skip = skipWithoutBuild || skipWithoutMosquitto;

test("uplinks – if one is dead the others deliver, each in its own format, and the dead one is named", {
  skip,
}, async (t) => {
  const plant = await startPlant(t, {
    simulator: { sensors: 7, cadenceS: { rpm: 1, loop: 1 }, historyDays: 0.01 },
  });
  const dead = `mqtt://127.0.0.1:${await freePort()}`;
  const file = join(dirname(plant.siteFile), "uplinks.json");
  const uplinks = [
    { name: "dark", url: dead },
    {
      name: "cloud",
      url: plant.broker.url,
      topicPrefix: "cloud",
      select: { kinds: ["rpm"], values: ["rpm"] },
      waveforms: "never",
    },
    { name: "scada", url: plant.broker.url, formats: ["sparkplug"], sparkplug: { group: "g2" } },
  ];
  writeFileSync(file, JSON.stringify({ uplinks }));
  const seen = await plant.subscribe();
  const agent = plant.startAgent({ UPLINKS_FILE: file });
  await seen.waitFor(({ topic }) => /^gateside\/plant\/[^/]+\/rpm$/.test(topic), WAIT_MS);
  const cloud = await seen.waitFor(
    ({ topic }) => /^cloud\/plant\/[^/]+\/rpm$/.test(topic),
    WAIT_MS,
  );
  await seen.waitFor(({ topic }) => topic.startsWith("spBv1.0/g2/DDATA/"), WAIT_MS);
  assert.deepEqual(Object.keys(JSON.parse(cloud.text).values), ["rpm"]);
  assert.ok(!seen.messages.some(({ topic }) => /^cloud\/plant\/[^/]+\/loop/.test(topic)));

  const stats = await seen.waitFor(({ topic, text }) => {
    if (topic !== "gateside/plant/agent/stats") return false;
    const { brokers } = JSON.parse(text);
    return brokers.length === 4 && brokers.filter((one: Broker) => one.isConnected).length === 3;
  }, WAIT_MS);
  const { brokers }: { brokers: Broker[] } = JSON.parse(stats.text);
  assert.deepEqual(
    brokers.map(({ name, uplink, isConnected }) => [name, uplink, isConnected]),
    [
      ["mqtt", "main", true],
      ["dark", "dark", false],
      ["cloud", "cloud", true],
      ["scada", "scada", true],
    ],
  );
  assert.match(await brokerDetail(agent), /^dark: /);
  const answer = await fetch(`${await agent.address}/readyz`);
  const ready = (await answer.json()) as { checks: { broker: { uplinks: object } } };
  const named: [string, { ok: boolean }][] = Object.entries(ready.checks.broker.uplinks);
  assert.deepEqual(
    named.map(([name, { ok }]) => [name, ok]),
    [
      ["main", true],
      ["dark", false],
      ["cloud", true],
      ["scada", true],
    ],
  );
  const waits = () => metricOf(agent, 'gateside_lane_outbox_readings{uplink="dark",lane="json"}');
  await until("the dark one is owed", async () => ((await waits()) > 0 ? true : undefined));
  assert.equal(await agent.stop(), 0);
});

interface Broker {
  readonly name: string;
  readonly uplink: string;
  readonly isConnected: boolean;
}
