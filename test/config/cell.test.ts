/** The files of `deploy/cell` are what docs/scale.md says: settings that exist, with values that collectors and agents accept. */
import assert from "node:assert/strict";
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { brokerAddress } from "../../src/collect/broker-url.ts";
import { loadCollectSettings } from "../../src/config/collect-settings.ts";
import { loadSettings } from "../../src/config/settings.ts";
import { tempDirectory } from "../support/temp-database.ts";

const CELL = join("deploy", "cell");
const read = (name: string) => readFileSync(join(CELL, name), "utf8");

/** Lines of `NAME=value`. */
function environmentOf(text: string): Record<string, string> {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
}

interface Inventory {
  readonly boxes: {
    readonly hosts: Readonly<Record<string, { readonly mqtt_client_id: string }>>;
    readonly vars: { readonly gateside_settings: Readonly<Record<string, string | number>> };
  };
}

test("cell – collectors accept their files, and boxes the settings of the inventory", (t) => {
  const cwd = tempDirectory(t);
  for (const name of ["from", "to"]) copyFileSync(join(CELL, name), join(cwd, name));
  writeFileSync(join(cwd, "ca.pem"), "-----BEGIN CERTIFICATE-----\n");
  const env = { ...environmentOf(read("collect.env")), COLLECT_CA_FILE: "ca.pem" };
  const files = { COLLECT_FROM_FILE: "from", COLLECT_TO_FILE: "to" };
  const collect = loadCollectSettings({
    env: { ...env, ...files },
    cwd,
    flag: () => null,
    required: ["from", "to"],
  });
  assert.deepEqual([...collect.faults, ...collect.warnings], []);
  const { boxes }: Inventory = parse(read("inventory.yml"));
  const [[site, { mqtt_client_id }] = ["", { mqtt_client_id: "" }]] = Object.entries(boxes.hosts);
  const settings = Object.fromEntries(
    Object.entries(boxes.vars.gateside_settings).map(([name, value]) => [
      name,
      String(value)
        .replace("{{ inventory_hostname }}", site)
        .replace("{{ mqtt_client_id }}", mqtt_client_id),
    ]),
  );
  const agent = loadSettings({ ...settings, MQTT_PASSWORD: "secret" }, { cwd });
  assert.deepEqual([...agent.faults, ...agent.warnings], []);
  assert.equal(agent.settings?.mqttTopicPrefix, collect.settings?.prefix);
  const nodes = collect.settings?.from.map((url) => brokerAddress(url).host) ?? [];
  const boxNodes = String(settings["MQTT_URL"])
    .split(",")
    .map((url) => new URL(url).hostname);
  assert.deepEqual(nodes, boxNodes);
  for (const node of nodes) assert.match(read("rabbitmq.conf"), new RegExp(`rabbit@${node}\\b`));
});

test("cell – docs/scale.md names every file", () => {
  const page = readFileSync(join("docs", "scale.md"), "utf8");
  for (const name of readdirSync(CELL)) assert.ok(page.includes(`deploy/cell/${name}`), name);
});
