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

test("check – a speed that is in Hz by its size is a warning, for vibration sensors alone", () => {
  const sensor = (code: string, kind: "accel" | "rpm", speedRpm: number) => ({
    code,
    type: 3,
    kinds: [kind],
    channels: {},
    machineClass: "group2-rigid" as const,
    location: { company: 1, area: 1, machine: 40, point: 1 },
    speedRpm,
  });
  const sensors = [
    sensor("1", "accel", 24.7),
    sensor("2", "accel", 1480),
    sensor("3", "rpm", 24.7),
  ];
  const machines = [{ id: 40, speed: { sensor: "3", kind: "rpm", value: "rpm" } }] as const;
  const [first, ...others] = unjudgedWarnings(
    { site: "plant-7", sensors, machines },
    { WAVEFORM_DAYS: "7" },
  );
  assert.deepEqual(others, []);
  assert.equal(first?.problem, "speedRpm of 1 (24.7) is below 120 r/min, as of few machines");
});
