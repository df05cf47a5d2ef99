/** Two built agents with one site name at one broker, as after a copied configuration. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { deadlineMs } from "../support/deadline.ts";
import { envelope, wireTime } from "../support/fake-gateway.ts";
import { payloadOf, startFakeSite } from "../support/fake-site.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { type BuiltAgent, skipWithoutBuild } from "../support/plant.ts";
import { until } from "../support/wait-until.ts";

const ROOT = "gateside/plant-7";
const ALARM = `${ROOT}/100/alarm/slow/rpm`;

async function statusOf(agent: BuiltAgent) {
  const response = await fetch(`${await agent.address}/api/v1/status`);
  const { links } = (await response.json()) as { links: { otherAgent?: string | null }[] };
  return links[0]?.otherAgent ?? null;
}

test("two agents with one site name are told to both, neither clears the other's alarms, and the one that stays says online", {
  skip: skipWithoutBuild || skipWithoutMosquitto,
  timeout: deadlineMs(90_000),
}, async (t) => {
  const recordMs = Math.floor(Date.now() / 1000) * 1000 - 60_000;
  const site = await startFakeSite(t, {
    answer: ({ body }) =>
      envelope([{ sensor_code: body["sensorCode"], RPM: 100, time_data: wireTime(recordMs) }]),
    sensors: [],
  });
  const slow = { name: "slow", select: { kinds: ["rpm"], values: ["rpm"] }, low: 500 };
  const sensors = [{ code: "100", type: 40, kinds: ["rpm"] }];
  writeFileSync(
    join(site.directory, "site.json"),
    JSON.stringify({ site: "plant-7", sensors, alarms: [slow] }),
  );
  const last = (topic: string) =>
    site.messages.messages.filter((message) => message.topic === topic).at(-1);
  const first = site.startAgent({ SETUP_ENABLED: "true" });
  await until("its alarm", () => last(ALARM));
  assert.equal(await statusOf(first), null);
  const firstInstance = payloadOf(last(`${ROOT}/agent/state`))["instance"];
  assert.match(String(firstInstance), /^[0-9a-f]{12}$/);

  // It knows of no alarm, and would clear what is retained about its sensors.
  const second = site.startAgent({
    MQTT_CLIENT_ID: "a-copy",
    DATA_DIR: "other-data",
    ALARMS_ENABLED: "false",
    SETUP_ENABLED: "true",
  });
  for (const agent of [first, second])
    await until("the other one", async () => (await statusOf(agent)) ?? undefined);
  const ready = await fetch(`${await second.address}/readyz`);
  assert.equal(ready.status, 503);
  assert.match(
    await ready.text(),
    /another agent \(instance [0-9a-f]{12}\) publishes as site plant-7/,
  );
  // The other one's backup is not restored beside it, unless somebody repeats the site's name.
  const backup = await (await fetch(`${await first.address}/api/v1/setup/backup`)).text();
  const restore = async (query: string) =>
    fetch(`${await second.address}/api/v1/setup/restore?${query}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: backup,
    });
  const refused = await restore("dryRun=true");
  assert.equal(refused.status, 409);
  assert.match(await refused.text(), /may be running: another agent/);
  const repeated = await restore("dryRun=true&site=plant-7");
  assert.equal(repeated.status, 200, await repeated.text());
  const instance = payloadOf(last(`${ROOT}/agent/state`))["instance"];
  assert.notEqual(instance, firstInstance);

  await second.kill();
  await until("the state of the one that stays", () => {
    const state = payloadOf(last(`${ROOT}/agent/state`));
    return (state["instance"] === firstInstance && state["state"] === "online") || undefined;
  });
  await until("no conflict", async () => ((await statusOf(first)) === null ? true : undefined));
  assert.notEqual(last(ALARM)?.text, "");
});
