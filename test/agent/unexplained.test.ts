/** A line that nothing explains, over the whole house: the built program, a real broker, and a speed sensor that sees each pulse twice. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import type { MachineFindings } from "../../src/core/diagnosis/shown.ts";
import { deadlineMs } from "../support/deadline.ts";
import { failingBearing } from "../support/failing-bearing.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild } from "../support/plant.ts";

interface Shown {
  readonly alarm: string;
  readonly value: string;
  readonly text: string;
  readonly newest?: { readonly stage: number | null; readonly text: string };
}

test("unexplained – a doubled pulse is told by cannotTell, the zone alarm of the axis and a warning, and is no finding", {
  skip: skipWithoutBuild || skipWithoutMosquitto,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const pace = { historyDays: 0.1, speed: 20, accelS: 120 };
  const { plant, id, accel, rpm } = await failingBearing(t, { ...pace, wiring: ["doubled"] });
  const site = JSON.parse(readFileSync(plant.siteFile, "utf8"));
  const limits = [0.2, 0.5, 5];
  const sensors = site.sensors.map((one: { code: string }) =>
    one.code === accel.code ? { ...one, limits } : one,
  );
  const machine = { id, name: "Pump 1", speed: { sensor: rpm.code } };
  writeFileSync(plant.siteFile, JSON.stringify({ ...site, sensors, machines: [machine] }));
  const all = await plant.subscribe();
  const agent = plant.startAgent();
  const address = await agent.address;
  const eventsOf = (alarm: string) =>
    all.messages
      .filter(({ topic }) => topic.endsWith("/agent/event"))
      .map(({ text }) => JSON.parse(text) as Record<string, unknown>)
      .filter((event) => event["alarm"] === alarm);
  await all.waitUntil(
    () => eventsOf("finding").some(({ value }) => value === "unexplained"),
    60_000,
  );
  const event = eventsOf("finding").find(({ value }) => value === "unexplained");
  assert.deepEqual(
    [event?.["severity"], event?.["state"], event?.["sensor"], event?.["limit"]],
    ["warning", "active", accel.code, 0.5],
  );
  assert.match(
    String(event?.["text"]),
    /\(0\.(49|50)\d?x, axis H\).*`pulsesPerRevolution` 2 would fit/,
  );
  const ask = async (path: string) => (await fetch(`${address}/api/v1/${path}`)).json();
  const found = (await ask(`machines/${id}/findings`)) as MachineFindings;
  const entries = found.checked
    .flatMap(({ cannotTell }) => cannotTell)
    .filter(({ reason }) => reason === "unexplained_line");
  assert.ok(
    entries.some(({ axis }) => axis === "H"),
    JSON.stringify(found),
  );
  const names = found.findings.map(({ finding }): string => finding);
  assert.equal(names.includes("unexplained"), false);
  const { active } = (await ask("alarms")) as { active: Shown[] };
  const own = active.find(({ value }) => value === "unexplained");
  assert.equal(own?.newest?.stage, 1);
  const zone = active.find(({ value }) => value === "channel1_vel_rms");
  const told = /Most of it is a line at .* that nothing in the site file explains/;
  assert.match(zone?.text ?? "", told);
  assert.match(zone?.newest?.text ?? "", told);
  for (const { text } of eventsOf("zone")) assert.doesNotMatch(String(text), told);
  const { machines } = (await ask("machines?sort=worst")) as {
    machines: { id: number; stage: number | null; activeFindings: unknown[] }[];
  };
  const entry = machines.find((one) => one.id === id);
  assert.deepEqual([entry?.stage, entry?.activeFindings.length], [null, names.length]);
  await agent.stop();
});
