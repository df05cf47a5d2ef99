import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { PROGRAM, skipWithoutBuild } from "../support/plant.ts";
import { runCommand } from "../support/run-command.ts";

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

// The bundle holds code that ajv wrote when it was built; this process has ajv compile the schemas now.
for (const [what, { env, site, uplinks }] of Object.entries(CASES)) {
  test(`bundle – ${what}: the result is the same as with schemas compiled at run time`, {
    skip: skipWithoutBuild,
  }, async (t) => {
    const cwd = mkdtempSync(join(tmpdir(), "gateside-schemas-"));
    t.after(() => rmSync(cwd, { recursive: true }));
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
    const expected = await runCommand(["check", "--json"], { env: settings, cwd });
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [resolve(PROGRAM), "check", "--json"],
      { encoding: "utf8", cwd, env: { ...settings, NODE_DEBUG: "gateside" } },
    );
    assert.doesNotMatch(stderr, /compiled at run time/);
    assert.equal(status, expected.code);
    const faults = (text: string) => {
      const { faults, warnings } = JSON.parse(text) as { faults: unknown[]; warnings: unknown[] };
      return { faults, warnings };
    };
    assert.deepEqual(faults(stdout), faults(expected.stdout));
    assert.equal(faults(stdout).faults.length > 0, what !== "nothing is wrong");
  });
}
