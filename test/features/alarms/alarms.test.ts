/** Alarms over the whole house: the built program, a real broker, and a limit that the simulated plant passes. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { deadlineMs } from "../../support/deadline.ts";
import { skipWithoutMosquitto } from "../../support/mosquitto.ts";
import { type BuiltAgent, skipWithoutBuild } from "../../support/plant.ts";
import { turningPlant } from "../../support/turning-plant.ts";

interface SeenEvent {
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
  const { plant, all, turning, code, machine, write, until, topicOf, last } = await turningPlant(
    t,
    {
      cadenceS: { current: 60, currentV2: 60, loop: 60, dryContact: 60 },
      env: { COMMANDS_ENABLED: "true" },
    },
  );
  const own = { name: "own", url: plant.broker.url, topicPrefix: "own" };
  const uplinks = [{ ...own, select: { machines: [machine] } }];
  const env = { UPLINKS_FILE: join(dirname(plant.siteFile), "uplinks.json") };
  writeFileSync(env.UPLINKS_FILE, JSON.stringify({ uplinks }));
  write([{ name: "turns", select: { values: ["rpm"] }, high: 1, delay: { readings: 2 } }]);
  const agent = plant.startAgent(env);
  const address = await agent.address;
  const events = (prefix = "gateside"): SeenEvent[] =>
    all.messages
      .filter(({ topic }) => topic === `${prefix}/plant/agent/event`)
      .map(({ text }) => JSON.parse(text));
  const turns = (state: string) =>
    events().filter((event) => event.alarm === "turns" && event.state === state);
  await until(() => new Set(turns("active").map(({ sensor }) => sensor)).size === turning.length);
  const [first] = turns("active");
  assert.ok(first);
  const topic = topicOf(first.sensor, "turns");
  await until(() => all.messages.some((message) => message.topic === topic));

  const lists = async (): Promise<Record<string, SeenEvent[]>> => {
    const response = await fetch(`${address}/api/v1/alarms`);
    return response.json() as Promise<Record<string, SeenEvent[]>>;
  };
  const active = (await lists())["active"] ?? [];
  assert.equal(active.filter(({ alarm }) => alarm === "turns").length, turning.length);
  const counted = async (): Promise<number> => {
    const response = await fetch(`${address}/api/v1/status`);
    return ((await response.json()) as { activeAlarms: { warning: number } }).activeAlarms.warning;
  };
  assert.ok((await counted()) >= turning.length);
  const act = (id: string, word: string, body: object) =>
    fetch(`${address}/api/v1/alarms/${id}/${word}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const acknowledged = await act(first.id, "acknowledge", {
    by: "anna",
    note: "it is meant to turn",
  });
  assert.equal(acknowledged.status, 200, await acknowledged.text());
  await until(() => events().some(({ acknowledged }) => acknowledged?.by === "anna"));
  assert.equal((await lists())["acknowledged"]?.length, 1);
  assert.equal((await act("0".repeat(32), "acknowledge", {})).status, 404);
  assert.equal((await act(first.id, "shelve", { minutes: 0 })).status, 400);
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

  const atOwn = topicOf(code, "turns", "own");
  await until(() => Boolean(last(atOwn)));
  await agent.stop();
  write([], code);
  plant.startAgent(env);
  await until(() => turns("cleared").length === turning.length);
  // An uplink that selects by machines has lost the sensor's place, and still gets the end of its alarm.
  await until(() => last(atOwn) === "");
  assert.ok(events("own").some(({ state, sensor }) => state === "cleared" && sensor === code));
  await until(() => last(topic) === "");
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
  const { plant, all, turning, code, write, until, topicOf, last } = await turningPlant(t, {
    broker: { acl: "topic readwrite #\ntopic deny deaf/plant/agent/event" },
    env: { PUBLISH_FORMATS: "json,sparkplug" },
  });
  const rule = (name: string) => ({ name, select: { values: ["rpm"] }, high: 1 });
  const shock = { name: "shock", select: { values: ["*_accel_rms"] }, high: 1e-6 };
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
  const start = (env = {}): BuiltAgent => plant.startAgent({ UPLINKS_FILE: uplinksFile, ...env });
  const stands = (topic: string) => {
    const text = last(topic);
    return text === undefined || text === "" ? null : (JSON.parse(text) as SeenEvent).id;
  };
  const events = (): SeenEvent[] =>
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
    topicOf(code, "turns"),
    topicOf(code, "turns", "deaf"),
    topicOf(code, "spins", "deaf"),
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
  await until(() => stands(topicOf(code, "spins", "deaf")) === null);
  assert.equal(all.onTopic("deaf/plant/agent/event").length, 0);
  const raised = events().filter(({ alarm, state }) => alarm === "turns" && state === "active");
  assert.ok(
    raised.every(({ id }) => before.has(id)),
    "nothing is raised a second time",
  );
  assert.deepEqual(watched.slice(0, 2).map(stands), ids.slice(0, 2));
  const late = await plant.subscribe({ topics: [topicOf(code, "turns")] });
  const [retained] = [await late.waitFor(() => true, 10_000)];
  assert.equal((JSON.parse(retained.text) as SeenEvent).id, ids[0]);
  await until(() =>
    all.onTopic("flat/plant/agent/event").some(({ text }) => text.includes("cleared")),
  );
  assert.ok(!all.messages.some(({ topic }) => /^flat\/.*\/alarm\//.test(topic)), "not retained");
  await second.stop();

  const stoppedAt = all.messages.length;
  const third = start({ ALARMS_ENABLED: "false" });
  await until(() => watched.every((topic) => stands(topic) === null));
  await until(() => readingsSince(stoppedAt) >= 2);
  const since = all.messages.slice(stoppedAt);
  assert.ok(since.some(({ topic }) => topic.includes("/DBIRTH/")));
  const published = since.filter(
    ({ topic, text }) =>
      topic.endsWith("/agent/event") ||
      (/\/alarm\//.test(topic) && text !== "") ||
      (topic.startsWith("spBv1.0/") && /alarm\/(turns|spins|shock)/.test(text)),
  );
  assert.deepEqual(
    published.map(({ topic }) => topic),
    [],
  );
  assert.deepEqual([...new Set(await severities(third))], ["null"]);
  assert.equal((await fetch(`${await third.address}/api/v1/alarms`)).status, 501);
});
