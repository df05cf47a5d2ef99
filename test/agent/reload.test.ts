/** The built program while its files change: a reload takes in what differs, loses and doubles nothing, and refuses faults whole. */
import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { deadlineMs } from "../support/deadline.ts";
import { type RecordingSubscriber, skipWithoutMosquitto } from "../support/mosquitto.ts";
import { type BuiltAgent, type Plant, skipWithoutBuild, startPlant } from "../support/plant.ts";
import { runCommand } from "../support/run-command.ts";
import { until } from "../support/wait-until.ts";

const options = {
  skip: skipWithoutMosquitto || skipWithoutBuild,
  timeout: deadlineMs(90_000),
};

interface SiteJson {
  site: string;
  sensors: { code: string; name?: string; kinds: string[] }[];
}

const siteOf = (plant: Plant) => JSON.parse(readFileSync(plant.siteFile, "utf8")) as SiteJson;
const write = (plant: Plant, site: unknown) =>
  writeFileSync(plant.siteFile, typeof site === "string" ? site : JSON.stringify(site));

interface Status {
  configuration: string;
  pendingRestart: string[];
  configurationFaults: string[];
  http: { address: string | null; lastError: string | null };
  sensors: { code: string; state: string }[];
}

async function statusOf(agent: BuiltAgent): Promise<Status> {
  return (await (await fetch(`${await agent.address}/api/v1/status`)).json()) as Status;
}

const logged = (agent: BuiltAgent, msg: string | RegExp) =>
  agent.log.filter((line) => String(line["msg"]).match(msg)).length;

async function hangUp(agent: BuiltAgent, answer: RegExp): Promise<void> {
  const before = logged(agent, answer);
  agent.process.kill("SIGHUP");
  await until("the reload is logged", () => logged(agent, answer) > before || undefined);
}

/** A reading as the API returns it, and as it is published. */
interface PublishedReading {
  readonly id: string;
  readonly kind: string;
  readonly storedAtMs: number;
  readonly values: Readonly<Record<string, unknown>>;
  readonly raw?: Readonly<Record<string, unknown>>;
}

/** Far longer than an answer of a few small records takes. */
const UNDER_WAY_MS = deadlineMs(2_000);

const publishedOf = (seen: RecordingSubscriber) =>
  new Map(
    seen.messages
      .filter(({ topic }) => /\/(current|accel)(\/history)?$/.test(topic))
      .map(({ text }) => JSON.parse(text) as PublishedReading)
      .map((one) => [one.id, one]),
  );

test(
  "reload – sensors are added, changed and removed on SIGHUP: nothing is lost or duplicated, no session and no unchanged sensor is affected",
  options,
  async (t) => {
    const plant = await startPlant(t, {
      simulator: {
        sensors: 6,
        speed: 20,
        cadenceS: { rpm: 30, loop: 30, current: 30, currentV2: 30, dryContact: 30 },
      },
    });
    const whole = siteOf(plant);
    const [first, second, ...rest] = whole.sensors;
    assert.ok(first && second);
    write(plant, { ...whole, sensors: [first, second] });
    const seen = await plant.subscribe();
    const agent = plant.startAgent();
    await seen.waitFor(({ topic }) => topic.startsWith(`gateside/plant/${first.code}/`));
    const before = await statusOf(agent);

    write(plant, { ...whole, sensors: [{ ...first, name: "renamed" }, ...rest] });
    await hangUp(agent, /^reload applied$/);
    for (const { code } of rest) {
      await seen.waitFor(
        ({ topic }) => topic.startsWith(`gateside/plant/${code}/`) && !topic.endsWith("/state"),
        30_000,
      );
    }
    const after = await statusOf(agent);
    assert.notEqual(after.configuration, before.configuration);
    assert.deepEqual(
      after.sensors.map(({ code }) => code),
      [first.code, ...rest.map(({ code }) => code)],
    );
    await seen.waitFor(
      ({ topic, text }) =>
        topic.startsWith(`gateside/plant/${first.code}/`) && text.includes('"name":"renamed"'),
      30_000,
    );
    await seen.waitFor(({ text }) => text.includes('"reason":"reconfigured"'), 15_000);
    const states = seen.onTopic("gateside/plant/agent/state").map(({ text }) => JSON.parse(text));
    assert.deepEqual(
      states.map(({ reason }) => reason),
      ["started", "reconfigured"],
    );
    assert.equal(states.at(-1).configuration, after.configuration);
    assert.deepEqual(states.at(-1).pendingRestart, []);

    const ids = seen.messages
      .filter(({ topic }) =>
        /\/(rpm|loop|current|currentV2|dryContact|accel|accCurrent)(\/history)?$/.test(topic),
      )
      .map(({ text }) => (JSON.parse(text) as { id: string }).id);
    assert.equal(new Set(ids).size, ids.length, "a reading came twice");

    // The file as it was: the digest is that of the content, whoever wrote it how.
    write(plant, JSON.stringify({ ...whole, sensors: [first, second] }, null, 2));
    await hangUp(agent, /^reload applied$/);
    assert.equal((await statusOf(agent)).configuration, before.configuration);
  },
);

