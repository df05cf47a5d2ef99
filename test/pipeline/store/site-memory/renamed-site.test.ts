import assert from "node:assert/strict";
import { test } from "node:test";
import { noteSiteName } from "../../../../src/pipeline/store/site-memory/renamed-site.ts";
import { RecordingLogger } from "../../../support/recording-logger.ts";

test("renamed site – the first start under another name says which retained topics stay and how to clear them, once", () => {
  const kept = new Map<string, string>();
  const meta = {
    get: (name: string) => kept.get(name) ?? null,
    keep: async (name: string, value: string) => void kept.set(name, value),
  };
  const uplink = { formats: ["json"], retain: true, topicPrefix: "gateside" } as const;
  const mirror = { ...uplink, topicPrefix: "mirror" };
  const sparkplug = { ...uplink, formats: ["sparkplug"], topicPrefix: "other" } as const;
  const start = (site: string) => {
    const logger = new RecordingLogger();
    noteSiteName(meta, site, [uplink, mirror, sparkplug], logger);
    return logger.lines.length;
  };
  assert.equal(start("plant-7"), 0);
  assert.equal(start(""), 0, "a site file that is missing for a while");
  const logger = new RecordingLogger();
  noteSiteName(meta, "plant-8", [uplink, mirror, sparkplug], logger);
  assert.equal(logger.lines.length, 2);
  assert.match(logger.text, /below gateside\/plant-7\/# stays at the broker; clear it with/);
  assert.match(logger.text, /mirror\/plant-7\/#/);
  assert.equal(start("plant-8"), 0);
});
