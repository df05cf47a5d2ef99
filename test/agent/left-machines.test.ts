/** What an uplink retained about machines goes with it, at a real broker. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { deadlineMs } from "../support/deadline.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../support/plant.ts";

test("left machines – an uplink that is removed by a reload or while the agent is stopped leaves no machine at its broker", {
  skip: skipWithoutMosquitto || skipWithoutBuild,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const plant = await startPlant(t, { simulator: { sensors: 3 } });
  const file = join(dirname(plant.siteFile), "uplinks.json");
  const cloud = { name: "cloud", url: plant.broker.url, topicPrefix: "cloud", machines: true };
  const write = (uplinks: readonly object[]) => writeFileSync(file, JSON.stringify({ uplinks }));
  const topics = ["cloud/+/machine/#"];
  const isTold = ({ text }: { readonly text: string }) => text.includes("condition");
  const isCleared = ({ text }: { readonly text: string }) => text === "";
  write([cloud]);
  const seen = await plant.subscribe({ topics });
  const first = plant.startAgent({ UPLINKS_FILE: file });
  const address = await first.address;
  await seen.waitFor(isTold, deadlineMs(30_000));
  write([]);
  const reload = await fetch(`${address}/api/v1/reload`, { method: "POST" });
  assert.equal(reload.status, 200, await reload.text());
  await seen.waitFor(isCleared, deadlineMs(15_000));

  write([cloud]);
  const again = await fetch(`${address}/api/v1/reload`, { method: "POST" });
  assert.equal(again.status, 200, await again.text());
  seen.clear();
  await seen.waitFor(isTold, deadlineMs(30_000));
  await first.stop();
  write([]);
  const second = plant.startAgent({ UPLINKS_FILE: file });
  await seen.waitFor(isCleared, deadlineMs(30_000));
  await second.stop();
  const late = await plant.subscribe({ topics });
  assert.deepEqual(late.messages, []);
});
