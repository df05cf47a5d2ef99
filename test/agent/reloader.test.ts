import assert from "node:assert/strict";
import { test } from "node:test";
import { Reloader } from "../../src/agent/reload.ts";
import type { ConfigurationFiles } from "../../src/core/configuration/configuration-files.ts";
import type { Site } from "../../src/core/site.ts";
import { ReplaceableSite } from "../../src/core/site-source.ts";
import type { Uplink } from "../../src/core/uplink.ts";
import { RecordingLogger } from "../support/recording-logger.ts";

const siteOf = (code: string): Site => ({
  site: "plant",
  sensors: [{ code, type: 40, kinds: ["rpm"], channels: {} }],
});

function reloaderOf(examine: () => Site, held: string | null = null) {
  const site = new ReplaceableSite(siteOf("1"));
  const texts = () => ({ site: "", uplinks: null });
  const files = {
    examine: () => ({
      site: examine(),
      uplinks: [],
      faults: [],
      warnings: [],
      texts: texts(),
    }),
    texts,
    pendingRestart: () => [],
  } as unknown as ConfigurationFiles;
  const uplinks = { current: [] as Uplink[], main: null, replace: () => Promise.resolve() };
  const logger = new RecordingLogger();
  const parts = {
    files,
    site,
    uplinks,
    digest: () => "d",
    whyUnwritable: async () => held,
    logger,
  };
  return { logger, site, reloader: new Reloader(parts, texts()) };
}

test("reload – one that fails, and whose way back fails as well, stands in the status until one succeeds", async () => {
  let isFull = true;
  const { logger, site, reloader } = reloaderOf(() => siteOf("2"));
  site.onChange(() => {
    if (isFull) throw new Error("the disk is full");
  });
  const { outcome } = await reloader.reload("test");
  assert.equal(outcome, "refused");
  const [fault] = reloader.state.configurationFaults;
  assert.match(
    fault ?? "",
    /the disk is full; the site may be in effect in part: remove the cause/,
  );
  assert.match(logger.text, /the site of before could not be restored/);
  isFull = false;
  await reloader.reload("test");
  assert.deepEqual(reloader.state.configurationFaults, []);
});

test("reload – a failure before anything was changed is said, too", async () => {
  const { reloader } = reloaderOf(() => {
    throw new Error("out of memory");
  });
  assert.equal((await reloader.reload("test")).outcome, "refused");
  assert.match(
    reloader.state.configurationFaults[0] ?? "",
    /out of memory; the running configuration stays/,
  );
});

test("reload – one that the store cannot take, as another program holds it, touches nothing and is said", async () => {
  const { logger, site, reloader } = reloaderOf(
    () => siteOf("2"),
    "another program holds the store",
  );
  const before = site.current;
  assert.equal((await reloader.reload("test")).outcome, "refused");
  assert.equal(site.current, before);
  assert.match(reloader.state.configurationFaults[0] ?? "", /holds the store; the running/);
  assert.doesNotMatch(logger.text, /could not be restored/);
});
