/** Runs what the documents tell a reader to type, in their order, beside a simulated plant, a broker and the built agent. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { deadlineMs } from "../support/deadline.ts";
import { type CodeBlock, codeBlocks, DOCUMENTS, shellLines } from "../support/documents.ts";
import {
  freePort,
  type Mosquitto,
  skipWithoutMosquitto,
  startMosquitto,
} from "../support/mosquitto.ts";
import { waitUntil } from "../support/wait-until.ts";

const PROGRAM = resolve("dist/gateside.js");
const TOKEN = "a-token-of-the-documents-test";
/** The simulated plant's first. */
const ACCEL_SENSOR = "100200300";
const DAY_MS = 86_400_000;

/** What needs a machine of its own is run by a script, which must really do it. */
const ELSEWHERE: readonly { line: RegExp; script: string; does: RegExp }[] = [
  { line: /^npm run demo$/, script: ".ci/run", does: /npm run demo/ },
  { line: /^npm run virtual/, script: ".ci/run", does: /npm run virtual/ },
  { line: /^npm run hours/, script: ".ci/run", does: /npm run hours/ },
  { line: /^npm run chaos/, script: ".ci/run", does: /npm run chaos/ },
  { line: /^npm run bench( |$)/, script: ".ci/run", does: /npm run bench/ },
  { line: /^npm run package$/, script: ".ci/run", does: /npm run package/ },
  { line: /^npm ci && npm run build$/, script: ".ci/run", does: /npm ci|npm cit/ },
  { line: /^npm cit$/, script: ".ci/run", does: /npm cit/ },
  { line: /^sha256sum /, script: "scripts/check-packages.sh", does: /sha256sum .*-c SHA256SUMS/ },
  { line: /^sudo dpkg -i /, script: "scripts/check-packages.sh", does: /dpkg -i / },
  { line: /^sudo dpkg -r /, script: "scripts/check-packages.sh", does: /dpkg -r / },
  { line: /^sudo dpkg -P /, script: "scripts/check-packages.sh", does: /dpkg -P / },
  { line: /^sudo scripts\/install\.sh/, script: "scripts/check-install.sh", does: /install\.sh/ },
  {
    line: /^sudo systemctl (enable --now|start|restart) gateside/,
    script: "scripts/check-systemd.sh",
    does: /systemctl enable --now gateside/,
  },
  {
    line: /^sudo systemctl stop gateside/,
    script: "scripts/check-systemd.sh",
    does: /systemctl stop gateside/,
  },
  {
    line: /^sudo gateside rollback/,
    script: "test/store/database/rollback.test.ts",
    does: /rollback/,
  },
  { line: /^mbpoll /, script: "test/agent/modbus.test.ts", does: /mbpoll/ },
  { line: /^gateside sign /, script: "test/agent/signed-configuration.test.ts", does: /"sign"/ },
  {
    line: /^gateside (backup|restore) /,
    script: "test/cli/backup.test.ts",
    does: /"backup", "--out"/,
  },
  {
    line: /^mosquitto_pub .* -f plant-7\.signed\.json/,
    script: "test/agent/signed-configuration.test.ts",
    does: /cmd\/site/,
  },
  { line: /^gateside @north status/, script: "scripts/check-packages.sh", does: /gateside @north/ },
  {
    line: /^sudo install .* \/etc\/credstore\/gateside\.mqtt\.password/,
    script: "scripts/check-systemd.sh",
    does: /\/etc\/credstore\/gateside\.mqtt\.password/,
  },
];
const elsewhere = (line: string) => ELSEWHERE.find((entry) => entry.line.test(line));

const blocks = DOCUMENTS.flatMap(codeBlocks).filter(
  ({ language }) => language === "sh" || language === "console",
);
const skip = skipWithoutMosquitto || (existsSync(PROGRAM) ? false : "dist/ is not built");

let directory = "";
let broker: Mosquitto | null = null;
let httpPort = 0;
let gatewayUrl = "";
const children: ChildProcess[] = [];

