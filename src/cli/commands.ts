import type { Command, FlagSpec } from "./command.ts";
import { ENVIRONMENT_FLAG } from "./configuration.ts";
import { DISCOVER_FLAGS } from "./discover-flags.ts";
import { SIMULATE_FLAGS } from "./simulate-flags.ts";

const KINDS = "accel, current, currentV2, accCurrent, loop, dryContact, rpm";
const JSON_FLAG: FlagSpec = { name: "json", doc: "print JSON instead of text" };
const SENSOR_FLAG: FlagSpec = {
  name: "sensor",
  value: "CODE",
  doc: "serial number in the site file",
};
const TIMES =
  "a time such as 2026-11-20T06:00:00Z or 2026-11-20T06:00+01:00, or a day such as 2026-11-20";

/** Every command of the program (contract 2). */
export const COMMANDS: readonly Command[] = [
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
      "Prints every fault with its place and remedy, and the settings in effect with their origin.\nExit code 0, or 2 when there are faults.",
    flags: [JSON_FLAG, ENVIRONMENT_FLAG],
    examples: ["gateside check", "SITE_FILE=config/examples/plant.json gateside check --json"],
    load: () => import("./check.ts"),
  },
  {
    name: "doctor",
    summary: "check, then try gateway, sensors, broker, disk and clock once",
    details:
      "A line each, in plain words. Exit code 0 when all is well, 1 when something is not, 2 for wrong settings.",
    flags: [
      JSON_FLAG,
      {
        name: "bundle",
        value: "FILE",
        doc: "also write a support bundle, secrets removed, to FILE (.json.gz)",
      },
      ENVIRONMENT_FLAG,
    ],
    examples: [
      "gateside doctor",
      "gateside doctor --json",
      "gateside doctor --bundle support.json.gz",
    ],
    load: () => import("./doctor.ts"),
  },
  {
    name: "probe",
    summary: "read one sensor's day once and show what becomes of it",
    details:
      "Prints the newest raw record, the converted reading, and the topics and payloads it would become. Nothing is stored or published.",
    flags: [
      { ...SENSOR_FLAG, required: true },
      { name: "kind", value: "KIND", doc: `one of ${KINDS}`, required: true },
      {
        name: "date",
        value: "DATE",
        doc: "day of the gateway, yyyy-MM-dd; its today unless given",
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
    name: "simulate",
    summary: "a faithful SensorService with a plausible plant behind it",
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
    summary: "simulator, MQTT broker, agent and dashboard in one; no settings needed",
    details:
      "Prints readings as they reach an MQTT subscriber. Ends with Ctrl-C and leaves nothing behind.",
    flags: [
      { name: "seconds", value: "N", doc: "end after N seconds" },
      {
        name: "port",
        value: "PORT",
        doc: "port of the dashboard; 0 = any free one",
        default: "8080",
      },
    ],
    examples: ["npm run demo", "gateside demo --seconds 30"],
    load: () => import("./demo.ts"),
  },
  {
    name: "status",
    summary: "the running agent at a glance, from its HTTP side",
    details:
      "Links, buffer, hours left and sensors. Exit code 0 when all is well, 1 when something is not or no agent answers.",
    flags: [
      {
        name: "url",
        value: "URL",
        doc: "address of the agent; from HTTP_HOST and HTTP_PORT unless given",
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
      "Through the running agent where one holds DATA_DIR, else in this process. Nothing already stored is stored or sent twice.",
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
    summary: "stored readings to stdout, also while the agent runs",
    details:
      "--from and --to are read in GATEWAY_TIMEZONE (the system's zone unless set) where they name no zone themselves.\nTimes in the output are UTC, as everywhere: 2026-11-20T06:00:00.000Z. Lines come in order of time.",
    flags: [
      { name: "from", value: "TIME", doc: TIMES, required: true },
      { name: "to", value: "TIME", doc: "the same; a day is meant to its end", required: true },
      { name: "kind", value: "KIND", doc: `only this kind: ${KINDS}` },
      { ...SENSOR_FLAG, doc: "this sensor only" },
      {
        name: "format",
        value: "FORMAT",
        doc: "csv (a line per value) or jsonl (a reading per line)",
        default: "csv",
      },
      ENVIRONMENT_FLAG,
    ],
    examples: [
      "gateside export --from 2026-11-01 --to 2026-11-30 > november.csv",
      "gateside export --from 2026-11-20T06:00:00Z --to 2026-11-20T14:00:00Z --kind loop --format jsonl",
    ],
    load: () => import("./export.ts"),
  },
  {
    name: "discover",
    summary: "draft a site file from an analytics service's device and axis lists",
    details:
      "The draft goes to stdout or --out; --merge adds to a file and changes nothing in it. What the service cannot know\n(kinds, clamps, ranges) is named on stderr, with the flag that tells it.",
    flags: DISCOVER_FLAGS,
    examples: [
      "gateside discover --url http://analytics.plant:8080 --token T > config/site.json",
      "gateside discover --url http://analytics.plant:8080 --token-file token --merge config/site.json --out config/site.json --kinds 9=currentV2 --clamp 100",
    ],
    load: () => import("./discover.ts"),
  },
  {
    name: "settings",
    summary: "queue sensor settings on the gateway",
    details:
      "Through the running agent where one answers, else directly. The gateway queues them; a sensor takes them over when it next asks. Exit code 0 when queued, 1 when not.",
    flags: [
      { ...SENSOR_FLAG, required: true },
      {
        name: "interval-send-data",
        value: "MIN",
        doc: "minutes between full data sends, at least 10",
        required: true,
      },
      { name: "range", value: "G", doc: "measuring range, G", required: true },
      {
        name: "interval-rms",
        value: "S",
        doc: "seconds between alarm checks, at least 30",
        required: true,
      },
      {
        name: "alarm1",
        value: "MMS",
        doc: "alarm threshold of axis 1, mm/s, at least 0.5",
        required: true,
      },
      { name: "alarm2", value: "MMS", doc: "the same for axis 2", required: true },
      { name: "alarm3", value: "MMS", doc: "the same for axis 3", required: true },
      JSON_FLAG,
      ENVIRONMENT_FLAG,
    ],
    examples: [
      "gateside settings --sensor 10234 --interval-send-data 60 --range 8 --interval-rms 60 --alarm1 4.5 --alarm2 4.5 --alarm3 4.5",
    ],
    load: () => import("./settings.ts"),
  },
];
