/** Changes of uplinks while another program has the store's write lock for a moment. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Reloader } from "../../src/agent/reload.ts";
import { type UplinkParts, Uplinks } from "../../src/agent/uplinks.ts";
import { loadUplinks } from "../../src/config/uplinks.ts";
import type { ConfigurationFiles } from "../../src/core/configuration/configuration-files.ts";
import { EMPTY_SITE } from "../../src/core/configuration/empty-site.ts";
import type { Site } from "../../src/core/site.ts";
import { ReplaceableSite } from "../../src/core/site-source.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { holdStore } from "../support/hold.ts";
import { tempDirectory, tempStore } from "../support/temp-database.ts";

/** Without a name no session is built: what happens is the store's part. */
const SITE: Site = { ...EMPTY_SITE, sensors: [] };
const AFTER: Site = {
  ...SITE,
  sensors: [{ code: "1", type: 40, kinds: ["rpm"], channels: {} }],
};

function uplinksOf(...names: string[]) {
  const file = {
    uplinks: names.map((name) => ({ name, url: `mqtt://${name}.example`, waveforms: "never" })),
  };
  const context = { site: { ...SITE, site: "plant-7" }, main: null, commandsEnabled: false };
  return loadUplinks(JSON.stringify(file), "/x/uplinks.json", context).uplinks ?? [];
}

test("locked store – a reload that changes lanes waits for the lock, before and after it has closed sessions", async (t) => {
  const dataDir = tempDirectory(t);
  const store = tempStore(t, { dataDir, uplinks: [] });
  const site = new ReplaceableSite(SITE);
  const runtime = { clock: systemClock, logger: silentLogger };
  const parts = { ...runtime, store, site, alarms: null, features: () => [] };
  const uplinks = new Uplinks(parts as unknown as UplinkParts, []);
  await uplinks.open();
  const texts = () => ({ site: "", uplinks: null });
  const examined = {
    site: AFTER,
    uplinks: uplinksOf("cloud"),
    faults: [],
    warnings: [],
    texts: texts(),
  };
  const files = { examine: () => examined, texts, pendingRestart: () => [] };
  const reloader = new Reloader(
    {
      files: files as unknown as ConfigurationFiles,
      site,
      uplinks: uplinks.others,
      digest: () => "d",
      whyUnwritable: () => store.watch.whyUnwritable(),
      logger: silentLogger,
    },
    texts(),
  );
  const whileLocked = async <T>(change: () => Promise<T>): Promise<T> => {
    const holder = await holdStore(t, dataDir, "writer");
    const changed = change();
    await pause(50);
    await holder.release();
    return changed;
  };
  const { outcome, faults } = await whileLocked(() => reloader.reload("test"));
  assert.deepEqual([outcome, faults], ["applied", []]);
  const [added] = await whileLocked(() => uplinks.set(uplinksOf("cloud", "other")));
  assert.deepEqual(added, { what: "added", uplink: "other", lane: "json", from: "stored" });
  assert.deepEqual(Object.keys(store.state().lanes).sort(), ["cloud/json", "other/json"]);
});
