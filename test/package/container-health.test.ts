import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { deadlineMs } from "../support/deadline.ts";
import { PROGRAM, skipWithoutBuild, spawnAgent } from "../support/plant.ts";
import { tempDirectory } from "../support/temp-database.ts";

test("container – the health check finds an agent with TLS at another address, and no agent is unhealthy", {
  skip: skipWithoutBuild,
  timeout: deadlineMs(30_000),
}, async (t) => {
  const directory = tempDirectory(t);
  const out = join(directory, "box");
  execFileSync(process.execPath, [PROGRAM, "certificate", "--out", out], { stdio: "ignore" });
  const env = {
    GATEWAY_URL: "http://127.0.0.1:9",
    MQTT_URL: "mqtt://127.0.0.1:9",
    DATA_DIR: join(directory, "data"),
    SETUP_ENABLED: "true",
    HTTP_HOST: "127.0.0.2",
    HTTP_PORT: "0",
    HTTP_TOKEN: "a-token-of-the-site",
    HTTP_CERT_FILE: `${out}.cert.pem`,
    HTTP_KEY_FILE: `${out}.key.pem`,
    DISK_FREE_MIN_MB: "0",
  };
  const json = /^HEALTHCHECK .*CMD (\[.*\])$/m.exec(readFileSync("Dockerfile", "utf8"))?.[1];
  const [, ...args]: string[] = JSON.parse(json ?? "[]");
  const check = () =>
    spawnSync(process.execPath, args, { env, stdio: "ignore", timeout: deadlineMs(5_000) }).status;
  assert.equal(check(), 1);
  const agent = spawnAgent(env, directory);
  t.after(() => agent.kill());
  await agent.address;
  assert.equal(check(), 0);
});
