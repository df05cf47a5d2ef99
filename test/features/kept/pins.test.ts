/** Pins beside other programs and other writes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openOwnStore } from "../../../src/cli/own-store.ts";
import { bindSite, loadSettings } from "../../../src/config/settings.ts";
import { holdStore } from "../../support/hold.ts";
import {
  append,
  readingOf,
  START_MS,
  tempDirectory,
  tempStore,
  waveformOf,
} from "../../support/temp-database.ts";
import { keepBy, pinsOf } from "./support.ts";

test("busy store – pins wait for the lock, in order", async (t) => {
  const dataDir = tempDirectory(t);
  const store = tempStore(t, { dataDir, keep: keepBy(null) });
  const pins = pinsOf(store);
  const measured = readingOf("7", START_MS, { kind: "accel", waveform: waveformOf(64) });
  await append(store, [measured]);
  const holder = await holdStore(t, dataDir, "writer");
  const outcomes = Promise.all([
    pins.set("7", measured.id, "one"),
    pins.set("7", measured.id, null),
    pins.set("7", measured.id, "two"),
  ]);
  await holder.release();
  assert.deepEqual(await outcomes, ["done", "done", "done"]);
  const { kept } = store.measurements.find("7", measured.id) ?? {};
  assert.deepEqual(kept, [{ why: "pin", note: "two" }]);
});

test("kept – a store that a command opens while no agent runs keeps them too", async (t) => {
  const dataDir = tempDirectory(t);
  const env = { GATEWAY_URL: "http://g.example", MQTT_URL: "mqtt://b.example", DATA_DIR: dataDir };
  const { settings } = loadSettings(env, { cwd: dataDir });
  assert.ok(settings);
  const site = { site: "plant-7", sensors: [] };
  const store = openOwnStore({ settings: bindSite(settings, site.site), site, uplinks: [] });
  t.after(() => store.close());
  assert.notEqual(store.keeping, null);
});
