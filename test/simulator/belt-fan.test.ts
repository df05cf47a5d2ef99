/** The simulated fan behind a belt: what diagnosis and checks make of it. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { ChannelTones } from "../../src/core/reading.ts";
import type { Site } from "../../src/core/site.ts";
import { HOUR_MS } from "../../src/core/time-units.ts";
import { analyseAxis } from "../../src/pipeline/signal/analyse.ts";
import { DftPlans } from "../../src/pipeline/signal/fft.ts";
import { diagnosedSite } from "../../src/simulator/diagnosed-site.ts";
import { machineState } from "../../src/simulator/machines.ts";
import { createPlant, plantSite } from "../../src/simulator/plant.ts";
import { synthesise } from "../../src/simulator/waveform.ts";
import { engineOf, MACHINE, readingOf } from "../features/diagnosis/support.ts";
import { runCommand } from "../support/run-command.ts";
import { Transactions } from "../support/tx.ts";

const SHAPE = { sampleRateHz: 6400, samples: 8192, rangeG: 8 };
const MOTOR = "100200559";
const FAN = "100200781";
const RECORDS = 40;

const PLANT = createPlant({ seed: 123, sensors: 14, accelSensorsMax: 14, growthDays: 2 });
const SITE = diagnosedSite(plantSite(PLANT));
const tx = new Transactions();
const plans = new DftPlans();

/** Records of the running machine, one in six minutes, its unbalance as far as `phase` of its life. */
function followed(code: string, phase: number, site: Site = SITE) {
  const plain = PLANT.byCode.get(code);
  assert.ok(plain);
  const machine = { ...plain.machine, growthMs: 1e6 * HOUR_MS, growthPhase: phase };
  const sensor = { ...plain, machine };
  const { engine, world } = engineOf(MACHINE, site);
  world.state = "running";
  const events = [];
  for (let n = 1, ms = 0; n <= RECORDS; ms += 0.1 * HOUR_MS) {
    const { isRunning, speedRpm } = machineState(machine, ms);
    if (!isRunning || speedRpm < 0.99 * machine.speedRpm) continue;
    world.speedRpm = speedRpm;
    const values: Record<string, number | null> = {};
    const tones = ([0, 1, 2] as const).slice(0, sensor.axes).map((axis): ChannelTones => {
      const options = { sampleRateHz: SHAPE.sampleRateHz, calibration: SHAPE.rangeG / 32_768 };
      const counts = synthesise(sensor, ms, axis, SHAPE);
      const analysis = analyseAxis(counts, { ...options, plans, tones: true });
      values[`channel${axis + 1}_vel_rms`] = analysis.velocityRms.value;
      values[`channel${axis + 1}_env_rms`] = analysis.envelopeRms.value;
      const durationS = SHAPE.samples / SHAPE.sampleRateHz;
      const own = { channel: axis + 1, axis: (["H", "V", "A"] as const)[axis] };
      return { ...own, durationS, isClipped: false, tones: analysis.tones };
    });
    const reading = readingOf({ tones, values, speedRpm }, n++);
    events.push(...engine.follow(tx.now, code, "accel", [reading]).events);
    tx.commit();
  }
  const seen = engine.of(code).seen;
  assert.ok(seen);
  return {
    told: events.map(({ value, text }) => `${value}: ${text}`),
    reasons: seen.cannot.map(({ reason }) => reason),
    cannot: seen.cannot,
  };
}

const siteWithoutShafts = (): Site => ({
  ...SITE,
  machines: (SITE.machines ?? []).map(({ shafts: _shafts, ...machine }) => machine),
});

test("belt fan – while it is healthy there is no finding and no unexplained line, at either bearing", () => {
  for (const code of [FAN, MOTOR]) {
    const { told, reasons } = followed(code, 0.2);
    assert.deepEqual(told, [], code);
    assert.ok(!reasons.includes("unexplained_line"), code);
    assert.ok(!reasons.includes("speed_doubtful"), code);
  }
});

test("belt fan – its unbalance is named at the fan alone, at the fan's speed, which creep makes a little less", () => {
  const [first = "", ...others] = followed(FAN, 0.7).told;
  const [, rpm, hz] =
    /^unbalance: .*: 1x of the fan, (\d+) rpm \(([\d.]+) Hz, H\)/.exec(first) ?? assert.fail(first);
  const share = (60 * Number(hz)) / Number(rpm);
  assert.ok(share > 0.99 && share < 0.998, `${rpm} ${hz}`);
  assert.deepEqual(others, []);
  assert.deepEqual(followed(MOTOR, 0.7).told, []);
});

test("belt fan – without its shaft in the site file the same line is unexplained, with the ratio that would fit", () => {
  const { told, cannot } = followed(FAN, 0.7, siteWithoutShafts());
  const [first] = told;
  assert.match(first ?? "", /^unexplained: .*`speedRatio` 0\.5[23]/);
  assert.ok(cannot.some(({ reason }) => reason === "unexplained_line"));
  assert.ok(told.every((one) => !one.startsWith("unbalance")));
});

test("belt fan – the site file of simulator and demo checks without a warning", async (t) => {
  const cwd = mkdtempSync(join(tmpdir(), "gateside-fan-"));
  t.after(() => rmSync(cwd, { recursive: true }));
  writeFileSync(join(cwd, "site.json"), JSON.stringify(SITE));
  const env = {
    GATEWAY_URL: "http://127.0.0.1:9",
    MQTT_URL: "mqtt://127.0.0.1:9",
    SITE_FILE: "site.json",
  };
  const run = await runCommand(["check"], { env, cwd });
  assert.equal(run.code, 0, run.stderr);
  assert.match(run.stdout + run.stderr, /\n0 faults, 0 warnings\n/);
  assert.deepEqual(
    SITE.machines?.map(({ shafts = [] }) => shafts.map(({ name, points }) => [name, points])),
    [[], [["fan", [7]]]],
  );
});
