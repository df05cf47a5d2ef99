import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { type TestContext, test } from "node:test";
import { ignitionTags } from "../../src/cli/topics-ignition.ts";
import type { ListedTopic } from "../../src/cli/topics-list.ts";
import { runCommand } from "../support/run-command.ts";

const ENV = {
  GATEWAY_URL: "http://gateway",
  MQTT_URL: "mqtt://broker",
  SITE_FILE: resolve("config/examples/plant.json"),
};
const topics = (words: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  runCommand(["topics", ...words], { env: { ...ENV, ...env } });

function uplinksFile(t: TestContext, uplink: object): string {
  const directory = mkdtempSync(join(tmpdir(), "gateside-topics-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const path = join(directory, "uplinks.json");
  writeFileSync(path, JSON.stringify({ uplinks: [uplink] }));
  return path;
}

test("topics – each format lists the same topics, with type and unit", async () => {
  const formats = { PUBLISH_FORMATS: "json,plain,sparkplug" };
  const { topics: json, uplinks } = JSON.parse(
    (await topics(["--format", "json"], formats)).stdout,
  );
  const csv = (await topics(["--format", "csv"], formats)).stdout.trimEnd().split("\n");
  const table = (await topics([], formats)).stdout.trimEnd().split("\n");
  assert.equal(csv.length, json.length + 1);
  // A blank line and the month of the one uplink follow.
  assert.equal(table.length, json.length + 4);
  const [{ uplink, messagesPerMonth, bytesPerMonth }] = uplinks;
  const count = (value: number) => value.toLocaleString("en-US");
  const month = `${uplink} +${count(messagesPerMonth)} +${count(bytesPerMonth)} bytes`;
  assert.match(table.at(-1) ?? "", new RegExp(`^main .*|${month}`));
  const value = json.find(
    (row: { topic: string }) => row.topic === "gateside/plant-7/20871/currentV2/current1_avg",
  );
  assert.deepEqual(
    [value.format, value.type, value.unit, value.name, value.qos, value.retained],
    ["plain", "number", "A", "L1", 1, true],
  );
  assert.ok(
    csv.includes(
      "main,plain,gateside/plant-7/20871/currentV2/current1_avg,,20871,currentV2,current1_avg,L1,,number,A,,,1,true,value current1_avg of 20871 currentV2",
    ),
  );
});

test("topics – command responses, alarm actions and signed configurations are listed if they are enabled", async (t) => {
  const listed = async (more: Record<string, string>) =>
    (await topics(["--format", "csv"], more)).stdout.match(/agent\/cmd\/\w+\/result/g) ?? [];
  assert.deepEqual(await listed({}), []);
  const directory = mkdtempSync(join(tmpdir(), "gateside-keys-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const path = join(directory, "fleet.pub.pem");
  const { publicKey } = generateKeyPairSync("ed25519");
  writeFileSync(path, publicKey.export({ type: "spki", format: "pem" }));
  // Nothing of it is taken over an uplink that takes no commands.
  const UPLINKS_FILE = uplinksFile(t, { name: "cloud", url: "mqtt://cloud" });
  const all = { COMMANDS_ENABLED: "true", CONFIG_PUBLIC_KEY_FILE: path, UPLINKS_FILE };
  assert.deepEqual(await listed(all), [
    "agent/cmd/saveSettings/result",
    "agent/cmd/acknowledge/result",
    "agent/cmd/site/result",
  ]);
});

test("topics – tag files for FUXA and Ignition, and what to change if they would be empty", async () => {
  const [device] = JSON.parse(
    (await topics(["--format", "fuxa"], { PUBLISH_FORMATS: "plain" })).stdout,
  );
  // FUXA client/src/app/_models/device.ts: Device, Tag; topic-property.component.ts: a raw tag's address, memaddress, options.subs.
  const tag = Object.values<Record<string, unknown>>(device.tags).find(
    ({ address }) => address === "gateside/plant-7/30007/loop/channel1",
  );
  assert.deepEqual([device.type, tag?.["type"]], ["MQTTclient", "raw"]);
  assert.deepEqual(tag?.["options"], { subs: ["gateside/plant-7/30007/loop/channel1"] });
  // Ignition user manual 8.1, "Exporting and Importing Tags"; Cirrus Link MQTT Engine, "Edge Nodes" folder.
  const ignition = JSON.parse(
    (await topics(["--format", "ignition"], { PUBLISH_FORMATS: "sparkplug" })).stdout,
  );
  const folders = ignition.tags[0].tags;
  const loop = folders.find(({ name }: { name: string }) => name === "30007");
  assert.deepEqual(loop.tags[0], {
    name: "loop channel1",
    tagType: "AtomicTag",
    valueSource: "reference",
    sourceTagPath: "[MQTT Engine]Edge Nodes/plant-7/gateside/30007/loop/channel1",
    dataType: "Float8",
    engUnit: "bar",
    engLow: 0,
    engHigh: 10,
    documentation: "Suction pressure",
  });
  for (const format of ["fuxa", "ignition"]) {
    const { code, stderr } = await topics(["--format", format]);
    assert.equal(code, 1);
    assert.match(stderr, /PUBLISH_FORMATS/);
  }
});

test("topics and check – two streams that would share a topic are an error with both names", async (t) => {
  const UPLINKS_FILE = uplinksFile(t, {
    name: "cloud",
    url: "mqtt://cloud",
    topics: { reading: "{prefix}/{sensor}", waveform: "w/{senzor}" },
  });
  const first = await runCommand(["check"], { env: { ...ENV, UPLINKS_FILE } });
  assert.equal(first.code, 2);
  assert.match(first.stderr, /uplinks\[0\]\.topics\.waveform.*\{senzor\}/);
  const shared = uplinksFile(t, {
    name: "cloud",
    url: "mqtt://cloud",
    topics: { reading: "{prefix}/{sensor}" },
  });
  const second = await topics([], { UPLINKS_FILE: shared });
  assert.equal(second.code, 2);
  assert.match(
    second.stderr,
    /uplinks\[0\]\.topics.*live readings of 20871 accCurrent and live readings of 20871 currentV2 would share the topic gateside\/20871/,
  );
});

test("topics – the month of an uplink says what thinning, compact readings and slower sensors save", async (t) => {
  const current = {
    code: "1",
    type: 9,
    kinds: ["currentV2", "accCurrent"],
    channels: { current1: { clamp: 100 } },
  };
  const loop = { unit: "bar", low: 0, high: 10 };
  const SITE_FILE = join(mkdtempSync(join(tmpdir(), "gateside-month-")), "site.json");
  t.after(() => rmSync(dirname(SITE_FILE), { recursive: true }));
  const sensors = [
    current,
    { code: "2", type: 12, kinds: ["loop"], pollIntervalS: 30, channels: { channel1: loop } },
    { code: "3", type: 40, kinds: ["rpm"] },
    { code: "4", type: 40, kinds: ["rpm"], enabled: false },
  ];
  writeFileSync(SITE_FILE, JSON.stringify({ site: "plant-7", sensors }));
  const months = async (members: object, more: Record<string, string> = {}) => {
    const one = { name: "cloud", url: "mqtts://cloud", ...members };
    const env = { UPLINKS_FILE: uplinksFile(t, one), MQTT_URL: "", SITE_FILE, ...more };
    const { stdout } = await topics(["--format", "json"], env);
    return JSON.parse(stdout).uplinks[0] as { messagesPerMonth: number; bytesPerMonth: number };
  };
  const all = await months({});
  // Four kinds, of which one is read every 30 s; three states, and the statistics.
  assert.equal(all.messagesPerMonth, (3 + 2 + 3 + 1) * 43_200);
  const every = await months({ everyS: 900 });
  assert.equal(every.messagesPerMonth, (4 + 3) * 2880 + 43_200);
  const compact = await months({ everyS: 900, compact: true });
  assert.equal(compact.messagesPerMonth, every.messagesPerMonth);
  assert.ok(compact.bytesPerMonth < every.bytesPerMonth);
  const onChange = { values: { "*": 1 }, atLeastEveryS: 3600 };
  assert.equal((await months({ onChange })).messagesPerMonth, (4 + 3) * 720 + 43_200);
  assert.equal((await months({ onChange, everyS: 7200 })).messagesPerMonth, (4 + 3) * 360 + 43_200);
  assert.equal((await months({ select: { kinds: ["loop"] } })).messagesPerMonth, 4 * 43_200);
  const slow = await months({}, { POLL_INTERVAL_S: "600" });
  assert.equal(slow.messagesPerMonth, (3 + 2) * 4320 + 86_400 + 2 * 43_200);
});

test("topics – names that Ignition would make one are told apart", () => {
  const row = (sensor: string, path: string): ListedTopic =>
    ({
      uplink: "main",
      topic: "",
      format: "sparkplug",
      sensor,
      kind: "loop",
      path,
      type: "number",
      unit: null,
      range: null,
      name: null,
      axis: null,
    }) as unknown as ListedTopic;
  const rows = [row("P.1", "a/vel.rms"), row("P.1", "a/vel_rms"), row("P_1", "a/vel")];
  const uplink = { name: "main", sparkplug: { group: "g", node: "n", host: null } };
  const made = JSON.stringify(ignitionTags(rows, [uplink] as never));
  assert.deepEqual(made.match(/"name":"[^"]+"/g), [
    '"name":"gateside main"',
    '"name":"P_1"',
    '"name":"a vel_rms"',
    '"name":"a vel_rms 2"',
    '"name":"P_1 2"',
    '"name":"a vel"',
  ]);
});
