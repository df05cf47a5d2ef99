/** The built program on a box without a site file: it waits for set-up over HTTP and works from the first save on, without a restart. */
import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { deadlineMs } from "../../support/deadline.ts";
import { skipWithoutMosquitto } from "../../support/mosquitto.ts";
import { type BuiltAgent, skipWithoutBuild, startPlant } from "../../support/plant.ts";
import { runCommand } from "../../support/run-command.ts";
import { tempDirectory } from "../../support/temp-database.ts";
import { until } from "../../support/wait-until.ts";

const options = {
  skip: skipWithoutMosquitto || skipWithoutBuild,
  timeout: deadlineMs(60_000),
};

async function put(agent: BuiltAgent, site: object): Promise<Response> {
  const url = `${await agent.address}/api/v1/setup/site`;
  const { hash } = (await (await fetch(url)).json()) as { hash: string };
  return fetch(url, {
    method: "PUT",
    headers: { "content-type": "application/json", "if-match": `"${hash}"` },
    body: JSON.stringify(site),
  });
}

const faultsOf = async (agent: BuiltAgent) => {
  const answer = await fetch(`${await agent.address}/api/v1/faults`);
  return ((await answer.json()) as { faults: { code: string }[] }).faults.map(({ code }) => code);
};

test(
  "empty site – without a site file the agent says what to do, and reads and publishes after the first save",
  options,
  async (t) => {
    const plant = await startPlant(t, {
      simulator: { sensors: 4, historyDays: 0.02 },
      env: { SETUP_ENABLED: "true", PUBLISH_FORMATS: "json,sparkplug" },
    });
    const whole = JSON.parse(readFileSync(plant.siteFile, "utf8"));
    rmSync(plant.siteFile);
    const seen = await plant.subscribe();
    const agent = plant.startAgent();
    await until("the agent says what to do", () =>
      agent.log.find(({ msg }) => String(msg).startsWith("no sensors yet: open the set-up page")),
    );
    assert.ok((await faultsOf(agent)).includes("no_sensors"));
    const { pid } = agent.process;
    const unnamed = await put(agent, { site: "", sensors: [] });
    assert.equal(unnamed.status, 422, "a name is needed");
    const named = await put(agent, { site: "plant", sensors: [] });
    assert.equal(named.status, 200, await named.clone().text());
    await seen.waitFor(
      ({ topic, text }) => topic === "gateside/plant/agent/state" && text.includes('"online"'),
    );
    assert.equal((await put(agent, whole)).status, 200);
    for (const { code } of whole.sensors as { code: string }[])
      await seen.waitFor(
        ({ topic }) =>
          topic.startsWith(`gateside/plant/${code}/`) && !/\/(state|about)$/.test(topic),
      );
    await seen.waitFor(({ topic }) => topic.startsWith("spBv1.0/plant/NBIRTH/"));
    assert.ok(!(await faultsOf(agent)).includes("no_sensors"));
    assert.equal(agent.process.pid, pid);
    assert.deepEqual(
      seen.messages.filter(({ topic }) => !/^(gateside\/plant|spBv1\.0\/plant)\//.test(topic)),
      [],
      "nothing went out under another name",
    );
    assert.equal((await put(agent, { ...whole, site: "plant-8" })).status, 422);
  },
);

test(
  "empty site – pending readings stay pending while the site file is gone",
  options,
  async (t) => {
    const plant = await startPlant(t, {
      simulator: { sensors: 3, historyDays: 0.02 },
      env: { SETUP_ENABLED: "true" },
    });
    const site = readFileSync(plant.siteFile, "utf8");
    await plant.broker.stop();
    const first = plant.startAgent();
    const owed = async (agent: BuiltAgent) => {
      const answer = await (await fetch(`${await agent.address}/api/v1/status`)).json();
      const { lanes } = (answer as { buffer: { lanes: Record<string, { readings: number }> } })
        .buffer;
      return lanes["json"]?.readings ?? 0;
    };
    await until("readings wait", async () => ((await owed(first)) >= 3 ? true : undefined));
    await first.stop();
    rmSync(plant.siteFile);
    const second = plant.startAgent();
    const waiting = await owed(second);
    assert.ok(waiting >= 3, `${waiting} wait`);
    await plant.broker.restart();
    const seen = await plant.subscribe();
    // Configuration management puts the file back.
    await until("it waits for set-up", () =>
      second.log.find(({ msg }) => String(msg).startsWith("no sensors yet")),
    );
    writeFileSync(plant.siteFile, site);
    second.process.kill("SIGHUP");
    await until("everything is delivered", async () =>
      (await owed(second)) === 0 ? true : undefined,
    );
    const ids = seen.messages
      .filter(({ topic, retain }) => !retain && topic.endsWith("/history"))
      .map(({ text }) => (JSON.parse(text) as { id: string }).id);
    assert.ok(ids.length > 0);
    rmSync(plant.siteFile);
    second.process.kill("SIGHUP");
    const refused = await until("the reload is refused", () =>
      second.log.find(({ msg }) => String(msg).startsWith("reload refused")),
    );
    assert.match(JSON.stringify(refused), /is empty, but ..plant.. is running/);
  },
);

test(
  "uplinks file – missing or empty it removes no uplink that is in use, neither at a reload nor at a start",
  options,
  async (t) => {
    const file = join(tempDirectory(t), "uplinks.json");
    const text = JSON.stringify({ uplinks: [{ name: "cloud", url: "mqtt://127.0.0.1:9" }] });
    writeFileSync(file, text);
    const plant = await startPlant(t, {
      simulator: { sensors: 1, historyDays: 0.02 },
      env: { SETUP_ENABLED: "true", UPLINKS_FILE: file },
    });
    const first = plant.startAgent();
    await first.address;
    writeFileSync(file, "");
    first.process.kill("SIGHUP");
    const refused = await until("the reload is refused", () =>
      first.log.find(({ msg }) => String(msg).startsWith("reload refused")),
    );
    assert.match(JSON.stringify(refused), /UPLINKS_FILE: is missing or empty, but cloud is in use/);
    await first.stop();
    rmSync(file);
    const again = await runCommand(["run"], { env: plant.env });
    assert.equal(again.code, 2);
    assert.match(again.stderr, /UPLINKS_FILE: is missing or empty, but cloud is in use; restore/);
    writeFileSync(file, '{ "uplinks": [] }');
    await plant.startAgent().address;
  },
);

test(
  "empty site – check reports that SETUP_ENABLED cannot save, and what to do",
  options,
  async (t) => {
    const plant = await startPlant(t);
    rmSync(plant.siteFile);
    const env = {
      ...plant.env,
      SITE_FILE: "/nonexistent/gateside-site.json",
      SETUP_ENABLED: "true",
    };
    const { code, stderr } = await runCommand(["check"], { env });
    assert.equal(code, 0, stderr);
    assert.match(
      stderr,
      /SITE_FILE: SETUP_ENABLED is on, but \/nonexistent\/gateside-site\.json cannot be saved/,
    );
    assert.match(stderr, /set SITE_FILE=.*\/data\/gateside-site\.json/);
    assert.match(stderr, /no sensors yet; open the set-up page/);
    const off = await runCommand(["check"], { env: { ...env, SETUP_ENABLED: "false" } });
    assert.equal(off.code, 2);
  },
);
