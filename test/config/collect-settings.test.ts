import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { loadCollectSettings } from "../../src/config/collect-settings.ts";
import { runCommand } from "../support/run-command.ts";

const load = (env: Record<string, string>, flags: Record<string, string> = {}, cwd = "/") =>
  loadCollectSettings({ env, cwd, flag: (name) => flags[name] ?? null, required: ["from", "to"] });
const BOTH = { COLLECT_FROM: "mqtt://b", COLLECT_TO: "postgres://d/g" };

test("collect settings – flags take precedence over the environment, and everything else has its default", () => {
  const { settings, faults } = load(
    { ...BOTH, COLLECT_GROUP: "a", COLLECT_METRICS: "9464", RECONNECT_SPREAD_S: "60" },
    { group: "b", "keep-days": "30", from: "mqtts://u:p@x:8883, mqtts://y" },
  );
  assert.deepEqual(faults, []);
  assert.deepEqual(settings, {
    from: ["mqtts://u:p@x:8883", "mqtts://y"],
    to: "postgres://d/g",
    group: "b",
    prefix: "gateside",
    topic: "{prefix}/{site}/#",
    metrics: { host: "127.0.0.1", port: 9464 },
    keepDays: 30,
    keepHoursDays: 3650,
    reconnectSpreadS: 60,
    tls: { ca: null, cert: null, key: null },
    logLevel: "info",
  });
});

test("collect settings – without any, collectors return within the boxes' default", () => {
  assert.equal(load(BOTH).settings?.reconnectSpreadS, 5);
});

test("collect settings – addresses may come from files, but not from both", (t) => {
  const directory = mkdtempSync(join(tmpdir(), "gateside-collect-"));
  t.after(() => rmSync(directory, { recursive: true }));
  writeFileSync(join(directory, "from"), "amqp://u:p@b\n");
  const { COLLECT_TO } = BOTH;
  const { settings } = load({ COLLECT_FROM_FILE: "from", COLLECT_TO }, {}, directory);
  assert.deepEqual(settings?.from, ["amqp://u:p@b"]);
  assert.match(
    load({ ...BOTH, COLLECT_FROM_FILE: "from" }, {}, directory).faults[0]?.problem ?? "",
    /both/,
  );
  assert.equal(load({ COLLECT_FROM_FILE: "none", COLLECT_TO }, {}, directory).faults.length, 1);
});

test("collect settings – every error is reported at once, without any password", async () => {
  const { faults } = load(
    { RECONNECT_SPREAD_S: "0" },
    {
      from: "mqtt://u:secret@a,amqp://u:secret@b,http://u:secret@c",
      to: "mysql://u:secret@d",
      group: "a b",
      prefix: "a/#",
      metrics: "99999",
      "keep-days": "0",
    },
  );
  assert.equal(faults.length, 8);
  assert.ok(!JSON.stringify(faults).includes("secret"));
  const fleet = await runCommand(["fleet", "--db", "mysql://u:secret@d"]);
  assert.match(fleet.stderr, /^error: --db: is not a PostgreSQL address/);
  const { code, stderr } = await runCommand(["collect"]);
  assert.equal(code, 2);
  assert.equal(stderr.trim().split("\n").length, 2);
});

test("collect settings – over AMQP, a group that makes the queue's name ambiguous is a fault, with the default prefix a warning", () => {
  const AMQP = { ...BOTH, COLLECT_FROM: "amqps://b" };
  const own = load(AMQP, { group: "a-b", prefix: "c" });
  assert.match(own.faults[0]?.problem ?? "", /same queue as group a with prefix b-c$/);
  const released = load(AMQP, { group: "a-b" });
  assert.deepEqual(released.faults, []);
  assert.match(released.warnings[0]?.problem ?? "", /same queue as group a with prefix b$/);
  // A hyphen in the prefix alone is told apart; over MQTT there is no queue.
  for (const { faults, warnings } of [
    load(AMQP, { group: "a", prefix: "b-c" }),
    load(BOTH, { group: "a-b", prefix: "c" }),
  ])
    assert.deepEqual([...faults, ...warnings], []);
});
