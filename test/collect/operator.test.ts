import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import mqtt, { type IClientOptions, type MqttClient } from "mqtt";
import { Writer } from "../../src/collect/database/writer.ts";
import { entry } from "../support/collecting.ts";
import { deadlineMs } from "../support/deadline.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { openPostgres, skipWithoutPostgres } from "../support/postgres.ts";
import { openRabbitmq, skipWithoutRabbitmq } from "../support/rabbitmq.ts";
import {
  clientIdOf,
  mosquittoWithRights,
  passwordOf,
  publishing,
  rabbitmqRights,
  subscribing,
  tries,
} from "../support/rights.ts";
import { runCommand } from "../support/run-command.ts";

const user = (username: string, clientId: string): IClientOptions => ({
  protocolVersion: 5,
  username,
  password: passwordOf(username),
  clientId,
});

test("rights – on mosquitto, everything is denied by default, and what the broker refuses is not told as done", {
  skip: skipWithoutMosquitto,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const { rights, connection, close } = await mosquittoWithRights();
  t.after(close);
  const ask = (...words: string[]) =>
    spawnSync("mosquitto_ctrl", ["dynsec", ...words], {
      encoding: "utf8",
      env: { ...process.env, XDG_CONFIG_HOME: dirname(connection) },
    }).stdout;
  const types = ask("getDefaultACLAccess").trim().split("\n");
  assert.equal(types.length, 4);
  for (const type of types) assert.match(type, /: deny$/);

  const right = readFileSync(connection, "utf8");
  const wrong = [
    [right.replace("-P of-admin", "-P ADMIN-PASSWORD"), /Not authorized/],
    [right.replace(/-p \d+/, "-p 1"), /refused/],
  ] as const;
  for (const [options, reason] of wrong) {
    writeFileSync(connection, options);
    for (const words of [["--deny"], ["plant-1"], ["--reader", "gg"], ["--operator", "gg"]]) {
      const { status, stdout, stderr } = rights(...words);
      assert.deepEqual([status, stdout], [1, ""], words.join(" "));
      assert.match(stderr, reason);
      assert.ok(stderr.includes(connection), stderr);
    }
  }
  writeFileSync(connection, right);
  assert.equal(ask("listClients"), "admin\n");
});

test("rights – on mosquitto, an operator sends a signed document, reads its result and retires a box; the rest is refused", {
  skip: skipWithoutMosquitto || skipWithoutPostgres,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const { broker, rights, close } = await mosquittoWithRights();
  t.after(close);
  for (const words of [["plant-1"], ["--operator", "o"], ["--operator", "o"]])
    assert.equal(rights(...words).status, 0);
  for (const words of [
    ["o"],
    ["--reader", "o"],
    ["--operator", "plant-1"],
    ["--operator", "admin"],
  ])
    assert.equal(rights(...words).status, 2, words.join(" "));

  const box = await mqtt.connectAsync(broker.url, user("plant-1", "gateside-plant-1"));
  t.after(() => box.endAsync(true));
  box.on("message", (_, __, { properties }) => {
    const { responseTopic = "", correlationData } = properties ?? {};
    box.publish(
      responseTopic,
      '{"ok":true}',
      correlationData ? { properties: { correlationData } } : {},
    );
  });
  await box.subscribeAsync("gateside/plant-1/agent/cmd/site", { qos: 1 });
  const topic = "gateside/plant-1/agent/cmd/site";
  const words = `-V 5 -q 1 -W 20 -u o -t ${topic} -e ${topic}/result -m {} -p ${broker.port}`;
  const request = [...words.split(" "), "-P", passwordOf("o")];
  const asked = await promisify(execFile)("mosquitto_rr", request);
  assert.equal(asked.stdout, '{"ok":true}\n');

  const state = JSON.stringify({ state: "offline", time: new Date().toISOString() });
  await box.publishAsync("gateside/plant-1/agent/state", state, { qos: 1, retain: true });
  const postgres = await openPostgres();
  t.after(() => postgres.close());
  const url = await postgres.createDatabase("operator");
  const writer = new Writer(url);
  t.after(() => writer.close());
  await writer.write([entry("gateside/plant-1/agent/state", state)]);
  const from = broker.url.replace("//", `//o:${encodeURIComponent(passwordOf("o"))}@`);
  const retired = await runCommand(["fleet", "retire", "plant-1", "--from", from, "--db", url]);
  assert.equal(retired.code, 0, retired.stderr);

  const as = (use: (client: MqttClient) => Promise<unknown>) =>
    tries(broker.url, user("o", "any"), use);
  for (const own of ["gateside/#", "gateside/+/agent/state"])
    assert.equal(await as(subscribing(own)), "allowed", own);
  for (const other of ["#", "+/plant-1/#", "north/#", "$share/gateside/gateside/#", "$CONTROL/#"])
    assert.equal(await as(subscribing(other)), "refused", other);
  for (const other of ["gateside", "north/plant-1/agent/cmd/site", "$CONTROL/dynamic-security/v1"])
    assert.equal(await as(publishing(other)), "refused", other);
});

test("rights – on RabbitMQ, an operator sends commands, reads results and retires a box, and takes over no session of a box", {
  skip: skipWithoutRabbitmq || skipWithoutPostgres,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const rabbit = await openRabbitmq();
  t.after(() => rabbit.close());
  const rights = rabbitmqRights(rabbit);
  const operator = rights("--operator", "o");
  assert.equal(operator.status, 0, operator.stderr);
  const boxId = clientIdOf(rights("plant-1"));
  for (const words of [
    ["o"],
    ["--reader", "o"],
    ["--operator", "plant-1"],
    ["--operator", "guest"],
  ])
    assert.equal(rights(...words).status, 2, words.join(" "));
  const as = (use: (client: MqttClient) => Promise<unknown>, clientId = "operator-o") =>
    tries(rabbit.mqttUrl, { ...user("o", clientId), protocolVersion: 4 }, use);
  const topic = "gateside/plant-1/agent/cmd/site";
  assert.equal(await as(publishing(topic)), "allowed");
  for (const own of [`${topic}/result`, "gateside/plant-1/#", "gateside/+/agent/state"])
    assert.equal(await as(subscribing(own)), "allowed", own);
  for (const other of ["#", "+/plant-1/#", "north/plant-1/#"])
    assert.equal(await as(subscribing(other)), "refused", other);
  for (const other of ["north/plant-1/agent/cmd/site", "gateside", "xgateside/plant-1/x"])
    assert.equal(await as(publishing(other)), "refused", other);
  assert.equal(await as(subscribing(topic), boxId), "refused");

  const postgres = await openPostgres();
  t.after(() => postgres.close());
  const url = await postgres.createDatabase("operator_rabbitmq");
  const writer = new Writer(url);
  t.after(() => writer.close());
  const state = JSON.stringify({ state: "offline", time: new Date().toISOString() });
  await writer.write([entry("gateside/plant-1/agent/state", state)]);
  const from = rabbit.mqttUrl.replace(/\/\/(.*@)?/, `//o:${encodeURIComponent(passwordOf("o"))}@`);
  const retired = await runCommand(["fleet", "retire", "plant-1", "--from", from, "--db", url]);
  assert.equal(retired.code, 0, retired.stderr);
});
