import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { deadlineMs } from "./deadline.ts";
import { freePort, startMosquitto } from "./mosquitto.ts";
import { openPostgres } from "./postgres.ts";
import { waitUntil } from "./wait-until.ts";

const PROGRAM = resolve("dist/launch.js");
const TOKEN = "a-token-of-the-documents-test";
/** The simulated plant's first. */
const ACCEL_SENSOR = "100200300";
const DAY_MS = 86_400_000;

interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** What the documents are about, in a temporary directory: a plant with its broker and agent, a database, and a place for a central broker. */
export interface DocumentsMachine {
  /** Runs a line of a document, its addresses, days and directories replaced by those of this machine. */
  run(line: string): Outcome;
  localised(line: string): string;
  /** Where the agent publishes. */
  readonly brokerUrl: string;
  close(): Promise<void>;
}

/** What systemd does on a reader's machine, with the files that the lines before have installed. */
type Service = () => Promise<void>;

export async function openDocumentsMachine(): Promise<
  DocumentsMachine & { readonly services: ReadonlyMap<string, Service> }
> {
  const directory = mkdtempSync(join(tmpdir(), "gateside-docs-"));
  const children: ChildProcess[] = [];
  const start = (program: string, words: readonly string[], env: object = {}) => {
    const options = { cwd: directory, stdio: "ignore", env: { ...process.env, ...env } } as const;
    children.push(spawn(program, words, options));
  };
  const agentBroker = await startMosquitto();
  const postgres = await openPostgres();
  const ports = {
    gateway: await freePort(),
    http: await freePort(),
    modbus: await freePort(),
    broker: await freePort(),
    metrics: await freePort(),
    webhook: await freePort(),
  };
  const gatewayUrl = `http://127.0.0.1:${ports.gateway}`;
  const until = (holds: () => boolean | Promise<boolean>, what: string) =>
    waitUntil(`${what} is up`, holds, 20_000);

  for (const path of [
    "etc/mosquitto/certs",
    "etc/ssl",
    "etc/systemd/system",
    "etc/gateside/tls",
    "var/lib/mosquitto",
  ])
    mkdirSync(join(directory, path), { recursive: true });
  // `gateside` as the package installs it; `sudo` for somebody who may do everything in this directory.
  const shim = (name: string, text: string) => {
    writeFileSync(join(directory, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(directory, name), 0o755);
  };
  shim("gateside", `exec '${process.execPath}' '${PROGRAM}' "$@"`);
  shim("sudo", '[ "$1" = -u ] && shift 2\nexec "$@"');

  const simulator = ["simulate", "--port", String(ports.gateway), "--sensors", "7"];
  start(process.execPath, [PROGRAM, ...simulator, "--site-out", "simulated.json"]);
  const siteFile = join(directory, "simulated.json");
  await until(() => answers(`${gatewayUrl}/sim/faults`), "the simulator");
  await until(
    () => existsSync(siteFile) && readFileSync(siteFile, "utf8").endsWith("}\n"),
    "its site file",
  );
  const site = readFileSync(siteFile, "utf8").replace("simulated-plant", "plant-7");
  writeFileSync(join(directory, "site.json"), site);
  writeFileSync(join(directory, "plant-7.json"), site);
  for (const name of ["old-ca.pem", "new-ca.pem"]) writeFileSync(join(directory, name), "");
  // A key of before, which the page replaces.
  const signing = ["sign", "--new-key", "etc/gateside/fleet"];
  spawnSync(process.execPath, [PROGRAM, ...signing], { cwd: directory });
  const receiver = `require("node:http").createServer((_, response) => response.end()).listen(${ports.webhook})`;
  start(process.execPath, ["-e", receiver]);
  const settings = {
    GATEWAY_URL: gatewayUrl,
    MQTT_URL: agentBroker.url,
    SITE_FILE: "site.json",
    HTTP_PORT: ports.http,
    HTTP_TOKEN: TOKEN,
    MODBUS_PORT: ports.modbus,
    ALARM_WEBHOOK_URL: `http://127.0.0.1:${ports.webhook}/`,
    HEARTBEAT_URL: `http://127.0.0.1:${ports.webhook}/`,
    PUBLISH_FORMATS: "json,plain,sparkplug",
    BACKFILL_DAYS: 0,
    CONFIG_PUBLIC_KEY_FILE: "etc/gateside/fleet.pub.pem",
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(join(directory, ".env"), lines.join(""));
  start(process.execPath, [PROGRAM, "run"]);
  await until(() => answers(`http://127.0.0.1:${ports.http}/readyz`, TOKEN), "the agent");

  const day = (daysAgo: number) =>
    new Date(Date.now() - daysAgo * DAY_MS).toISOString().slice(0, 10);
  const localised = (line: string): string =>
    line
      .replace(/^node dist\/gateside\.js/, `node ${PROGRAM}`)
      .replace(/--from \d\S+/, `--from ${day(1)}`)
      .replace(/--to \d\S+/, `--to ${day(0)}`)
      // Of one format, as where nothing is set, and before the first start.
      .replace("BACKFILL_DAYS=7", "BACKFILL_DAYS=7 PUBLISH_FORMATS=json DATA_DIR=never-started")
      .replace('--machine "Pump 4"', "--machine 40")
      .replace("--sensor 10234", `--sensor ${ACCEL_SENSOR}`)
      .replace("https://analytics.example", `http://127.0.0.1:${ports.http}`)
      .replace("--token TOKEN", `--token ${TOKEN}`)
      .replaceAll("127.0.0.1:8080", `127.0.0.1:${ports.http}`)
      .replaceAll("1502", String(ports.modbus))
      .replaceAll("9464", String(ports.metrics))
      .replaceAll("8883", String(ports.broker))
      .replaceAll("db.example", `127.0.0.1:${postgres.port}`)
      .replaceAll("-h broker.plant", `-h 127.0.0.1 -p ${agentBroker.port}`)
      .replaceAll("broker.example", "127.0.0.1")
      .replace(/\/usr\/share\/doc\/gateside\//g, `${resolve(".")}/`)
      .replace(/(?<![\w.])\/(?=(etc|srv|var\/lib)\/)/g, `${directory}/`)
      // Here, every user is this one.
      .replace(/(?<=^sudo install.*) -[og] \w+/g, "");

  const environment = {
    HTTP_TOKEN: TOKEN,
    HOME: directory,
    PATH: `${directory}:${process.env["PATH"]}`,
    PGHOST: "127.0.0.1",
    PGPORT: String(postgres.port),
    PGUSER: "postgres",
  };
  const run = (line: string): Outcome =>
    // Through cat, because Node gives a socket, which nobody can open as /dev/stdin.
    spawnSync("bash", ["-c", 'cat | bash -o pipefail -c "$1"', "-", localised(line)], {
      cwd: directory,
      encoding: "utf8",
      // What a person answers where a program asks for a password, and for it again.
      input: "ADMIN-PASSWORD\nADMIN-PASSWORD\n",
      timeout: deadlineMs(60_000),
      killSignal: "SIGKILL",
      env: { ...process.env, ...environment },
    });

  const mosquitto: Service = async () => {
    const file = join(directory, "etc/mosquitto/mosquitto.conf");
    const shipped = localised(readFileSync(file, "utf8"));
    // Root would be dropped to a user who cannot read the temporary directory.
    const user = process.getuid?.() === 0 ? "user root\n" : "";
    writeFileSync(file, `${user}${shipped}`);
    start("/usr/sbin/mosquitto", ["-c", file]);
    await until(() => run("</dev/tcp/broker.example/8883").status === 0, "mosquitto");
  };
  const collector: Service = async () => {
    const below = join(directory, "etc/gateside-collect");
    const text = readFileSync(join(below, "collect.env"), "utf8").trim();
    start(process.execPath, [PROGRAM, "collect"], {
      ...Object.fromEntries(text.split("\n").map((line) => line.split("=", 2))),
      COLLECT_FROM_FILE: join(below, "from"),
      COLLECT_TO_FILE: join(below, "to"),
    });
    await until(() => answers(`http://127.0.0.1:${ports.metrics}/healthz`), "the collector");
  };
  return {
    run,
    localised,
    brokerUrl: agentBroker.url,
    services: new Map([
      ["sudo systemctl restart mosquitto", mosquitto],
      ["sudo systemctl enable --now gateside-collect@1", collector],
    ]),
    async close() {
      for (const child of children) child.kill("SIGKILL");
      await agentBroker.close();
      postgres.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function answers(url: string, token = ""): Promise<boolean> {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(url, { headers }).catch(() => null);
  return answer?.ok === true;
}
