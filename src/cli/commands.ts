import type { Command, FlagSpec } from "./command.ts";
import { ENVIRONMENT_FLAG } from "./configuration.ts";
import { SIMULATE_FLAGS } from "./simulate-flags.ts";

const KINDS = "accel, current, currentV2, accCurrent, loop, dryContact, rpm";
const JSON_FLAG: FlagSpec = { name: "json", doc: "print JSON instead of text" };
const SENSOR_FLAG: FlagSpec = {
  name: "sensor",
  value: "CODE",
  doc: "serial number in the site file",
};
const TIMES =
  "a time such as 2026-11-20T06:00:00Z, or a day such as 2026-11-20 (in GATEWAY_TIMEZONE)";

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
];