test(
  "reload – a changed clamp or class applies to later readings: stored and published ones keep their id and values",
  options,
  async (t) => {
    const plant = await startPlant(t, {
      simulator: {
        sensors: 6,
        speed: 20,
        historyDays: 0.01,
        cadenceS: { current: 20, accel: 20 },
        waveform: { samples: 256 },
      },
      env: { PUBLISH_RAW: "true" },
    });
    const whole = siteOf(plant);
    const having = (kind: string) => {
      const found = whole.sensors.find(({ kinds }) => kinds.includes(kind));
      assert.ok(found);
      return { ...found, pollIntervalS: 1 };
    };
    const [clamped, shaken] = [having("current"), having("accel")];
    const site = (clamp: number, limits: readonly number[]) => ({
      ...whole,
      sensors: [
        { ...clamped, channels: { current1: { clamp } } },
        { ...shaken, machineClass: "class4", limits },
      ],
    });
    write(plant, site(50, [1e6, 2e6, 3e6]));
    const seen = await plant.subscribe();
    const agent = plant.startAgent();
    const stored = async () => {
      const lists = [`${clamped.code}&kind=current`, `${shaken.code}&kind=accel`].map(
        async (of) => {
          // The plant's time runs ahead of ours.
          const [from, to] = [-1, 1].map((days) =>
            new Date(Date.now() + days * 86_400_000).toISOString(),
          );
          const range = `limit=1000&from=${from}&to=${to}`;
          const url = `${await agent.address}/api/v1/readings?${range}&sensor=${of}`;
          return ((await (await fetch(url)).json()) as { readings: PublishedReading[] }).readings;
        },
      );
      return (await Promise.all(lists)).flat();
    };
    const before = await until("both kinds are stored", async () => {
      const now = await stored();
      return new Set(now.map(({ kind }) => kind)).size === 2 ? now : undefined;
    });
    const beganAt = Date.now();
    write(plant, site(500, [1e-6, 2e-6, 3e-6]));
    await hangUp(agent, /^reload applied$/);
    const appliedAt = Date.now();
    /** An answer that was under way ends as it began: what came so long after is of another one. */
    const renewedAt = (readings: readonly PublishedReading[], kind: string) =>
      readings
        .filter((one) => one.kind === kind && one.storedAtMs > appliedAt + UNDER_WAY_MS)
        .map((one) => one.storedAtMs)
        .sort((a, b) => a - b)[0];
    const after = await until("both kinds are converted anew", async () => {
      const now = await stored();
      return renewedAt(now, "current") && renewedAt(now, "accel") ? now : undefined;
    });
    const values = new Map(after.map((one) => [one.id, one.values]));
    for (const one of before) assert.deepEqual(values.get(one.id), one.values);
    await until("all of them are published", () => {
      const ids = publishedOf(seen);
      return after.every(({ id }) => ids.has(id)) || undefined;
    });
    const published = publishedOf(seen);
    for (const one of after) {
      const raw = Number(published.get(one.id)?.raw?.["current1"]);
      assert.deepEqual(published.get(one.id)?.values, one.values, "as it is stored");
      const isOld = one.storedAtMs < beganAt;
      if (!isOld && one.storedAtMs < (renewedAt(after, one.kind) ?? 0)) continue;
      if (one.kind === "accel") assert.equal(one.values["channel1_zone"], isOld ? "A" : "D");
      else {
        const factor = Number(one.values["current1"]) / raw;
        assert.ok(Math.abs(factor / (isOld ? 0.5 : 5) - 1) < 1e-3, `factor ${factor}`);
      }
    }
    const old = after.filter(({ storedAtMs }) => storedAtMs < beganAt).length;
    assert.ok(old > 0 && old < after.length);
  },
);

