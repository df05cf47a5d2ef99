import assert from "node:assert/strict";
import { test } from "node:test";
import { isChangeOf } from "../../../../src/core/scaling.ts";
import type { ChannelConfig, Sensor } from "../../../../src/core/sensor.ts";
import { ReplaceableSite } from "../../../../src/core/site-source.ts";
import { silentLogger } from "../../../../src/lib/logger.ts";
import { keepScaleChanges } from "../../../../src/pipeline/store/site-memory/scale-changes.ts";

const feeder = (ratio?: ChannelConfig["ratio"]): Sensor => ({
  code: "0020871",
  type: 9,
  kinds: ["current", "rpm"],
  channels: { current1: { clamp: 50, ...(ratio === undefined ? {} : { ratio }) } },
});

test("scale changes – what a site file sets otherwise is remembered with its time, over restarts; the first file is no change", () => {
  const kept = new Map<string, string>();
  const memory = {
    get: (name: string) => kept.get(name) ?? null,
    set: (name: string, value: string) => void kept.set(name, value),
  };
  let nowMs = 1000;
  const site = new ReplaceableSite({ site: "p", sensors: [feeder()] });
  const open = () =>
    keepScaleChanges({ site, memory, logger: silentLogger, gatewayNow: () => nowMs });
  const of = open();
  assert.deepEqual(of("20871"), []);
  nowMs = 2000;
  site.replace({ site: "p", sensors: [feeder(80)] });
  const [change, accumulated] = of("20871");
  assert.deepEqual(
    [change, accumulated?.key],
    [
      {
        key: "current/current1",
        timeMs: 2000,
        text: "a clamp of 50 A becomes a clamp of 50 A with the ratio 80",
      },
      "accCurrent/accumulated_current1",
    ],
  );
  assert.ok(change);
  assert.equal(isChangeOf(change, "currentV2", "current1_max"), true);
  assert.equal(isChangeOf(change, "currentV2", "current2_max"), false);
  // Stopped, changed, started.
  nowMs = 3000;
  site.replace({ site: "p", sensors: [{ ...feeder(80), name: "Feeder" }] });
  assert.equal(of("20871").length, 2);
  // The same, written otherwise.
  site.replace({ site: "p", sensors: [feeder("400:5")] });
  assert.equal(of("20871").length, 2);
  const stopped = new ReplaceableSite({
    site: "p",
    sensors: [{ ...feeder(80), pulsesPerRevolution: 2 }],
  });
  const again = keepScaleChanges({
    site: stopped,
    memory,
    logger: silentLogger,
    gatewayNow: () => 4000,
  });
  assert.deepEqual(
    again("20871").map(({ key, timeMs }) => [key, timeMs]),
    [
      ["current/current1", 2000],
      ["accCurrent/accumulated_current1", 2000],
      ["rpm/rpm", 4000],
    ],
  );
});

test("scale changes – whatever one damaged byte makes of what was kept, the agent starts, and trends are drawn", () => {
  let kept: string | null = null;
  const memory = { get: () => kept, set: (_name: string, text: string) => void (kept = text) };
  let nowMs = 1000;
  const site = new ReplaceableSite({ site: "p", sensors: [feeder()] });
  const open = () =>
    keepScaleChanges({ site, memory, logger: silentLogger, gatewayNow: () => nowMs });
  open();
  nowMs = 2000;
  site.replace({ site: "p", sensors: [feeder(80)] });
  open();
  const whole = Buffer.from(String(kept));
  for (let at = 0; at < whole.length; at += 1)
    for (const bit of [1, 2, 4, 8, 16, 32, 64]) {
      const damaged = Buffer.from(whole);
      damaged[at] = (damaged[at] ?? 0) ^ bit;
      kept = damaged.toString();
      assert.doesNotThrow(() => {
        for (const change of open()("20871")) isChangeOf(change, "current", "current1");
      }, damaged.toString());
    }
  for (const text of ['{"20871":null}', '{"20871":{"scales":5,"changes":5}}', "[5]", "5"]) {
    kept = text;
    assert.deepEqual(open()("20871"), [], text);
  }
});
