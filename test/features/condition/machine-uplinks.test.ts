/** Machines at uplinks that differ in areas, names and what they retain, from the built agent over a real broker. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type TestContext, test } from "node:test";
import { deadlineMs } from "../../support/deadline.ts";
import { programEnvironment } from "../../support/fake-time.ts";
import { type SeenMessage, skipWithoutMosquitto } from "../../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../../support/plant.ts";
import { retainedAt } from "../../support/retained.ts";
import { decode } from "../sparkplug/peer.ts";

interface SiteSensor {
  readonly code: string;
  readonly location: {
    machine: number;
    area: number;
    readonly names: { machine: string; area: string };
  };
}
interface SiteText {
  sensors: SiteSensor[];
}
interface Listed {
  readonly uplink: string;
  readonly topic: string;
  readonly stream: string;
  readonly retained: boolean;
}

const AREA = 2;
const FAN = 41;
const hasMbpoll = spawnSync("mbpoll", ["-V"]).error === undefined;

/** Pump 1 stands in area 1, Fan 2 in area 2; each uplink tells of machines below its own prefix. */
async function startHall(t: TestContext) {
  const plant = await startPlant(t, {
    simulator: { sensors: 14 },
    env: {
      PUBLISH_MACHINES: "true",
      PUBLISH_FORMATS: "json,plain,sparkplug",
      SPARKPLUG_MACHINES: "true",
      MODBUS_PORT: "0",
    },
  });
  const { url } = plant.broker;
  const uplink = (name: string, more: object) => ({
    name,
    url,
    topicPrefix: name,
    machines: true,
    ...more,
  });
  const uplinks = [
    uplink("area", { select: { areas: [AREA] } }),
    uplink("names", { topics: { machine: "{prefix}/{site}/{area}/{machine}" } }),
    uplink("fleeting", { retain: false }),
    uplink("home", { profile: "homeassistant" }),
    uplink("sensors", { select: { sensors: ["100200300"] } }),
  ];
  const file = join(dirname(plant.siteFile), "uplinks.json");
  writeFileSync(file, JSON.stringify({ uplinks }));
  const env = { UPLINKS_FILE: file };
  const change = (edit: (site: SiteText) => void) => {
    const site = JSON.parse(readFileSync(plant.siteFile, "utf8")) as SiteText;
    edit(site);
    writeFileSync(plant.siteFile, JSON.stringify(site));
  };
  change(({ sensors }) => {
    for (const { location } of sensors) {
      if (location.machine !== FAN) continue;
      location.area = AREA;
      location.names.area = "Roof";
    }
  });
  const command = (...words: readonly string[]) => {
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [resolve("dist/gateside.js"), ...words],
      { env: { ...programEnvironment(), ...plant.env, ...env }, encoding: "utf8" },
    );
    assert.notEqual(stdout, "", stderr);
    return stdout;
  };
  return { plant, env, change, command };
}

const isOfMachine = ({ stream }: Listed) => /(^| )machine \d/.test(stream);
/** A plain value that there is not is an empty message. */
const isThere = (text: string | undefined, topic: string) =>
  text !== undefined && (text !== "" || /\/(zone|running)$/.test(topic));
const isDevice = (topic: string) => topic.startsWith("spBv1.0/");

