import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import mqtt from "mqtt";
import { issue } from "../support/authority.ts";
import {
  readingPayload,
  readUntil,
  skipWithoutBuild,
  startCollect,
} from "../support/collecting.ts";
import { deadlineMs } from "../support/deadline.ts";
import { freePort } from "../support/mosquitto.ts";
import {
  NOBODY,
  openPostgres,
  postgresPrograms,
  skipWithoutPostgres,
} from "../support/postgres.ts";
import { openRabbitmq, skipWithoutRabbitmq } from "../support/rabbitmq.ts";
import { clientIdOf, passwordOf, rabbitmqRights } from "../support/rights.ts";
import { tempDirectory } from "../support/temp-database.ts";

const shipped = (name: string) => readFileSync(join("deploy", "cell", name), "utf8");
const NETWORK = /10\.1\.0\.11/g;
const PASSWORD = "of-everybody";
/** A machine of 64 GB. */
const LARGE = /^(shared_buffers|max_wal_size|listen_addresses) .*\n/gm;

test("cell – one node of each engine runs with the files of deploy/cell, and what a box publishes over TLS arrives", {
  skip: skipWithoutBuild || skipWithoutPostgres || skipWithoutRabbitmq,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const directory = tempDirectory(t);
  chmodSync(directory, 0o755);
  const authority = issue(directory, null, { name: "plant-ca", isCa: true });
  issue(directory, authority, { name: "server" });
  const databaseServer = issue(directory, authority, { name: "database" });
  if (process.getuid?.() === 0) chownSync(databaseServer.keyFile, NOBODY, NOBODY);
  chmodSync(databaseServer.keyFile, 0o600);

  const hba = join(directory, "pg_hba.conf");
  const here = shipped("pg_hba.conf").replaceAll("10.1.0.0/24", "127.0.0.1/32");
  writeFileSync(hba, `host all postgres 127.0.0.1/32 trust\n${here}`, { mode: 0o644 });
  const config = shipped("postgresql.conf")
    .replace(LARGE, "")
    .replace("/etc/postgresql/certs/server.crt", databaseServer.certFile)
    .replace("/etc/postgresql/certs/server.key", databaseServer.keyFile);
  const metricsPort = await freePort();
  const [postgres, rabbit] = await Promise.all([
    openPostgres({ config: [config, `hba_file = '${hba}'`] }),
    openRabbitmq({
      config: ({ amqp, mqtt: boxes }, name) =>
        shipped("rabbitmq.conf")
          .replaceAll("/etc/rabbitmq/certs/ca.crt", authority.certFile)
          .replaceAll("/etc/rabbitmq/certs/", join(directory, "/"))
          .replaceAll("server.crt", "server.pem")
          .replace("10.1.0.11:5671", `127.0.0.1:${amqp}`)
          .replace("= 8883", `= ${boxes}`)
          .replace("= 15692", `= ${metricsPort}`)
          .replace(NETWORK, "127.0.0.1")
          .replace("rabbit@b1", name)
          .replace(/.*rabbit@b[23]\n/g, ""),
      plugins: shipped("enabled_plugins"),
    }),
  ]);
  t.after(async () => {
    postgres.close();
    await rabbit.close();
  });
  const metrics = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
  assert.match(await metrics.text(), /^rabbitmq_queues /m);

  const passwords = ["owner", "collect", "grafana"].flatMap((role) => [
    "-v",
    `${role}=${PASSWORD}`,
  ]);
  const roles = [...passwords, "-f", "deploy/sql/roles.sql"];
  const administrator = `postgres://postgres@127.0.0.1:${postgres.port}/postgres`;
  const made = spawnSync(join(postgresPrograms(), "psql"), ["-q", ...roles, administrator]);
  assert.equal(made.status, 0, made.stderr.toString());
  const rights = rabbitmqRights(rabbit);
  assert.equal(rights("--reader", "collector", "north").status, 0);

  const from = shipped("from")
    .trim()
    .replaceAll("PASSWORD", encodeURIComponent(passwordOf("collector")))
    .replaceAll(/b[123]\b/g, `localhost:${new URL(rabbit.amqpUrl).port}`);
  const to = shipped("to")
    .trim()
    .replace("PASSWORD", PASSWORD)
    .replace("db1,db2", `localhost:${await freePort()},localhost:${postgres.port}`)
    .replace("/etc/ssl/certs/plant-ca.pem", authority.certFile);
  const words = ["--prefix", "north"];
  const environment = { COLLECT_CA_FILE: authority.certFile };
  const owner = to.replace("gateside_collect", "gateside_owner");
  const once = startCollect(from, owner, ["--migrate-only", ...words], environment);
  const { queue } = await once.logged("the queue is declared and bound", 60_000);
  assert.equal(queue, "gateside-collect-gateside-north");
  const collect = startCollect(from, to, words, environment);
  t.after(() => void collect.child.kill("SIGKILL"));

  const box = await mqtt.connectAsync(rabbit.mqttUrl.replace("mqtt:", "mqtts:"), {
    protocolVersion: 4,
    ca: authority.pem,
    username: "plant-7",
    password: passwordOf("plant-7"),
    clientId: clientIdOf(rights("plant-7", "north")),
    reconnectPeriod: 0,
  });
  t.after(() => box.endAsync(true));
  await box.publishAsync("north/plant-7/100/rpm", readingPayload(0), { qos: 1 });
  const database = administrator.replace(/postgres$/, "gateside");
  const rows = await readUntil(
    () => postgres.query<{ site: string }>(database, "SELECT site FROM reading"),
    (found) => found.length === 1,
  );
  assert.deepEqual(rows, [{ site: "plant-7" }]);
  assert.equal(await collect.end(), 0);
});
