/** Uplinks of the built agent that come and go by a reload, over real brokers. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { profileOf } from "../../src/config/profiles.ts";
import { decode, valueOf } from "../features/sparkplug/peer.ts";
import { metricOf } from "../support/agent-answers.ts";
import { deadlineMs } from "../support/deadline.ts";
import {
  freePort,
  recordMessages,
  skipWithoutMosquitto,
  startMosquitto,
} from "../support/mosquitto.ts";
import { type BuiltAgent, type Plant, skipWithoutBuild, startPlant } from "../support/plant.ts";
import { until } from "../support/wait-until.ts";

const options = {
  skip: skipWithoutBuild || skipWithoutMosquitto,
  timeout: deadlineMs(90_000),
};
const WAIT_MS = 40_000;

const fileOf = (plant: Plant) => join(dirname(plant.siteFile), "uplinks.json");
const write = (plant: Plant, uplinks: readonly object[]) =>
  writeFileSync(fileOf(plant), JSON.stringify({ uplinks }));

async function reload(agent: BuiltAgent): Promise<void> {
  const applied = () => agent.log.filter(({ msg }) => msg === "reload applied").length;
  const before = applied();
  agent.process.kill("SIGHUP");
  await until("the reload is logged", () => applied() > before || undefined);
}

test(
  "uplinks – one added by a reload gets everything stored, one that is removed says so, its pending readings are reported and counted, and main's session continues",
  options,
  async (t) => {
    const plant = await startPlant(t, {
      simulator: { sensors: 4, speed: 20, cadenceS: { rpm: 30, loop: 30 } },
    });
    const dark = { name: "dark", url: `mqtt://127.0.0.1:${await freePort()}` };
    const guest = {
      name: "guest",
      url: plant.broker.url,
      topicPrefix: "guest",
      waveforms: "never",
    };
    write(plant, [dark]);
    const seen = await plant.subscribe();
    const ofGuest = await recordMessages(plant.broker.url, { topics: ["guest/#"] });
    t.after(() => ofGuest.close());
    const agent = plant.startAgent({ UPLINKS_FILE: fileOf(plant) });
    const idsOf = (messages: typeof seen.messages, prefix: string) =>
      messages
        .filter(({ topic }) =>
          new RegExp(`^${prefix}/plant/\\d+/(rpm|loop)(/history)?$`).test(topic),
        )
        .map(({ text }) => (JSON.parse(text) as { id: string }).id);
    await until(
      "main has some",
      () => new Set(idsOf(seen.messages, "gateside")).size > 20 || undefined,
    );
    const early = new Set(idsOf(seen.messages, "gateside"));

    write(plant, [dark, guest]);
    await reload(agent);
    await until("the guest has what was stored before it came", () => {
      const there = new Set(idsOf(ofGuest.messages, "guest"));
      return [...early].every((id) => there.has(id)) || undefined;
    });
    const ids = idsOf(ofGuest.messages, "guest");
    assert.equal(new Set(ids).size, ids.length, "a reading came twice");

    const lost = 'gateside_uplink_dropped_total{reason="uplink_removed",uplink="dark"}';
    write(plant, []);
    await reload(agent);
    const bye = await ofGuest.waitFor(
      ({ topic, text }) => topic === "guest/plant/agent/state" && text.includes('"offline"'),
      WAIT_MS,
    );
    assert.equal(JSON.parse(bye.text).reason, "removed");
    const gaps = () =>
      seen.messages
        .filter(({ topic }) => topic === "gateside/plant/agent/gap")
        .map(({ text }) => JSON.parse(text) as { uplink: string; reason: string; count: number })
        .filter(({ uplink }) => uplink === "dark");
    await until("everything that the unreachable uplink lost is reported", async () => {
      const counted = await metricOf(agent, lost);
      const sum = gaps().reduce((all, { count }) => all + count, 0);
      return (counted >= early.size && sum === counted) || undefined;
    });
    assert.ok(gaps().every(({ reason }) => reason === "uplink_removed"));
    assert.ok(ofGuest.messages.every(({ topic }) => !topic.endsWith("/agent/gap")));
    const words = seen.onTopic("gateside/plant/agent/state").map(({ text }) => JSON.parse(text));
    assert.deepEqual(
      words.filter(({ reason }) => reason === "started" || reason === "reconnected").length,
      1,
      "the session of main began once",
    );
    assert.equal(await agent.stop(), 0);
  },
);

test(
  "uplinks – two Sparkplug nodes count their sessions separately, across restarts and a renewal of one of them",
  options,
  async (t) => {
    const plant = await startPlant(t, { simulator: { sensors: 2 } });
    const other = await startMosquitto();
    const ofOne = await recordMessages(plant.broker.url, { topics: ["spBv1.0/#"] });
    const ofTwo = await recordMessages(other.url, { topics: ["spBv1.0/#"] });
    t.after(async () => {
      await ofOne.close();
      await ofTwo.close();
      await other.close();
    });
    const one = { name: "one", url: plant.broker.url, formats: ["sparkplug"] };
    const two = { name: "two", url: other.url, formats: ["sparkplug"] };
    const sessions = ({ messages }: typeof ofOne) =>
      messages
        .filter(({ topic }) => topic.includes("/NBIRTH/"))
        .map(({ payload }) =>
          Number(valueOf(decode(payload).metrics.find(({ name }) => name === "bdSeq"))),
        );
    const births = (ofWhich: typeof ofOne, count: number) =>
      until(`${count} births`, () => sessions(ofWhich).length >= count || undefined);
    write(plant, [one, two]);
    const first = plant.startAgent({ UPLINKS_FILE: fileOf(plant) });
    await births(ofOne, 1);
    await births(ofTwo, 1);
    write(plant, [one, { ...two, inflight: 7 }]);
    await reload(first);
    await births(ofTwo, 2);
    assert.deepEqual([sessions(ofOne), sessions(ofTwo)], [[0], [0, 1]]);
    assert.equal(await first.stop(), 0);
    plant.startAgent({ UPLINKS_FILE: fileOf(plant) });
    await births(ofOne, 2);
    await births(ofTwo, 3);
    assert.deepEqual(
      [sessions(ofOne), sessions(ofTwo)],
      [
        [0, 1],
        [0, 1, 2],
      ],
    );
  },
);

test("uplinks – an uplink for Home Assistant that is removed, or gets another profile, leaves no entities at the broker", {
  ...options,
  skip: options.skip || (profileOf("homeassistant") === null && "not built in"),
}, async (t) => {
  const plant = await startPlant(t, { simulator: { sensors: 2, historyDays: 0.01 } });
  const home = { name: "home", url: plant.broker.url, topicPrefix: "home", waveforms: "never" };
  const assistant = { ...home, profile: "homeassistant" };
  write(plant, [assistant]);
  const agent = plant.startAgent({ UPLINKS_FILE: fileOf(plant) });
  const seen = await recordMessages(plant.broker.url, { topics: ["homeassistant/#"] });
  t.after(() => seen.close());
  const entities = () => {
    const now = new Map(seen.messages.map(({ topic, text }) => [topic, text]));
    return [...now].filter(([, text]) => text !== "").map(([topic]) => topic);
  };
  const appear = () =>
    until("the entities of box and sensors", () =>
      entities().some((topic) => topic.includes("/gateside_plant/")) && entities().length > 3
        ? true
        : undefined,
    );
  await appear();
  write(plant, [home]);
  await reload(agent);
  await until("another profile has none", () => entities().length === 0 || undefined);

  write(plant, [assistant]);
  await reload(agent);
  await appear();
  write(plant, []);
  await reload(agent);
  await until("they go with the uplink", () => entities().length === 0 || undefined);

  // Removed while the agent is stopped: `main` is at the same broker.
  write(plant, [assistant]);
  await reload(agent);
  await appear();
  assert.equal(await agent.stop(), 0);
  assert.ok(entities().length > 3, "they stay while the agent is stopped");
  write(plant, []);
  const next = plant.startAgent({ UPLINKS_FILE: fileOf(plant) });
  await until("they go at the next start", () => entities().length === 0 || undefined);

  // And where nobody publishes at its broker any more, that is said.
  const far = await startMosquitto();
  t.after(() => far.close());
  write(plant, [{ ...assistant, url: far.url }]);
  await reload(next);
  const ofFar = await recordMessages(far.url, { topics: ["homeassistant/#"] });
  t.after(() => ofFar.close());
  await until("the entities at the other broker", () => ofFar.messages.length > 3 || undefined);
  assert.equal(await next.stop(), 0);
  write(plant, []);
  const last = plant.startAgent({ UPLINKS_FILE: fileOf(plant) });
  await until(
    "a warning",
    () => last.log.some(({ msg }) => /stay in Home Assistant/.test(String(msg))) || undefined,
  );
});
