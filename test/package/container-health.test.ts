import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { deadlineMs } from "../support/deadline.ts";
import { freePort } from "../support/mosquitto.ts";
import { PROGRAM, skipWithoutBuild, spawnAgent } from "../support/plant.ts";
import { tempDirectory } from "../support/temp-database.ts";

/** Exit code of the check for a container whose first process has this command line. */
function statusOf(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const args = ["packaging/container/health.mjs", ...words];
  const options = { env, stdio: "ignore", timeout: deadlineMs(5_000) } as const;
  return spawnSync(process.execPath, args, options).status;
}

test("container – both images use the health check, and it fits a collector, too", async (t) => {
  for (const file of ["Dockerfile", "scripts/container.sh"])
    assert.match(
      readFileSync(file, "utf8"),
      /CMD \["\/usr\/lib\/gateside\/node", "\/usr\/lib\/gateside\/health\.mjs"\]/,
    );
  assert.equal(statusOf(["gateside", "collect"]), 0, "it runs, and has no port to ask");
  const port = await freePort();
  const forms = [
    [["gateside", "collect", "--metrics", `0.0.0.0:${port}`], {}],
    [["gateside", "collect", `--metrics=${port}`], {}],
    [["gateside", "collect"], { COLLECT_METRICS: `127.0.0.1:${port}` }],
  ] as const;
  for (const [words, env] of forms) assert.equal(statusOf(words, env), 1);
  const program = `require("http").createServer((q, r) => r.end()).listen(${port}, "127.0.0.1", () => console.log("up"))`;
  const collector = spawn(process.execPath, ["-e", program], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  t.after(() => collector.kill());
  await once(collector.stdout, "data");
  for (const [words, env] of forms) assert.equal(statusOf(words, env), 0);
});

test("container – the health check takes DATA_DIR from the file of --environment", async (t) => {
  const directory = tempDirectory(t);
  const file = join(directory, "box.env");
  writeFileSync(file, `DATA_DIR="${directory}" # of this box\n`);
  const words = ["gateside", "run", `--environment=${file}`];
  assert.equal(statusOf(words), 1);
  const server = createServer((_, response) => response.end());
  await new Promise<void>((resolve) => server.listen(join(directory, "gateside.sock"), resolve));
  t.after(() => server.close());
  const child = spawn(process.execPath, ["packaging/container/health.mjs", ...words], { env: {} });
  assert.deepEqual(await once(child, "exit"), [0, null]);
});

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
  const check = () => statusOf(["gateside", "run"], env);
  assert.equal(check(), 1);
  const agent = spawnAgent(env, directory);
  t.after(() => agent.kill());
  await agent.address;
  assert.equal(check(), 0);
});
