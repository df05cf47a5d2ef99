/** What doctor and probe say of records that cannot be used. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Finding } from "../../src/cli/finding.ts";
import { envelope, startFakeGateway } from "../support/fake-gateway.ts";
import { runCommand } from "../support/run-command.ts";

test("doctor, probe – a sensor whose records are all rejected says how many and why", async (t) => {
  const records = [
    { sensor_code: "100", RPM: 1480, time_data: "/Date(-62135596800000+0000)/" },
    { sensor_code: "100", RPM: 1481 },
  ];
  const gateway = await startFakeGateway(t, () => envelope(records));
  const cwd = mkdtempSync(join(tmpdir(), "gateside-rejected-"));
  t.after(() => rmSync(cwd, { recursive: true }));
  const sensors = [{ code: "100", type: 40, kinds: ["rpm"] }];
  writeFileSync(join(cwd, "site.json"), JSON.stringify({ site: "plant-7", sensors }));
  const env = {
    GATEWAY_URL: gateway.url,
    GATEWAY_TIMEZONE: "UTC",
    MQTT_URL: "mqtt://127.0.0.1:9",
    SITE_FILE: "site.json",
    DATA_DIR: "data",
    HTTP_PORT: "off",
  };
  const doctor = await runCommand(["doctor", "--json"], { env, cwd });
  const { findings } = JSON.parse(doctor.stdout) as { findings: Finding[] };
  const [rpm] = findings.filter(({ what }) => what === "100 rpm");
  assert.equal(rpm?.state, "warning");
  assert.match(
    rpm.detail,
    /^no usable record on \S+: the last 2 records were rejected: no_time: no plausible time$/,
  );
  const { stdout } = await runCommand(["probe", "--sensor", "100", "--kind", "rpm"], { env, cwd });
  assert.match(stdout, /no usable record for that day: the last 2 records were rejected: no_time/);
});

test("probe – a day without records leads to the doctor", async (t) => {
  const gateway = await startFakeGateway(t, () => envelope([]));
  const cwd = mkdtempSync(join(tmpdir(), "gateside-rejected-"));
  t.after(() => rmSync(cwd, { recursive: true }));
  const sensors = [{ code: "100", type: 40, kinds: ["rpm"] }];
  writeFileSync(join(cwd, "site.json"), JSON.stringify({ site: "plant-7", sensors }));
  const env = { GATEWAY_URL: gateway.url, GATEWAY_TIMEZONE: "UTC", SITE_FILE: "site.json" };
  const words = ["probe", "--sensor", "100", "--kind", "rpm"];
  const { stdout } = await runCommand(words, {
    env: { ...env, MQTT_URL: "mqtt://127.0.0.1:9" },
    cwd,
  });
  assert.match(stdout, /no usable record for that day\. `gateside doctor` looks for the cause\.$/m);
});
