/** What the documents show of files: it parses, and the program for which it is accepts it. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { parseEnvironmentLines } from "../../src/config/environment-lines.ts";
import { faultLine } from "../../src/config/fault.ts";
import { loadSettings } from "../../src/config/settings.ts";
import { loadSite } from "../../src/config/site.ts";
import { loadUplinks } from "../../src/config/uplinks.ts";
import { checkSettings } from "../../src/features/commands/save-settings.ts";
import {
  type CodeBlock,
  codeBlocks,
  DOCUMENTS,
  only,
  textOf,
  titleOf,
} from "../support/documents.ts";
import { freePort } from "../support/mosquitto.ts";
import { runCommand } from "../support/run-command.ts";
import { tempDirectory } from "../support/temp-database.ts";

type Members = Readonly<Record<string, unknown>>;

const blocks = DOCUMENTS.flatMap(codeBlocks);
const EXAMPLE = JSON.parse(readFileSync("config/examples/plant.json", "utf8")) as {
  sensors: Members[];
};
const { site } = loadSite(JSON.stringify(EXAMPLE), "plant.json");

/** A file that a page names is not on this machine. */
const isMissingFile = (line: string) => line.includes("does not exist");
const faultLines = (faults: Parameters<typeof faultLine>[0][]) =>
  faults.map(faultLine).filter((line) => !isMissingFile(line));

function siteFaults(written: object): string[] {
  return faultLines([...loadSite(JSON.stringify(written), "site.json").faults]);
}
function uplinkFaults(written: object): string[] {
  const context = { site, main: null, commandsEnabled: false };
  return faultLines([
    ...loadUplinks(JSON.stringify(written), "/etc/gateside/uplinks.json", context).faults,
  ]);
}

/** What a JSON block is, by a member that no other has, and the faults of it in its place. */
const FILES: readonly [(shown: Members) => boolean, (shown: Members) => string[]][] = [
  [(shown) => "sensors" in shown, siteFaults],
  [(shown) => "uplinks" in shown, uplinkFaults],
  [(shown) => "url" in shown, (shown) => uplinkFaults({ uplinks: [shown] })],
  [(shown) => "code" in shown, (shown) => siteFaults({ site: "plant-7", sensors: [shown] })],
  [
    (shown) => "select" in shown,
    (shown) => siteFaults({ ...EXAMPLE, alarms: [{ ...shown, onlyRunning: false }] }),
  ],
  [(shown) => "bands" in shown, (shown) => siteFaults({ ...EXAMPLE, machines: [shown] })],
  [
    (shown) => "IntervalSendData" in shown,
    (shown) => {
      const checked = checkSettings(shown, site?.sensors ?? [], "sensor", "saveSettings");
      return "whyNots" in checked ? checked.whyNots.map(({ problem }) => problem) : [];
    },
  ],
];

for (const block of blocks.filter(({ language }) => language === "json")) {
  const shown = JSON.parse(textOf(block)) as Members;
  if ("v" in shown) continue;
  test(`${titleOf(block)} – is accepted where it belongs`, () => {
    const [, faultsOf] = FILES.find(([isOne]) => isOne(shown)) ?? [];
    assert.ok(faultsOf, "this test does not know what it is");
    assert.deepEqual(faultsOf(shown), []);
  });
}

const isUnit = (block: CodeBlock) => block.lines[0]?.startsWith("[") === true;

for (const block of blocks.filter(({ language }) => language === "ini")) {
  if (isUnit(block)) continue;
  test(`${titleOf(block)} – every setting exists and is accepted`, () => {
    const { values, warnings } = parseEnvironmentLines(textOf(block), block.document);
    assert.deepEqual(warnings, []);
    const usual = {
      GATEWAY_URL: "http://gateway.example",
      MQTT_URL: "mqtts://broker.example",
      HTTP_TOKEN: "a-token-of-the-documents",
    };
    const loaded = loadSettings({ ...usual, ...values }, { cwd: "/nonexistent" });
    assert.deepEqual(faultLines([...loaded.faults]), []);
    assert.doesNotMatch(loaded.warnings.map(faultLine).join("\n"), /unknown setting|no effect/);
  });
}

for (const block of blocks.filter((one) => one.language === "ini" && isUnit(one))) {
  test(`${titleOf(block)} – systemd accepts it as a drop-in of the unit`, {
    skip:
      spawnSync("systemd-analyze", ["--version"]).status === 0 ? false : "needs systemd-analyze",
  }, (t) => {
    const file = join(tempDirectory(t), "gateside.service");
    const unit = readFileSync("systemd/gateside.service", "utf8");
    const known = unit.replace("ExecStart=/usr/lib/gateside/node", "ExecStart=/bin/sh");
    writeFileSync(file, `${known}\n${textOf(block)}\n`);
    const { stdout, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", file], {
      encoding: "utf8",
      env: { ...process.env, SYSTEMD_LOG_LEVEL: "warning" },
    });
    assert.equal(`${stdout}${stderr}`, "");
  });
}

test("FUXA, Ignition – `gateside topics` of the page prints tags", async () => {
  const env = {
    GATEWAY_URL: "http://gateway",
    MQTT_URL: "mqtt://broker",
    SITE_FILE: resolve("config/examples/plant.json"),
    PUBLISH_FORMATS: "json,plain,sparkplug",
  };
  for (const format of ["fuxa", "ignition"]) {
    const { code, stdout } = await runCommand(["topics", "--format", format], { env });
    assert.equal(code, 0);
    assert.doesNotThrow(() => JSON.parse(stdout));
  }
});

test("proxies – nginx and haproxy accept their configuration", async (t) => {
  const directory = tempDirectory(t);
  const base = join(directory, "box");
  await runCommand(["certificate", "--host", "monitoring.plant.example", "--out", base]);
  const [cert, key, both] = [`${base}.cert.pem`, `${base}.key.pem`, `${base}.pem`];
  writeFileSync(both, readFileSync(cert, "utf8") + readFileSync(key, "utf8"));
  const port = await freePort();
  const nginx = textOf(only("docs/network.md", "nginx", "proxy_pass"))
    .replace("listen 443", `listen 127.0.0.1:${port}`)
    .replace(/\/etc\/ssl\/\w+\.pem/, cert)
    .replace(/\/etc\/ssl\/\w+\.key/, key);
  const haproxy = textOf(only("docs/network.md", "haproxy", "use_backend")).replace(
    /\/etc\/haproxy\/\w+\.pem/,
    both,
  );
  const nginxFile = join(directory, "nginx.conf");
  const haproxyFile = join(directory, "haproxy.cfg");
  writeFileSync(
    nginxFile,
    `pid ${directory}/pid;\nevents {}\nhttp {\naccess_log off;\n${nginx}\n}\n`,
  );
  writeFileSync(haproxyFile, `${haproxy}\n`);
  const programs = [
    ["/usr/sbin/nginx", ["-t", "-e", join(directory, "log"), "-c", nginxFile]],
    ["/usr/sbin/haproxy", ["-c", "-f", haproxyFile]],
  ] as const;
  for (const [program, words] of programs) {
    if (!existsSync(program)) continue;
    const { status, stderr, stdout } = spawnSync(program, words, { encoding: "utf8" });
    assert.equal(status, 0, `${stdout}${stderr}`);
  }
});