before(async () => {
  if (skip) return;
  directory = mkdtempSync(join(tmpdir(), "gateside-docs-"));
  broker = await startMosquitto();
  const simulatorPort = await freePort();
  httpPort = await freePort();
  gatewayUrl = `http://127.0.0.1:${simulatorPort}`;
  start(["simulate", "--port", String(simulatorPort), "--sensors", "7", "--site-out", "site.json"]);
  await until(() => answers(`${gatewayUrl}/sim/faults`), "the simulator");
  const siteText = () => readFileSync(join(directory, "site.json"), "utf8");
  await until(
    () => existsSync(join(directory, "site.json")) && siteText().endsWith("}\n"),
    "its site file",
  );
  const site = siteText();
  writeFileSync(join(directory, "site.json"), site.replace("simulated-plant", "plant-7"));
  writeFileSync(
    join(directory, ".env"),
    [
      `GATEWAY_URL=${gatewayUrl}`,
      `MQTT_URL=${broker.url}`,
      "SITE_FILE=site.json",
      `HTTP_PORT=${httpPort}`,
      `HTTP_TOKEN=${TOKEN}`,
      "BACKFILL_DAYS=0",
      "",
    ].join("\n"),
  );
  // `gateside` as the package installs it.
  writeFileSync(
    join(directory, "gateside"),
    `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`,
  );
  chmodSync(join(directory, "gateside"), 0o755);
});

after(async () => {
  for (const child of children) child.kill("SIGKILL");
  await broker?.close();
  if (directory) rmSync(directory, { recursive: true, force: true });
});

function start(words: readonly string[]): void {
  children.push(
    spawn(process.execPath, [PROGRAM, ...words], {
      cwd: directory,
      stdio: ["ignore", "ignore", "inherit"],
    }),
  );
}

const until = (holds: () => boolean | Promise<boolean>, what: string): Promise<void> =>
  waitUntil(`${what} is up`, holds, 20_000);

async function answers(url: string): Promise<boolean> {
  const answer = await fetch(url).catch(() => null);
  return answer?.ok === true;
}

/** The documents' plant is not this one: addresses and days are ours, and so is every file. */
function localised(line: string): string {
  const day = (daysAgo: number) =>
    new Date(Date.now() - daysAgo * DAY_MS).toISOString().slice(0, 10);
  return line
    .replace(/^sudo (?=gateside )/, "")
    .replace(/^node dist\/gateside\.js/, `node ${PROGRAM}`)
    .replace(/--from \S+/, `--from ${day(1)}`)
    .replace(/--to \S+/, `--to ${day(0)}`)
    .replace('--machine "Pump 4"', "--machine 40")
    .replace("--sensor 10234", `--sensor ${ACCEL_SENSOR}`)
    .replace("https://analytics.example", `http://127.0.0.1:${httpPort}`)
    .replace("--token TOKEN", `--token ${TOKEN}`)
    .replaceAll("127.0.0.1:8080", `127.0.0.1:${httpPort}`);
}

function run(line: string): { status: number | null; stdout: string; stderr: string } {
  return spawnSync("bash", ["-c", localised(line)], {
    cwd: directory,
    encoding: "utf8",
    timeout: deadlineMs(60_000),
    env: { ...process.env, HTTP_TOKEN: TOKEN, PATH: `${directory}:${process.env["PATH"]}` },
  });
}

/** An answer as printed, `…` standing for anything. */
function answerOf(block: CodeBlock): RegExp | null {
  const printed = block.lines.filter((line) => !line.startsWith("$ ") && !/^\s/.test(line));
  if (block.language !== "console" || printed.length === 0) return null;
  const escaped = printed.join("\n").replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(escaped.replaceAll("…", "[^]*"));
}

test("documents – the agent they describe runs", {
  skip,
  timeout: deadlineMs(60_000),
}, async () => {
  // `run` stays in the foreground, so it is started here and not by a line of a document.
  start(["run"]);
  await until(() => answers(`http://127.0.0.1:${httpPort}/healthz`), "the agent");
});

for (const block of blocks) {
  const place = `${block.document}:${block.line}`;
  test(`${place} – the commands that it shows work`, {
    skip,
    timeout: deadlineMs(120_000),
  }, () => {
    for (const line of shellLines(block)) {
      const other = elsewhere(line);
      if (other) {
        assert.match(readFileSync(other.script, "utf8"), other.does, `${line}: ${other.script}`);
        continue;
      }
      const { status, stdout, stderr } = run(line);
      assert.equal(status, 0, `${line}\n${stdout}${stderr}`);
      const answer = answerOf(block);
      if (answer) assert.match(stdout, answer, line);
    }
  });
}