test("machine uplinks – areas, names and what is retained, as `gateside topics` lists it; renamed, moved, removed and back again", {
  skip: skipWithoutMosquitto || skipWithoutBuild || (!hasMbpoll && "mbpoll is not installed"),
  timeout: deadlineMs(240_000),
}, async (t) => {
  const { plant, env, change, command } = await startHall(t);
  const seen = await plant.subscribe({ topics: ["#"] });
  const agent = plant.startAgent(env);
  const address = await agent.address;
  const listed = () =>
    (JSON.parse(command("topics", "--format", "json")) as { topics: Listed[] }).topics
      .filter(isOfMachine)
      .filter(({ topic }) => !isDevice(topic));
  const newest = (topic: string) =>
    seen.messages.findLast((message) => message.topic === topic)?.text;
  const kept = async () => {
    const retained = await retainedAt(plant, ["#"]);
    return retained.map(({ topic }) => topic).filter((topic) => isTold.has(topic));
  };
  const isTold = new Set<string>();
  const settled = async () => {
    const rows = listed();
    for (const { topic, retained } of rows) if (retained) isTold.add(topic);
    const gone = [...isTold].filter((topic) => rows.every((row) => row.topic !== topic));
    await seen.waitUntil(
      () =>
        rows.every(({ topic }) => isThere(newest(topic), topic)) &&
        gone.every((topic) => newest(topic) === ""),
      deadlineMs(60_000),
    );
    const retained = rows.filter(({ topic, retained: is }) => is && newest(topic) !== "");
    assert.deepEqual((await kept()).sort(), retained.map(({ topic }) => topic).sort());
    return rows.map(({ topic }) => topic);
  };
  const reload = async (edit: (site: SiteText) => void) => {
    change(edit);
    const answer = await fetch(`${address}/api/v1/reload`, { method: "POST" });
    assert.equal(answer.status, 200, await answer.text());
  };
  const registers = (machine: number) => {
    const line = command("modbus-map", "--format", "csv")
      .split("\n")
      .find((row) => row.includes(",condition,") && row.endsWith(`,${machine}`));
    const [register = ""] = line?.split(",") ?? [];
    return { register, words: line === undefined ? [] : wordsAt(port(), register) };
  };
  const port = () =>
    String(agent.log.find(({ msg }) => msg === "modbus listening")?.["address"])
      .split(":")
      .at(-1) ?? "";
  const device = (verb: string, id: string) => (message: SeenMessage) =>
    message.topic === `spBv1.0/plant/${verb}/gateside/${id}`;
  const nameOf = (topic: string) => JSON.parse(newest(topic) || "{}").name;

  const first = await settled();
  assert.ok(first.includes("area/plant/machine/41") && !first.includes("area/plant/machine/40"));
  assert.ok(first.includes("names/plant/Roof/Fan 2"));
  assert.ok(!first.some((topic) => topic.startsWith("sensors/")));
  const before = registers(FAN);
  assert.equal(before.words.length, 8);

  // Renamed: the same machine everywhere, at its new name where that is its topic. At others the name alone may take 15 minutes.
  await reload(({ sensors }) => {
    for (const { location } of sensors)
      if (location.machine === FAN) location.names.machine = "Blower 2";
  });
  await seen.waitUntil(
    () =>
      nameOf("names/plant/Roof/Blower 2") === "Blower 2" &&
      newest("names/plant/Roof/Fan 2") === "" &&
      (newest("homeassistant/sensor/gateside_plant_machine_41/zone/config") ?? "").includes(
        '"Blower 2"',
      ),
    deadlineMs(60_000),
  );
  await seen.waitFor(
    (message) =>
      /\/D(BIRTH|DATA)\/gateside\/100200559$/.test(message.topic) &&
      decode(message.payload).metrics.some(({ stringValue }) => stringValue === "Blower 2"),
    deadlineMs(60_000),
  );
  assert.ok(!seen.messages.some(device("DDEATH", "machine-41")));
  assert.equal(registers(FAN).register, before.register);

  // Moved out of the area.
  await reload(({ sensors }) => {
    for (const { location } of sensors) {
      if (location.machine !== FAN) continue;
      location.area = 1;
      location.names.area = "Boiler house";
    }
  });
  await seen.waitUntil(
    () =>
      newest("area/plant/machine/41") === "" &&
      newest("names/plant/Roof/Blower 2") === "" &&
      nameOf("names/plant/Boiler house/Blower 2") === "Blower 2",
    deadlineMs(60_000),
  );
  assert.equal(newest("gateside/plant/machine/41") === "", false);

  // Each has the other's name, and so its topic.
  await reload(({ sensors }) => {
    for (const { location } of sensors)
      location.names.machine = location.machine === FAN ? "Pump 1" : "Blower 2";
  });
  const machineAt = (name: string) =>
    JSON.parse(newest(`names/plant/Boiler house/${name}`) || "{}").machine;
  await seen.waitUntil(
    () => machineAt("Pump 1") === FAN && machineAt("Blower 2") === 40,
    deadlineMs(60_000),
  );

  // Removed, and back again.
  const removed: SiteSensor[] = [];
  await reload((site) => {
    removed.push(...site.sensors.filter(({ location }) => location.machine === FAN));
    site.sensors = site.sensors.filter(({ location }) => location.machine !== FAN);
  });
  await settled();
  await seen.waitFor(device("DDEATH", "machine-41"), deadlineMs(30_000));
  assert.deepEqual(wordsAt(port(), before.register).slice(0, 5), [0, 0, 0, 2, 0]);
  await reload(({ sensors }) => void sensors.push(...removed));
  await seen.waitUntil(
    (messages) =>
      messages.findLastIndex(device("DBIRTH", "machine-41")) >
      messages.findLastIndex(device("DDEATH", "machine-41")),
    deadlineMs(30_000),
  );
  await settled();
  assert.equal(registers(FAN).register, before.register);
  await agent.stop();
});

/** As mbpoll, another program on another library, reads them. */
function wordsAt(port: string, register: string): number[] {
  const options = ["-m", "tcp", "-p", port, "-0", "-B", "-1", "-r", register, "-c", "8", "-t", "4"];
  const { stdout, stderr } = spawnSync("mbpoll", [...options, "127.0.0.1"], { encoding: "utf8" });
  const words = [...stdout.matchAll(/^\[\d+\]:\s+(\d+)/gm)].map(([, word]) => Number(word));
  assert.equal(words.length, 8, `${stdout}${stderr}`);
  return words;
}
