import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { deadlineMs } from "../../support/deadline.ts";
import { type SeenMessage, skipWithoutMosquitto } from "../../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../../support/plant.ts";
import { decode } from "../sparkplug/peer.ts";

test("machines on Sparkplug – devices born with the node for a decoder that is not ours, names and limits with the sensors, dead once removed", {
  skip: skipWithoutMosquitto || skipWithoutBuild,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const plant = await startPlant(t, {
    simulator: { sensors: 14 },
    env: { PUBLISH_FORMATS: "sparkplug", SPARKPLUG_MACHINES: "true" },
  });
  const seen = await plant.subscribe({ topics: ["spBv1.0/#"] });
  const agent = plant.startAgent();
  const address = await agent.address;
  const of = (verb: string, device: string) => (message: SeenMessage) =>
    message.topic === `spBv1.0/plant/${verb}/gateside/${device}`;
  const machine = await seen.waitFor(
    (message) => message.topic.includes("/DBIRTH/gateside/machine-"),
    deadlineMs(30_000),
  );
  const device = machine.topic.split("/").at(-1) ?? "";
  const birth = decode(machine.payload).metrics ?? [];
  const names = birth.map(({ name }) => name);
  for (const name of ["condition", "reason", "zone", "running", "stage", "since", "acknowledged"])
    assert.ok(names.includes(name), name);
  // DateTime is 13.
  assert.equal(birth.find(({ name }) => name === "since")?.datatype, 13);
  // Known once its sensors were read.
  await seen.waitUntil(
    (messages) =>
      messages
        .filter(of("DDATA", device))
        .some(({ payload }) =>
          decode(payload).metrics?.some(
            ({ name, stringValue }) => name === "condition" && stringValue !== undefined,
          ),
        ),
    deadlineMs(30_000),
  );
  const sensor = seen.messages
    .filter(({ topic }) => topic.includes("/DBIRTH/") && !topic.includes("machine-"))
    .map(({ payload }) => decode(payload).metrics ?? [])
    .find((metrics) => metrics.some(({ name }) => name === "accel/channel1_vel_rms"));
  const valueOf = (name: string) => sensor?.find((metric) => metric.name === name);
  assert.equal(typeof valueOf("info/machine")?.stringValue, "string");
  const velocity = sensor?.find(({ name }) => name === "accel/channel1_vel_rms");
  const limit = (key: string) => {
    const { keys = [], values = [] } = velocity?.properties ?? {};
    return values[keys.indexOf(key)]?.doubleValue;
  };
  const [high, highHigh] = [limit("high"), limit("highHigh")];
  assert.ok(
    typeof high === "number" && typeof highHigh === "number" && high < highHigh,
    JSON.stringify(velocity),
  );

  const id = Number(device.replace("machine-", ""));
  const site = JSON.parse(readFileSync(plant.siteFile, "utf8"));
  site.sensors = site.sensors.filter(
    (one: { location?: { machine: number } }) => one.location?.machine !== id,
  );
  site.machines = (site.machines ?? []).filter((one: { id: number }) => one.id !== id);
  writeFileSync(plant.siteFile, JSON.stringify(site));
  const reload = await fetch(`${address}/api/v1/reload`, { method: "POST" });
  assert.equal(reload.status, 200, await reload.text());
  await seen.waitFor(of("DDEATH", device), deadlineMs(30_000));
  await agent.stop();
});
