import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { deadlineMs } from "../../support/deadline.ts";
import { skipWithoutMosquitto } from "../../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../../support/plant.ts";
import { retainedAt } from "../../support/retained.ts";

const MEMBERS = [
  "v",
  "site",
  "machine",
  "name",
  "area",
  "time",
  "condition",
  "reason",
  "since",
  "sinceAtLeast",
  "running",
  "speedRpm",
  "zone",
  "stage",
  "acknowledged",
  "alarmCount",
  "changed",
  "activeFindings",
  "outlook",
];

test("machine topics – as the API says, retained at a real broker; gone with the machine and with the setting, also after a stop", {
  skip: skipWithoutMosquitto || skipWithoutBuild,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const plant = await startPlant(t, {
    simulator: { sensors: 14 },
    env: { PUBLISH_MACHINES: "true", PUBLISH_FORMATS: "json,plain" },
  });
  const first = plant.startAgent();
  const address = await first.address;
  const base = "gateside/plant/machine";
  const seen = await plant.subscribe({ topics: [`${base}/#`] });
  const api = async () => {
    const response = await fetch(`${address}/api/v1/machines?sort=worst`);
    return ((await response.json()) as { machines: Record<string, unknown>[] }).machines;
  };
  const ids = [...new Set((await api()).flatMap(({ id }) => (typeof id === "number" ? [id] : [])))];
  assert.ok(ids.length > 1);
  const newest = (topic: string) =>
    seen.messages.findLast((message) => message.topic === `${base}/${topic}`)?.payload.toString();
  await seen.waitUntil(() => ids.every((id) => newest(`${id}`) !== undefined), deadlineMs(30_000));
  const [id = 0] = ids;
  const payload: Record<string, unknown> = JSON.parse(newest(`${id}`) ?? "");
  assert.deepEqual(Object.keys(payload), MEMBERS);
  const entry = (await api()).find((one) => one["id"] === id);
  for (const member of ["condition", "zone", "stage", "acknowledged", "alarmCount"])
    assert.deepEqual(payload[member], entry?.[member], member);
  assert.equal(newest(`${id}/condition`), payload["condition"]);
  assert.equal(newest(`${id}/stage`), JSON.stringify(payload["stage"] ?? 0));
  const metrics = await (await fetch(`${address}/metrics`)).text();
  assert.match(
    metrics,
    new RegExp(
      `gateside_machine_condition\\{machine="${id}",condition="${String(entry?.["condition"])}",site="plant"\\} 1`,
    ),
  );
  await first.stop();

  // Removed while the agent is stopped.
  const site = JSON.parse(readFileSync(plant.siteFile, "utf8"));
  const isOther = (machine: number) => machine !== id;
  site.sensors = site.sensors.filter(
    (sensor: { location?: { machine: number } }) =>
      sensor.location === undefined || isOther(sensor.location.machine),
  );
  site.machines = (site.machines ?? []).filter((one: { id: number }) => isOther(one.id));
  writeFileSync(plant.siteFile, JSON.stringify(site));
  const second = plant.startAgent();
  // Each is a message of its own.
  const isGone = (one: number) =>
    ["", "/condition", "/zone", "/running", "/stage"].every(
      (end) => (newest(`${one}${end}`) ?? "") === "",
    );
  await seen.waitUntil(() => isGone(id), deadlineMs(30_000));
  await second.stop();

  const third = plant.startAgent({ PUBLISH_MACHINES: "false" });
  await seen.waitUntil(() => ids.every(isGone), deadlineMs(30_000));
  await third.stop();
  assert.deepEqual(await retainedAt(plant, [`${base}/#`]), []);
});
