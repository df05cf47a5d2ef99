/** Restore through a running agent, with the built program: in effect at once, tried, and taken back where reads get worse. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { digestOf } from "../../../src/features/setup/backup.ts";
import { deadlineMs } from "../../support/deadline.ts";
import { skipWithoutMosquitto } from "../../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../../support/plant.ts";

const options = { skip: skipWithoutMosquitto || skipWithoutBuild, timeout: deadlineMs(90_000) };

async function setUp(t: TestContext) {
  const plant = await startPlant(t, { simulator: { sensors: 2 } });
  const seen = await plant.subscribe();
  plant.startAgent({ CONFIG_TRIAL_S: "6", HTTP_PORT: "off" });
  const site = () => JSON.parse(readFileSync(plant.siteFile, "utf8"));
  const codes: string[] = site().sensors.map(({ code }: { code: string }) => code);
  await seen.waitUntil(
    () => codes.every((code) => seen.messages.some(({ topic }) => topic.includes(`/${code}/`))),
    30_000,
  );
  const ask = (method: "GET" | "POST", path: string, body?: object) =>
    new Promise<{ status: number; body: Record<string, unknown> }>((resolve, reject) => {
      const socketPath = join(plant.dataDir, "gateside.sock");
      const headers = { host: "localhost", "content-type": "application/json" };
      const call = request({ socketPath, method, path, headers }, (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (part: string) => {
          text += part;
        });
        answer.once("end", () =>
          resolve({ status: answer.statusCode ?? 0, body: JSON.parse(text) }),
        );
      });
      call.once("error", reject).end(body === undefined ? undefined : JSON.stringify(body));
    });
  const outcomes = async () => {
    const { body } = await ask("GET", "/api/v1/audit");
    const entries = body["entries"] as { who: string; outcome: string }[];
    return entries.filter(({ who }) => who === "restore").map(({ outcome }) => outcome);
  };
  const ended = async (outcome: string) => {
    const endsAt = Date.now() + deadlineMs(40_000);
    while (!(await outcomes()).includes(outcome))
      assert.ok(Date.now() < endsAt, `no ${outcome} in the audit log`);
  };
  return { site, ask, ended };
}

test(
  "restore – a running agent applies a backup at once and tries it; one that reads nothing is taken back",
  options,
  async (t) => {
    const { ask, site, ended } = await setUp(t);
    const { body: backup } = await ask("GET", "/api/v1/setup/backup");
    assert.equal(backup["sha256"], digestOf(backup));
    const before = site();
    assert.deepEqual(backup["siteFile"], before);
    const unchanged = await ask("POST", "/api/v1/setup/restore", backup);
    assert.deepEqual([unchanged.status, unchanged.body["outcome"]], [200, "unchanged"]);

    const renamed = {
      ...before,
      sensors: before.sensors.map((sensor: object) => ({ ...sensor, name: "Another name" })),
    };
    const made = signed({ ...backup, siteFile: renamed });
    const dry = await ask("POST", "/api/v1/setup/restore?dryRun=true", made);
    assert.deepEqual([dry.body["outcome"], site()], ["planned", before]);
    const saved = await ask("POST", "/api/v1/setup/restore", made);
    assert.deepEqual([saved.status, saved.body["outcome"], site()], [200, "saved", renamed]);
    const busy = await ask("POST", "/api/v1/setup/restore", made);
    assert.equal(busy.status, 409);
    await ended("applied");
    assert.deepEqual(site(), renamed);

    // Sensors that the gateway does not know: no records, so the files of before come back.
    const strange = { ...before, sensors: [{ ...before.sensors[0], code: "999999" }] };
    const worse = await ask(
      "POST",
      "/api/v1/setup/restore",
      signed({ ...backup, siteFile: strange }),
    );
    assert.equal(worse.body["outcome"], "saved");
    await ended("rolled_back");
    assert.deepEqual(site(), renamed);
  },
);

/** With the digest of what it holds now, as a box would have made it. */
function signed(backup: Record<string, unknown>): Record<string, unknown> {
  return { ...backup, sha256: digestOf(backup) };
}
