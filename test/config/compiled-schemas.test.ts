import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { PROGRAM, skipWithoutBuild } from "../support/plant.ts";
import type { CommandRun } from "../support/run-command.ts";

const SENSOR = { code: "10234", type: 40, kinds: ["rpm"] };

/** Name of the case → settings, site file, uplinks file. */
const CASES: Readonly<Record<string, { env?: object; site?: unknown; uplinks?: unknown }>> = {
  "nothing is wrong": {},
  "settings of wrong types, out of bounds and unknown": {
    env: { POLL_INTERVAL_S: "soon", BACKFILL_DAYS: "-1", MQTT_VERSION: "3", GATEWAY_ZONE: "UTC" },
  },
  "a setting is missing": { env: { GATEWAY_URL: "" } },
  "a site file of many faults": {
    site: {
      site: "",
      sensor: [],
      sensors: [
        SENSOR,
        { ...SENSOR, kinds: ["rmp"] },
        { code: 7, type: "x", speedRpm: -1, extra: true },
      ],
      alarms: { rules: [{ name: "x", above: "high" }] },
      machines: [{ id: 1 }],
    },
  },
  "a site file that is no object": { site: [] },
  "an uplinks file of many faults": {
    uplinks: {
      uplinks: [
        { name: "main", url: 5, profile: "no-such" },
        { url: "mqtt://b", retain: "yes" },
        3,
      ],
    },
  },
};

/** The files of a case, and its settings. */
function write({ env, site, uplinks }: (typeof CASES)[string]) {
  const cwd = mkdtempSync(join(tmpdir(), "gateside-schemas-"));
  writeFileSync(
    join(cwd, "site.json"),
    JSON.stringify(site ?? { site: "plant", sensors: [SENSOR] }),
  );
  if (uplinks !== undefined) writeFileSync(join(cwd, "uplinks.json"), JSON.stringify(uplinks));
  const settings = {
    GATEWAY_URL: "http://127.0.0.1:9",
    MQTT_URL: "mqtt://127.0.0.1:9",
    SITE_FILE: "site.json",
    DATA_DIR: join(cwd, "data"),
    ...(uplinks === undefined ? {} : { UPLINKS_FILE: "uplinks.json" }),
    ...env,
  };
  return { cwd, env: settings };
}

// The bundle, as this test, holds code that ajv wrote when it was built; another process has ajv compile the schemas now.
test("bundle – the result is the same as with schemas compiled at run time", {
  skip: skipWithoutBuild,
}, async (t) => {
  const written = Object.values(CASES).map(write);
  t.after(() => {
    for (const { cwd } of written) rmSync(cwd, { recursive: true });
  });
  const child = ["--import", "tsx", "test/support/check-child.ts"];
  const input = JSON.stringify(written);
  const now = spawnSync(process.execPath, child, { encoding: "utf8", input });
  assert.equal(now.status, 0, now.stderr);
  const expected = JSON.parse(now.stdout) as CommandRun[];
  for (const [at, what] of Object.keys(CASES).entries())
    await t.test(what, () => {
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        [resolve(PROGRAM), "check", "--json"],
        {
          encoding: "utf8",
          cwd: written[at]?.cwd,
          env: { ...written[at]?.env, NODE_DEBUG: "gateside" },
        },
      );
      assert.doesNotMatch(stderr, /compiled at run time/);
      assert.equal(status, expected[at]?.code);
      const faults = (text = "") => {
        const { faults, warnings } = JSON.parse(text) as { faults: unknown[]; warnings: unknown[] };
        return { faults, warnings };
      };
      assert.deepEqual(faults(stdout), faults(expected[at]?.stdout));
      assert.equal(faults(stdout).faults.length > 0, what !== "nothing is wrong");
    });
});
