/** Alarms over the whole house: the built program, a real broker, and a limit that the simulated plant passes. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { deadlineMs } from "../../support/deadline.ts";
import { skipWithoutMosquitto } from "../../support/mosquitto.ts";
import { type BuiltAgent, skipWithoutBuild, startPlant } from "../../support/plant.ts";

/** Enough of a plant for one alarm, twenty times as fast as ours. */
const SIMULATOR = {
  sensors: 7,
  historyDays: 0.02,
  speed: 20,
  waveform: { sampleRateHz: 6400, samples: 256 },
};

interface Told {
  readonly id: string;
  readonly state: string;
  readonly alarm: string;
  readonly sensor: string;
  readonly acknowledged: { readonly by: string } | null;
}

test("alarms – are published once each, retained while active, acknowledged, and removed when no longer configured", {
  skip: skipWithoutBuild || skipWithoutMosquitto,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const plant = await startPlant(t, {
    simulator: {
      ...SIMULATOR,
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
  const { entries } = JSON.parse(await (await fetch(`${address}/api/v1/audit`)).text());
  const { who, what, detail, outcome } = entries[0];
  const entry = ["MQTT main", "agent/cmd/acknowledge", `shelve ${first.id}`, "done"];
  assert.deepEqual([who, what, detail, outcome], entry);
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

test("alarms – keep their ids after a kill, end if the broker refuses events, and are cleared when disabled", {
  skip: skipWithoutBuild || skipWithoutMosquitto,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const plant = await startPlant(t, {
    simulator: {
      ...SIMULATOR,
      cadenceS: { current: 600, currentV2: 600, loop: 600, dryContact: 600, rpm: 20, accel: 600 },
    },
    broker: { acl: "topic readwrite #\ntopic deny deaf/plant/agent/event" },
    env: { PUBLISH_FORMATS: "json,sparkplug" },
  });
  const site: { sensors: { code: string; kinds: string[] }[] } = JSON.parse(
    readFileSync(plant.siteFile, "utf8"),
  );
  const codesOf = (kind: string) =>
    site.sensors.filter(({ kinds }) => kinds.includes(kind)).map(({ code }) => code);
  const turning = codesOf("rpm");
  const [code] = turning;
  const rule = (name: string) => ({ name, select: { values: ["rpm"] }, high: 1 });
  const shock = { name: "shock", select: { values: ["*_accel_rms"] }, high: 1e-6 };
  const write = (alarms: unknown) =>
    writeFileSync(plant.siteFile, JSON.stringify({ ...site, alarms }));
  const uplinksFile = join(dirname(plant.siteFile), "uplinks.json");
  const deaf = {
    name: "deaf",
    url: plant.broker.url,
    version: 5,
    topicPrefix: "deaf",
    waveforms: "never",
  };
  const flat = { ...deaf, name: "flat", topicPrefix: "flat", retain: false };
  writeFileSync(uplinksFile, JSON.stringify({ uplinks: [deaf, flat] }));
  write([rule("turns"), rule("spins"), shock]);
  const all = await plant.subscribe();
  const start = (env = {}): BuiltAgent => plant.startAgent({ UPLINKS_FILE: uplinksFile, ...env });
  const until = (done: () => boolean) => all.waitUntil(done, deadlineMs(30_000));
  const topicOf = (prefix: string, alarm: string) => `${prefix}/plant/${code}/alarm/${alarm}/rpm`;
  const stands = (topic: string) => {
    const text = all.messages.findLast((message) => message.topic === topic)?.text;
    return text === undefined || text === "" ? null : (JSON.parse(text) as Told).id;
  };
  const events = (): Told[] =>
    all.onTopic("gateside/plant/agent/event").map(({ text }) => JSON.parse(text));
  /** Live readings that came after a message. */
  const readingsSince = (at: number) =>
    all.messages.slice(at).filter(({ topic }) => topic === `gateside/plant/${code}/rpm`).length;
  /** AccelSev of all axes that the query service knows. */
  const severities = async (agent: BuiltAgent): Promise<unknown[]> => {
    const response = await fetch(`${await agent.address}/ApiWeb.svc/GetCurrentMeasures`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"Token":"x"}',
    });
    const text = await response.text();
    return [...text.matchAll(/AccelSev\W+(null|\d+)/g)].map(([, found]) => found);
  };

  const first = start();
  const watched = [
    topicOf("gateside", "turns"),
    topicOf("deaf", "turns"),
    topicOf("deaf", "spins"),
  ];
  await until(() => watched.every((topic) => stands(topic) !== null));
  await until(() => events().some(({ alarm }) => alarm === "shock"));
  await until(() => events().filter(({ alarm }) => alarm === "spins").length === turning.length);
  assert.deepEqual([...new Set(await severities(first))], ["3"]);
  const before = new Map(events().map((event) => [event.id, event.state]));
  const ids = watched.map(stands);
  await first.kill();

  const killedAt = all.messages.length;
  write([rule("turns"), shock]);
  const second = start();
  await until(() => readingsSince(killedAt) >= 2);
  await until(() => events().filter(({ state }) => state === "cleared").length >= turning.length);
  // Its closing event is refused for ever there; the topic must not say for ever that it is active.
  await until(() => stands(topicOf("deaf", "spins")) === null);
  assert.equal(all.onTopic("deaf/plant/agent/event").length, 0);
  const raised = events().filter(({ alarm, state }) => alarm === "turns" && state === "active");
  assert.ok(
    raised.every(({ id }) => before.has(id)),
    "nothing is raised a second time",
  );
  assert.deepEqual(watched.slice(0, 2).map(stands), ids.slice(0, 2));
  const late = await plant.subscribe({ topics: [topicOf("gateside", "turns")] });
  const [retained] = [await late.waitFor(() => true, deadlineMs(10_000))];
  assert.equal((JSON.parse(retained.text) as Told).id, ids[0]);
  await all.waitUntil(
    () => all.onTopic("flat/plant/agent/event").some(({ text }) => text.includes("cleared")),
    deadlineMs(30_000),
  );
  assert.ok(!all.messages.some(({ topic }) => /^flat\/.*\/alarm\//.test(topic)), "not retained");
  await second.stop();

  const stoppedAt = all.messages.length;
  const third = start({ ALARMS_ENABLED: "false" });
  await until(() => watched.every((topic) => stands(topic) === null));
  await until(() => readingsSince(stoppedAt) >= 2);
  const since = all.messages.slice(stoppedAt);
  assert.ok(since.some(({ topic }) => topic.includes("/DBIRTH/")));
  const told = since.filter(
    ({ topic, text }) =>
      topic.endsWith("/agent/event") ||
      (/\/alarm\//.test(topic) && text !== "") ||
      (topic.startsWith("spBv1.0/") && /alarm\/(turns|spins|shock)/.test(text)),
  );
  assert.deepEqual(
    told.map(({ topic }) => topic),
    [],
  );
  assert.deepEqual([...new Set(await severities(third))], ["null"]);
  assert.equal((await fetch(`${await third.address}/api/v1/alarms`)).status, 501);
});
