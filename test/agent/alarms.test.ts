/** Alarms over the whole house: the built program, a real broker, and a limit that the simulated plant passes. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { deadlineMs } from "../support/deadline.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../support/plant.ts";

interface Told {
  readonly id: string;
  readonly state: string;
  readonly alarm: string;
  readonly sensor: string;
  readonly acknowledged: { readonly by: string } | null;
}

test("alarms – are told once each, stand retained while active, are acknowledged, and go when no longer configured", {
  skip: skipWithoutBuild || skipWithoutMosquitto,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const plant = await startPlant(t, {
    simulator: {
      sensors: 7,
      historyDays: 0.02,
      speed: 20,
      waveform: { sampleRateHz: 6400, samples: 256 },
      cadenceS: { current: 60, currentV2: 60, loop: 60, dryContact: 60, rpm: 20, accel: 600 },
    },
    env: { COMMANDS_ENABLED: "true" },
  });
  const site: { sensors: { kinds: string[] }[] } = JSON.parse(readFileSync(plant.siteFile, "utf8"));
  const turning = site.sensors.filter(({ kinds }) => kinds.includes("rpm")).length;
  assert.ok(turning > 0);
  const write = (alarms: unknown) =>
    writeFileSync(plant.siteFile, JSON.stringify({ ...site, alarms }));
  write([{ name: "turns", select: { values: ["rpm"] }, high: 1, delay: { readings: 2 } }]);
  const all = await plant.subscribe();
  const agent = plant.startAgent();
  const address = await agent.address;
  const events = (): Told[] =>
    all.messages
      .filter(({ topic }) => topic.endsWith("/agent/event"))
      .map(({ text }) => JSON.parse(text));
  const told = (state: string) =>
    events().filter((event) => event.alarm === "turns" && event.state === state);
  const until = (done: () => boolean) => all.waitUntil(done, deadlineMs(30_000));
  await until(() => new Set(told("active").map(({ sensor }) => sensor)).size === turning);
  const [first] = told("active");
  assert.ok(first);
  const topic = `gateside/plant/${first.sensor}/alarm/turns/rpm`;
  await until(() => all.messages.some((message) => message.topic === topic));

  const lists = async (): Promise<Record<string, Told[]>> => {
    const response = await fetch(`${address}/api/v1/alarms`);
    return response.json() as Promise<Record<string, Told[]>>;
  };
  const active = (await lists())["active"] ?? [];
  assert.equal(active.filter(({ alarm }) => alarm === "turns").length, turning);
  const say = (id: string, word: string, body: object) =>
    fetch(`${address}/api/v1/alarms/${id}/${word}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const said = await say(first.id, "acknowledge", { by: "anna", note: "it is meant to turn" });
  assert.equal(said.status, 200, await said.text());
  await until(() => events().some(({ acknowledged }) => acknowledged?.by === "anna"));
  assert.equal((await lists())["acknowledged"]?.length, 1);
  assert.equal((await say("0".repeat(32), "acknowledge", {})).status, 404);
  assert.equal((await say(first.id, "shelve", { minutes: 0 })).status, 400);
  await all.publish(
    "gateside/plant/agent/cmd/acknowledge",
    JSON.stringify({ id: first.id, action: "shelve", minutes: 5, by: "ben" }),
  );
  await until(() => all.onTopic("gateside/plant/agent/cmd/acknowledge/result").length > 0);
  assert.match(
    all.onTopic("gateside/plant/agent/cmd/acknowledge/result")[0]?.text ?? "",
    /"ok":true/,
  );
  assert.equal((await lists())["shelved"]?.length, 1);
  const audit = await (await fetch(`${address}/api/v1/alarms/audit`)).text();
  assert.match(audit, /"who":"ben".*"who":"anna"/);
  assert.match(
    await (await fetch(`${address}/metrics`)).text(),
    /gateside_alarms_active\{[^}]*severity="warning"/,
  );

  await agent.stop();
  write([]);
  plant.startAgent();
  await until(() => told("cleared").length === turning);
  await until(() => all.messages.findLast((message) => message.topic === topic)?.text === "");
  const closing = all.messages.findIndex(
    (message) =>
      message.topic.endsWith("/agent/event") &&
      message.text.includes("no longer configured") &&
      message.text.includes(`"${first.sensor}"`),
  );
  const emptied = all.messages.findIndex(
    (message) => message.topic === topic && message.text === "",
  );
  assert.ok(closing >= 0 && closing < emptied, `${closing} < ${emptied}`);
  const ids = events().map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length, "no event came twice");
});
