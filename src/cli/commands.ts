/** The commands and their help. In one file: help, completion and documents are made from this table. */
import { placed } from "../core/lists/placed.ts";
import type { FeatureSpec } from "../features/feature.ts";
import { SPECS } from "../features/specs.ts";
import type { Command } from "./command.ts";
import { ENVIRONMENT_FLAG } from "./environment-flag.ts";
import { EXPORT_FLAGS } from "./export-flags.ts";
import { FLEET_COMMANDS } from "./fleet-commands.ts";
import { JSON_FLAG, KINDS, SENSOR_FLAG } from "./shared-flags.ts";
import { SIMULATE_FLAGS } from "./simulate-flags.ts";

/** For the package alone (src/launch.ts), so no help lists it. */
export const TRAINING: Command = {
  name: "train",
  summary: "run the agent against a simulated plant for a few seconds to fill the code cache",
  flags: [],
  examples: [],
  load: () => import("./train.ts"),
};

const OWN: readonly Command[] = [
  {
    name: "run",
    summary: "run the agent in the foreground until SIGTERM or SIGINT",
    details:
      "Polls the gateway, stores readings in DATA_DIR and publishes them to the broker. Log lines are JSON on stdout.\nSettings come from the environment and .env; `gateside check` shows them.",
    flags: [ENVIRONMENT_FLAG],
    examples: ["gateside run", "gateside run --environment /etc/gateside/plant-7.env"],
    load: () => import("./run.ts"),
  },
  {
    name: "check",
    summary: "validate settings and site file offline",
    details:
      "Prints every fault with its place and how to fix it; without one, the settings in effect with their origin. If an agent is running on DATA_DIR, says\nwhether it uses the same configuration. Exit code 0, or 2 if there are faults.",
    flags: [
      JSON_FLAG,
      { name: "settings", doc: "print the settings as they were read, also if there are faults" },
      {
        name: "diff",
        doc: "list what a reload of the running agent would do, and what happens to undelivered readings",
      },
      ENVIRONMENT_FLAG,
    ],
    examples: [
      "gateside check",
      "gateside check --diff",
      "SITE_FILE=config/examples/plant.json gateside check --json",
    ],
    load: () => import("./check.ts"),
  },
  {
    name: "reload",
    summary: "reload the site and uplinks files of the running agent",
    details:
      "Both files are checked completely first; if there is an error, nothing changes. Then only the differences are applied.\nEnvironment settings that differ are listed: they need a restart. Exit code 0, or 1 if the reload is refused or no agent responds.",
    flags: [JSON_FLAG, ENVIRONMENT_FLAG],
    examples: ["gateside reload", "gateside check --diff && gateside reload"],
    load: () => import("./reload.ts"),
  },
  {
    name: "certificate",
    summary: "create a self-signed certificate for the HTTP server and show its fingerprint",
    details:
      "Writes NAME.cert.pem and NAME.key.pem (readable only by its owner) for HTTP_CERT_FILE and HTTP_KEY_FILE, valid for all current names and addresses of\nthis machine. A running agent loads a replaced pair within a minute, or immediately with `gateside reload`.",
    flags: [
      { name: "out", value: "NAME", doc: "prefix of the two file names", default: "gateside" },
      {
        name: "host",
        value: "LIST",
        doc: "host names and addresses instead of this machine's, comma-separated; the first is the common name",
      },
      { name: "days", value: "N", doc: "validity in days, 825 by default" },
      { name: "replace", doc: "overwrite existing files" },
      {
        name: "show",
        value: "FILE",
        doc: "only show the fingerprint of this certificate",
      },
    ],
    examples: [
      "gateside certificate --out /etc/gateside/http",
      "gateside certificate --host box7.plant.example,192.0.2.17",
      "gateside certificate --show /etc/gateside/http.cert.pem",
    ],
    load: () => import("./certificate.ts"),
  },
  {
    name: "rollback",
    summary: "downgrade the store of the stopped agent for an older package",
    details:
      "Schema version 5 belongs to Gateside 0.2. Readings are kept, but those of kinds that the older version does not know, and so is what is pending.\nExit code 0, or 1 if an agent is running or the store cannot be written.",
    flags: [
      { name: "to", value: "VERSION", doc: "schema version of the older program", required: true },
      ENVIRONMENT_FLAG,
    ],
    examples: ["gateside rollback --to 5"],
    load: () => import("./rollback.ts"),
  },
  {
    name: "doctor",
    summary: "check, then test the gateway, sensors, broker, disk and clock once",
    details:
      "Prints one line per test, with what to do if it fails. Exit code 0 if all is well, 1 if a test fails, 2 if the settings are invalid.",
    flags: [
      JSON_FLAG,
      {
        name: "bundle",
        value: "FILE",
        doc: "also write a support bundle, secrets removed, to FILE (.json.gz)",
      },
      ...SPECS.flatMap(({ trial }: FeatureSpec) => (trial === undefined ? [] : [trial.flag])),
      ENVIRONMENT_FLAG,
    ],
    examples: [
      "gateside doctor",
      "gateside doctor --json",
      "gateside doctor --notify",
      "gateside doctor --bundle support.json.gz",
    ],
    load: () => import("./doctor.ts"),
  },
  {
    name: "probe",
    summary: "read one day of a sensor and show every step from record to payload",
    details:
      "Prints the newest raw record, the converted reading, and the topics and payloads it would become. Nothing is stored or published.",
    flags: [
      { ...SENSOR_FLAG, required: true },
      {
        name: "kind",
        value: "KIND",
        doc: `one of ${[KINDS, ...SPECS.flatMap(({ reads }: FeatureSpec) => reads?.kind ?? [])].join(", ")}`,
        required: true,
      },
      {
        name: "date",
        value: "DATE",
        doc: "calendar day of the gateway, yyyy-MM-dd, by default today",
      },
      JSON_FLAG,
      ENVIRONMENT_FLAG,
    ],
    examples: [
      "gateside probe --sensor 10234 --kind accel",
      "gateside probe --sensor 30007 --kind loop --date 2026-11-19",
    ],
    load: () => import("./probe.ts"),
  },
  {
    name: "topics",
    summary: "list every topic that this configuration publishes, with type and unit",
    details:
      "For each uplink: topics, members of JSON readings, plain values, Sparkplug metrics. The formats fuxa and ignition are for\nthe tag import of those programs. Works offline: neither broker nor gateway is contacted.",
    flags: [
      {
        name: "format",
        value: "FORMAT",
        doc: "table, csv, json, fuxa (of plain values) or ignition (of Sparkplug metrics)",
        default: "table",
      },
      ENVIRONMENT_FLAG,
    ],
    examples: ["gateside topics", "gateside topics --format csv > tags.csv"],
    load: () => import("./topics.ts"),
  },
  {
    name: "simulate",
    summary: "run a simulated gateway service with a plausible plant",
    details:
      "For commissioning, training and tests: seven kinds of readings, days of history, and faults on demand.\nRuns until it is stopped.",
    flags: SIMULATE_FLAGS,
    examples: [
      "gateside simulate --site-out site.json",
      "gateside simulate --speed 60 --fault slow-first-byte:ms=5000,probability=0.1",
    ],
    load: () => import("./simulate.ts"),
  },
  {
    name: "demo",
    summary: "run simulator, MQTT broker, agent and dashboard together, without settings",
    details:
      "Prints readings as they reach an MQTT subscriber. Press Ctrl-C to stop; nothing is left behind.",
    flags: [
      { name: "seconds", value: "N", doc: "exit after N seconds" },
      {
        name: "port",
        value: "PORT",
        doc: "port of the dashboard; 0 = any free port",
        default: "8080",
      },
    ],
    examples: ["npm run demo", "gateside demo --seconds 30"],
    load: () => import("./demo.ts"),
  },
  {
    name: "status",
    summary: "show the state of the running agent",
    details:
      "Connections, buffer, hours until it is full, machines that are not ok (the worst first), and sensors. Exit code 0 if all is well, 1 if something is not or no agent responds.",
    flags: [
      {
        name: "url",
        value: "URL",
        doc: "address of the agent, by default from HTTP_HOST and HTTP_PORT",
      },
      JSON_FLAG,
      ENVIRONMENT_FLAG,
    ],
    examples: ["gateside status", "gateside status --json"],
    load: () => import("./status.ts"),
  },
  {
    name: "backfill",
    summary: "re-read past days",
    details:
      "Uses the running agent if there is one on DATA_DIR; otherwise reads in this process. Nothing is stored or sent twice.",
    flags: [
      { name: "from", value: "DAY", doc: "first day, yyyy-MM-dd", required: true },
      { name: "to", value: "DAY", doc: "last day, yyyy-MM-dd", required: true },
      { ...SENSOR_FLAG, doc: "this sensor only" },
      JSON_FLAG,
      ENVIRONMENT_FLAG,
    ],
    examples: [
      "gateside backfill --from 2026-11-01 --to 2026-11-07",
      "gateside backfill --from 2026-11-20 --to 2026-11-20 --sensor 10234",
    ],
    load: () => import("./backfill.ts"),
  },
  {
    name: "export",
    summary: "write stored readings to stdout, even while the agent is running",
    details:
      "If --from and --to have no time zone, GATEWAY_TIMEZONE applies (by default, the system's zone).\nTimes in the output are in UTC: 2026-11-20T06:00:00.000Z. Lines are in order of time.",
    flags: EXPORT_FLAGS,
    examples: [
      "gateside export --from 2026-11-01 --to 2026-11-30 > november.csv",
      "gateside export --from 2026-11-01 --to 2026-11-30 --kind accel --excel > november.csv",
      "gateside export --from 2026-11-20T06:00:00Z --to 2026-11-20T14:00:00Z --kind loop --format jsonl",
      "gateside export --from 2026-11-01 --to 2026-11-30 --format parquet > november.parquet",
      "gateside export --from 2026-11-20 --to 2026-11-20 --sensor 10234 --waveforms wav --format wav",
    ],
    load: () => import("./export.ts"),
  },
  ...FLEET_COMMANDS,
];

/** Every command of the program (contract section 2). */
export const COMMANDS = placed(
  OWN,
  SPECS.map(({ after, commands = [] }: FeatureSpec) => ({
    after: after?.commands,
    entries: commands,
  })),
  ({ name }) => name,
);
