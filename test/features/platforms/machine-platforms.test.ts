/** Machines at platforms, over a real broker: Home Assistant's devices in the order in which they refer to each other, AWS IoT. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { deadlineMs } from "../../support/deadline.ts";
import { skipWithoutMosquitto } from "../../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../../support/plant.ts";

interface Config {
  readonly device: { readonly identifiers: readonly string[]; readonly via_device?: string };
}

test("machine platforms – Home Assistant learns box, machine, sensor in that order and forgets what has gone; AWS gets the topic", {
  skip: skipWithoutMosquitto || skipWithoutBuild,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const plant = await startPlant(t, { simulator: { sensors: 14 } });
  const file = join(dirname(plant.siteFile), "uplinks.json");
  const { url } = plant.broker;
  const uplinks = [
    // Its broker keeps nothing: Home Assistant does.
    { name: "home", url, profile: "homeassistant", machines: true, retain: false },
    {
      name: "cloud",
      url,
      profile: "aws-iot",
      machines: true,
      topicPrefix: "aws",
      clientId: "thing",
    },
  ];
  writeFileSync(file, JSON.stringify({ uplinks }));
  const seen = await plant.subscribe({ topics: ["homeassistant/#", "aws/+/machine/#"] });
  const agent = plant.startAgent({ UPLINKS_FILE: file });
  const address = await agent.address;
  const site = JSON.parse(readFileSync(plant.siteFile, "utf8"));
  const location = site.sensors[0].location;
  const node = `gateside_plant_machine_${location.machine}`;
  const told = await seen.waitFor(({ topic }) => topic === `aws/plant/machine/${location.machine}`);
  assert.equal(JSON.parse(told.text).machine, location.machine);
  assert.ok(told.topic.split("/").length <= 8);
  await seen.waitFor(({ topic }) => topic.includes("gateside_plant_100200300/"));

  const order = new Map<string, string | undefined>();
  for (const { topic, text } of seen.messages) {
    if (!topic.startsWith("homeassistant/") || text === "") continue;
    const { device } = JSON.parse(text) as Config;
    const [id = ""] = device.identifiers;
    // What a device refers to is known before.
    if (!order.has(id)) {
      assert.ok(device.via_device === undefined || order.has(device.via_device), topic);
      order.set(id, device.via_device);
    }
  }
  assert.equal(order.get("gateside_plant"), undefined);
  assert.equal(order.get(node), "gateside_plant");
  assert.equal(order.get("gateside_plant_100200300"), node);

  site.sensors = site.sensors.filter(
    (one: typeof site) => one.location?.machine !== location.machine,
  );
  site.machines = (site.machines ?? []).filter(({ id }: { id: number }) => id !== location.machine);
  writeFileSync(plant.siteFile, JSON.stringify(site));
  const reload = await fetch(`${address}/api/v1/reload`, { method: "POST" });
  assert.equal(reload.status, 200, await reload.text());
  for (const [id, component, entity] of [
    [node, "sensor", "condition"],
    [node, "binary_sensor", "running"],
    ["gateside_plant_100200300", "sensor", "accel_channel1_vel_rms"],
  ])
    await seen.waitFor(
      ({ topic, text }) =>
        topic === `homeassistant/${component}/${id}/${entity}/config` && text === "",
    );
  await agent.stop();
});