test(
  "reload – an error leaves the running configuration unchanged and is reported everywhere, until a reload succeeds",
  options,
  async (t) => {
    const plant = await startPlant(t, { simulator: { sensors: 2 } });
    const good = siteOf(plant);
    const seen = await plant.subscribe();
    const agent = plant.startAgent();
    const before = await statusOf(agent);
    write(plant, {
      ...good,
      sensors: [...good.sensors, { code: "x y", type: 1, kinds: ["nonsense"] }],
    });
    const env = { ...plant.env };
    const refused = await runCommand(["reload"], { env });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /sensors\[2\]\.kinds/);
    const status = await statusOf(agent);
    assert.equal(status.configuration, before.configuration);
    assert.match(status.configurationFaults.join(), /sensors\[2\]\.kinds/);
    assert.equal(status.sensors.length, 2);
    await seen.waitFor(
      ({ topic, text }) => topic.endsWith("agent/stats") && text.includes("sensors[2]"),
      15_000,
    );
    const text = await runCommand(["status"], { env });
    assert.match(text.stdout, /^reload +LAST RELOAD REFUSED.*sensors\[2\]\.kinds/m);
    assert.equal(text.code, 1);
    const faults = await (await fetch(`${await agent.address}/api/v1/faults`)).text();
    assert.match(faults, /reload_refused/);

    write(plant, { ...good, site: "another" });
    const renamed = await runCommand(["reload"], { env });
    assert.equal(renamed.code, 1);
    assert.match(renamed.stderr, /restart the agent/);

    write(plant, good);
    const mended = await runCommand(["reload"], { env });
    assert.equal(mended.code, 0, mended.stderr);
    assert.match(mended.stdout, /nothing has changed/);
    assert.deepEqual((await statusOf(agent)).configurationFaults, []);
  },
);

test(
  "reload – changed settings wait for a restart and are named, secrets compared and never shown; check --diff says what a reload would do",
  options,
  async (t) => {
    const plant = await startPlant(t, { simulator: { sensors: 3 } });
    const { MQTT_URL: url = "", ...env } = plant.env;
    const dotEnv = join(dirname(plant.siteFile), ".env");
    writeFileSync(dotEnv, `MQTT_URL=${url}\nMQTT_USERNAME=me\nMQTT_PASSWORD=first-secret\n`);
    // The harness's environment wins over .env, so what is to change is taken out of it.
    const agent = plant.startAgent({ MQTT_URL: "" });
    await agent.address;
    const at = { env: { ...env, MQTT_URL: "" }, cwd: dirname(plant.siteFile) };
    const same = await runCommand(["check", "--diff"], at);
    assert.match(same.stdout, /The running agent uses this configuration/);

    writeFileSync(
      dotEnv,
      `MQTT_URL=${url}\nMQTT_USERNAME=me\nMQTT_PASSWORD=other-secret\nPOLL_INTERVAL_S=1\nLOG_LEVEL=debug\n`,
    );
    const [gone, ...rest] = siteOf(plant).sensors;
    write(plant, {
      ...siteOf(plant),
      sensors: rest.map((one, i) => (i === 0 ? { ...one, name: "another" } : one)),
    });
    const diff = await runCommand(["check", "--diff", "--json"], at);
    const { running } = JSON.parse(diff.stdout);
    assert.deepEqual(running.pendingRestart.sort(), ["LOG_LEVEL", "MQTT_PASSWORD"]);
    assert.deepEqual(running.changes.sensors.removed, [gone?.code]);
    assert.deepEqual(running.changes.sensors.changed, [{ code: rest[0]?.code, fields: ["name"] }]);
    assert.equal((await statusOf(agent)).sensors.length, 3, "check applies nothing");
    const off = { ...at, env: { ...at.env, PUBLISH_FORMATS: "plain", PUBLISH_WAVEFORMS: "never" } };
    const switched = await runCommand(["check", "--diff"], off);
    assert.match(
      switched.stdout,
      /uplink main, json: off; (\d+ undelivered readings|of \d+ undelivered readings, the newest)/,
    );
    assert.match(
      switched.stdout,
      /uplink main, waveform: off; \d+ undelivered measurements are dropped/,
    );

    const reload = await runCommand(["reload"], at);
    assert.match(reload.stdout, /waiting for a restart: .*MQTT_PASSWORD/);
    const status = await statusOf(agent);
    assert.deepEqual(status.pendingRestart.sort(), ["LOG_LEVEL", "MQTT_PASSWORD"]);
    const all = [
      diff.stdout,
      reload.stdout,
      JSON.stringify(status),
      JSON.stringify(agent.log),
    ].join();
    assert.doesNotMatch(all, /first-secret|other-secret/);
    assert.equal(reload.stderr, "", "warnings come with the agent's answer, once");

    write(plant, { ...siteOf(plant), site: "renamed" });
    const renamed = await runCommand(["check", "--diff"], at);
    assert.match(renamed.stdout, /a reload would be refused: .*"renamed".*restart the agent/);
    assert.doesNotMatch(renamed.stdout, /A reload would make these changes/);
  },
);

