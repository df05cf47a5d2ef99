/** `doctor` beside a running agent, at a broker whose rights are bound to the agent's client id. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { agentSocketPath, nativeBinding } from "../../src/lib/paths.ts";
import { DirectoryLock } from "../../src/pipeline/store/database/directory-lock.ts";
import { fakeBrokerFor } from "../support/brokers.ts";
import { runCommand } from "../support/run-command.ts";
import { tempDirectory } from "../support/temp-database.ts";

const environment = (cwd: string, url: string) => ({
  GATEWAY_URL: "http://127.0.0.1:9",
  SITE_FILE: "site.json",
  DATA_DIR: cwd,
  MQTT_URL: url,
  HTTP_PORT: "off",
});

function writeSite(cwd: string): void {
  const sensors = [{ code: "1", type: 40, kinds: ["rpm"] }];
  writeFileSync(join(cwd, "site.json"), JSON.stringify({ site: "s", sensors }));
}

/** What the running agent says of its own session. */
async function runningAgent(t: TestContext, dataDir: string, url: string) {
  const said = { ok: true, link: {} };
  const lock = DirectoryLock.take(dataDir, nativeBinding());
  t.after(() => lock.release());
  const server = createServer((request, response) => {
    response.setHeader("content-type", "application/json");
    const trials = [{ uplink: "main", url, ok: said.ok, detail: "of the agent" }];
    const status = { links: [{ uplink: "main", ...said.link }] };
    response.end(JSON.stringify(request.url?.endsWith("/publish") ? { uplinks: trials } : status));
  });
  await new Promise<void>((resolve) => server.listen(agentSocketPath(dataDir) ?? "", resolve));
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  return said;
}

test("doctor – a second session that is refused beside the healthy one of the running agent is skipped and says why; beside one that is not, it has failed", async (t) => {
  const bound = await fakeBrokerFor(t, { version: 5, refusal: 0x87 });
  const cwd = tempDirectory(t);
  const said = await runningAgent(t, cwd, bound.url);
  writeSite(cwd);
  const env = environment(cwd, bound.url);
  const brokerLines = async () => {
    const { stdout } = await runCommand(["doctor"], { env, cwd });
    return stdout.split("\n").filter((line) => / broker /.test(line));
  };
  const well = await brokerLines();
  assert.match(well[0] ?? "", /^skipped +broker .*client id "\S+-doctor".*does not authorise/);
  assert.match(well[1] ?? "", /^ok +broker .*\(running agent\)/);
  assert.equal(well.length, 2);
  said.ok = false;
  const ill = await brokerLines();
  assert.match(ill[0] ?? "", /^FAILED +broker .*does not authorise/);
});

test("doctor – another agent with the identity of the running one is a failure of its uplink", async (t) => {
  const broker = await fakeBrokerFor(t, { version: 5 });
  const cwd = tempDirectory(t);
  const said = await runningAgent(t, cwd, broker.url);
  writeSite(cwd);
  const env = environment(cwd, broker.url);
  const failed = async () =>
    (await runCommand(["doctor"], { env, cwd })).stdout
      .split("\n")
      .filter((line) => /^FAILED +broker/.test(line));
  assert.deepEqual(await failed(), []);
  said.link = { stolen: "taken over again and again", otherAgent: "another agent runs" };
  assert.deepEqual(
    (await failed()).map((line) => line.replace(/ +/g, " ")),
    ["FAILED broker the session is taken over again and again", "FAILED broker another agent runs"],
  );
});

test("doctor – a box without a site file opens no session: client ids and topics need the site's name", async (t) => {
  const broker = await fakeBrokerFor(t, { version: 5 });
  const cwd = tempDirectory(t);
  const env = {
    ...environment(cwd, broker.url),
    SETUP_ENABLED: "true",
    HTTP_TOKEN: "a-token-of-24-characters",
  };
  const { stdout } = await runCommand(["doctor"], { env, cwd });
  assert.match(stdout, /^skipped +broker +not tried: .*site's name/m);
  assert.equal(broker.connects, 0);
});
