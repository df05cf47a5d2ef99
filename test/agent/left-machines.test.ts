/** What an uplink retained about machines goes with it, at a real broker. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { deadlineMs } from "../support/deadline.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../support/plant.ts";
import { retainedAt } from "../support/retained.ts";

test("left machines – an uplink that is removed by a reload or while the agent is stopped leaves no machine at its broker that another does not tell of", {
  skip: skipWithoutMosquitto || skipWithoutBuild,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const plant = await startPlant(t, { simulator: { sensors: 3 } });
  const file = join(dirname(plant.siteFile), "uplinks.json");
  const uplink = (name: string, topicPrefix: string) => ({
    name,
    url: plant.broker.url,
    topicPrefix,
    machines: true,
  });
  const cloud = uplink("cloud", "cloud/hall");
  const above = uplink("above", "cloud");
  const write = (uplinks: readonly object[]) => writeFileSync(file, JSON.stringify({ uplinks }));
  const topics = ["cloud/hall/+/machine/#"];
  const isTold = ({ text }: { readonly text: string }) => text.includes("condition");
  const isCleared = ({ text }: { readonly text: string }) => text === "";
  write([cloud, uplink("twin", "cloud/hall"), above]);
  const seen = await plant.subscribe({ topics });
  const first = plant.startAgent({ UPLINKS_FILE: file });
  const address = await first.address;
  await seen.waitFor(isTold, deadlineMs(30_000));
  write([above]);
  const reload = await fetch(`${address}/api/v1/reload`, { method: "POST" });
  assert.equal(reload.status, 200, await reload.text());
  await seen.waitFor(isCleared, deadlineMs(15_000));

  write([cloud, above]);
  const again = await fetch(`${address}/api/v1/reload`, { method: "POST" });
  assert.equal(again.status, 200, await again.text());
  seen.clear();
  await seen.waitFor(isTold, deadlineMs(30_000));
  await first.stop();
  write([above]);
  const second = plant.startAgent({ UPLINKS_FILE: file });
  await seen.waitFor(isCleared, deadlineMs(30_000));
  await second.stop();
  assert.deepEqual(await retainedAt(plant, topics), []);
});