test(
  "check --diff – names an uplink whose password file or signed address has other content, as the reload does, and main's, without showing any",
  options,
  async (t) => {
    const plant = await startPlant(t, { simulator: { sensors: 2 } });
    const at = (name: string) => join(dirname(plant.siteFile), name);
    for (const name of ["cloud", "main"]) writeFileSync(at(name), `first-${name}`);
    const cloud = {
      name: "cloud",
      url: plant.broker.url,
      username: "me",
      passwordFile: at("cloud"),
      topicPrefix: "cloud",
    };
    const writeUplinks = (key: string) => {
      const url = `${plant.broker.url.replace("mqtt:", "ws:")}/mqtt?key=${key}`;
      const signed = { name: "signed", url, topicPrefix: "signed" };
      writeFileSync(at("uplinks.json"), JSON.stringify({ uplinks: [cloud, signed] }));
    };
    writeUplinks("first");
    const more = {
      UPLINKS_FILE: at("uplinks.json"),
      MQTT_USERNAME: "me",
      MQTT_PASSWORD_FILE: at("main"),
    };
    const agent = plant.startAgent(more);
    await agent.address;
    const env = { ...plant.env, ...more };
    const diff = async () =>
      JSON.parse((await runCommand(["check", "--diff", "--json"], { env })).stdout).running;
    assert.deepEqual((await diff()).changes.uplinks.changed, []);
    for (const name of ["cloud", "main"]) writeFileSync(at(name), `other-${name}`);
    writeUplinks("other");
    const { changes, pendingRestart } = await diff();
    assert.deepEqual(changes.uplinks.changed, [
      { name: "main", fields: ["password"] },
      { name: "cloud", fields: ["password"] },
      { name: "signed", fields: ["urls"] },
    ]);
    assert.deepEqual(pendingRestart, []);
    const reload = await runCommand(["reload", "--json"], { env });
    assert.deepEqual(JSON.parse(reload.stdout).changes.uplinks, changes.uplinks);
    assert.deepEqual((await diff()).changes.uplinks.changed, []);
  },
);

test(
  "http – a port in use does not stop data collection: it is reported and retried",
  options,
  async (t) => {
    const plant = await startPlant(t, { simulator: { sensors: 2 } });
    const squatter = createServer();
    await new Promise<void>((resolve) => squatter.listen(0, "127.0.0.1", resolve));
    const { port } = squatter.address() as AddressInfo;
    t.after(() => squatter.close());
    const seen = await plant.subscribe();
    const agent = plant.startAgent({ HTTP_PORT: String(port) });
    await seen.waitFor(
      ({ topic, text }) => topic.endsWith("agent/state") && text.includes("online"),
    );
    const env = { ...plant.env, HTTP_PORT: String(port) };
    const shown = await runCommand(["status"], { env });
    assert.match(shown.stdout, /HTTP_PORT: .* is in use by another program/);
    await new Promise<void>((resolve) => squatter.close(() => resolve()));
    await agent.address;
    const well = await runCommand(["status", "--json"], { env });
    assert.equal(JSON.parse(well.stdout).http.lastError, null);
  },
);

test(
  "data directory – if it is deleted while the agent runs, the agent reports it and ends, and the next start uses a new store",
  options,
  async (t) => {
    const plant = await startPlant(t, { simulator: { sensors: 2 } });
    const agent = plant.startAgent();
    await agent.address;
    rmSync(plant.dataDir, { recursive: true });
    assert.equal((await fetch(`${await agent.address}/healthz`)).status, 503);
    assert.equal(await agent.ended, 1);
    assert.ok(agent.log.some((line) => JSON.stringify(line).includes("deleted or replaced")));
    const seen = await plant.subscribe();
    plant.startAgent();
    await seen.waitFor(({ topic }) => /\/plant\/\d+\/[a-zA-Z0-9]+$/.test(topic), 30_000);
  },
);
