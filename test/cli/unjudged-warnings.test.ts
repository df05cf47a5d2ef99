import assert from "node:assert/strict";
import { test } from "node:test";
import { unjudgedWarnings } from "../../src/cli/unjudged-warnings.ts";

test("check – warns of bands where no samples are kept to measure them from", () => {
  const bands = { custom: [{ name: "hf", from: 500, to: 900, unit: "Hz", of: "accel" }] } as const;
  const site = { site: "plant-7", sensors: [], machines: [{ id: 1 }, { id: 40, bands }] };
  const places = (days: string) =>
    unjudgedWarnings(site, { WAVEFORM_DAYS: days }).map(({ place }) => place);
  assert.deepEqual(places("0"), ["machines[1].bands"]);
  assert.deepEqual(places("7"), []);
});
