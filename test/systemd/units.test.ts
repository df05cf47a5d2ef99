import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { isTlsFile } from "../../src/config/environment.ts";
import { SETTING_NAMES, SETTINGS } from "../../src/config/settings-table.ts";

const EXPOSURE_MAX = 1.1;
const UNITS = ["gateside.service", "gateside@.service"] as const;
/** The agent's units, and the collector's. */
const PATHS: Readonly<Record<string, string>> = {
  "gateside.service": "systemd/gateside.service",
  "gateside@.service": "systemd/gateside@.service",
  "gateside-collect@.service": "deploy/systemd/gateside-collect@.service",
};

const skip =
  spawnSync("systemd-analyze", ["--version"]).status === 0 ? false : "systemd-analyze is missing";

const unitText = (unit: string) => readFileSync(PATHS[unit] ?? "", "utf8");

/** A copy that systemd-analyze takes for installed: a template needs an instance, and the program a path that exists. */
function installed(t: TestContext, unit: string): string {
  const directory = mkdtempSync(join(tmpdir(), "gateside-units-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const path = join(directory, unit.replace("@.", "@plant-7."));
  writeFileSync(
    path,
    unitText(unit).replace("ExecStart=/usr/lib/gateside/node", "ExecStart=/bin/sh"),
  );
  return path;
}

for (const unit of Object.keys(PATHS)) {
  test(`${unit} – its exposure is at most ${EXPOSURE_MAX}`, { skip }, (t) => {
    const path = installed(t, unit);
    const threshold = String(Math.round(EXPOSURE_MAX * 10));
    const { status, stdout, stderr } = spawnSync(
      "systemd-analyze",
      ["security", "--offline=true", "--no-pager", `--threshold=${threshold}`, path],
      { encoding: "utf8" },
    );
    const score = /Overall exposure level.*/.exec(stdout)?.[0];
    t.diagnostic(score ?? stderr);
    assert.equal(status, 0, score ?? stderr);
  });

  test(`${unit} – systemd-analyze verify reports nothing`, { skip }, (t) => {
    const { status, stdout, stderr } = spawnSync(
      "systemd-analyze",
      ["verify", "--man=no", installed(t, unit)],
      { encoding: "utf8", env: { ...process.env, SYSTEMD_LOG_LEVEL: "warning" } },
    );
    assert.equal(`${stdout}${stderr}`, "");
    assert.equal(status, 0);
  });

  test(`${unit} – starts on machines that lack one of the library directories`, () => {
    const [, paths] = /^ExecPaths=(.*)$/m.exec(unitText(unit)) ?? [];
    assert.ok(paths);
    for (const path of paths.split(" ")) if (path !== "/usr/lib") assert.match(path, /^-/);
  });

  test(`${unit} – restarts whatever the exit code, with no limit`, () => {
    assert.match(unitText(unit), /^Restart=always$/m);
    assert.match(unitText(unit), /^StartLimitIntervalSec=0$/m);
    assert.doesNotMatch(unitText(unit), /^RestartPreventExitStatus/m);
  });
}

for (const unit of UNITS) {
  test(`${unit} – passes on every secret except the two addresses, and each may be missing`, () => {
    // What is secret in these is given apart: MQTT_PASSWORD, GATEWAY_HEADERS.
    const addresses: readonly string[] = ["GATEWAY_URL", "MQTT_URL"];
    const secrets = SETTING_NAMES.filter(
      (name) => SETTINGS[name].secret && !addresses.includes(name),
    );
    const files = SETTING_NAMES.filter(isTlsFile).map((name) => name.replace(/_FILE$/, ""));
    const wanted = [...secrets, ...files]
      .map((name) => name.toLowerCase().replaceAll("_", "."))
      .sort();
    const given = [...unitText(unit).matchAll(/^LoadCredential=([^:]+):(.*)$/gm)];
    assert.deepEqual(given.map(([, id]) => id).sort(), wanted);
    // An absolute path that is not there would stop the start.
    for (const [line, , source] of given) assert.doesNotMatch(source ?? "", /\//, line);
    const shell = readFileSync("packaging/gateside.sh", "utf8");
    for (const id of wanted) {
      assert.ok(shell.includes(`=${id}`), `gateside.sh passes ${id} by`);
    }
  });
}

test("the template differs from the single unit only in its instance", () => {
  const [single, template] = UNITS.map(unitText);
  const plain = template
    ?.replace(" (%i)", "")
    .replaceAll("/etc/gateside/%i.env", "/etc/gateside/gateside.env")
    .replace("SITE_FILE=/etc/gateside/%i.site.json", "SITE_FILE=/etc/gateside/site.json")
    .replaceAll("/%i", "")
    .replaceAll("gateside.%i.", "gateside.");
  assert.equal(plain, single);
});
