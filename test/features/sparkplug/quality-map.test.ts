import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  SPARKPLUG_QUALITY,
  sparkplugQuality,
} from "../../../src/features/sparkplug/quality-map.ts";

interface Vectors {
  readonly quality_map: readonly {
    readonly quality: keyof typeof SPARKPLUG_QUALITY;
    readonly sparkplug: number;
  }[];
}

test("conversion vectors – qualities in SCADA terms", () => {
  const file = new URL("../../vectors/conversion.json", import.meta.url);
  const vectors: Vectors = JSON.parse(readFileSync(file, "utf8"));
  assert.ok(vectors.quality_map.length > 0);
  for (const { quality, sparkplug } of vectors.quality_map)
    assert.equal(SPARKPLUG_QUALITY[quality], sparkplug);
});

test("quality map – a value without doubt is good, and an uncertain one, too", () => {
  assert.equal(sparkplugQuality(null), 192);
  assert.equal(sparkplugQuality({ quality: "uncertain", reason: "clipped" }), 192);
  assert.equal(sparkplugQuality({ quality: "bad", reason: "missing" }), 0);
});
