import { COLLECT_FLAGS } from "./collect-flags.ts";
import type { Command } from "./command.ts";
import { JSON_FLAG } from "./shared-flags.ts";

/** The commands of the receiving end, which know many boxes. */
export const FLEET_COMMANDS: readonly Command[] = [
  {
    name: "collect",
    summary: "store what boxes publish in PostgreSQL, each reading once",
    details: `Run it near the broker and the database. Several collectors share the work; they keep no state of their own.
A message is acknowledged after it is committed. Several addresses in --from are those of one cluster, tried in turn.
Each flag is also a setting: COLLECT_FROM, COLLECT_TO, COLLECT_GROUP, COLLECT_PREFIX, COLLECT_TOPIC, COLLECT_METRICS,
COLLECT_KEEP_DAYS, COLLECT_KEEP_HOURS_DAYS. Use
COLLECT_FROM_FILE and COLLECT_TO_FILE to keep the passwords in the two addresses out of the process list.
TLS: COLLECT_CA_FILE, COLLECT_CERT_FILE, COLLECT_KEY_FILE. RECONNECT_SPREAD_S as for the boxes. Log lines are JSON on stdout.`,
    flags: COLLECT_FLAGS,
    examples: [
      "gateside collect --from mqtt://broker.example --to postgres://gateside@db.example/gateside",
      "COLLECT_FROM_FILE=from COLLECT_TO_FILE=to gateside collect --metrics 9464 --keep-days 400",
      "gateside collect --migrate-only --to postgres://owner@db.example/gateside",
    ],
    load: () => import("./collect.ts"),
  },
  {
    name: "fleet",
    operands: "[retire SITE]",
    summary: "show the state of all boxes",
    details:
      "From the retained topics of a broker, or from the database of `gateside collect`: state, version, configuration, age of the newest\nreading, backlog, hours left in the buffer, silent sensors, active alarms; boxes that are offline first, then those that are behind.\nExit code 1 if a box needs attention: it is offline or has not been heard from, it is behind (a reading has waited for over an hour, or\nnone has come for three intervals although its sensors are online), its gateway is down, its buffer will be full within a day, its\nclock is wrong, two boxes publish as its site, or a sensor is silent; also if there is no box at all. With --db, ages are by the database's clock.\nWith --machines: exit code 1 if a machine of any box is in alarm and not acknowledged; --json prints rows of machine_now.\n`fleet retire SITE --from URL --db URL` takes a box off the list: clears its retained topics and deletes its rows in box and sensor; its\nreadings are kept. Exit code 1 if it is online (unless --force), 2 if there is no such box.\nSettings: COLLECT_FROM, COLLECT_TO, COLLECT_PREFIX and their _FILE forms. TLS of the broker:\nCOLLECT_CA_FILE, COLLECT_CERT_FILE, COLLECT_KEY_FILE.",
    flags: [
      { name: "from", value: "URL[,URL]", doc: "broker: mqtt(s)://…" },
      { name: "db", value: "URL", doc: "database: postgres://user@host/database" },
      { name: "prefix", value: "PREFIX", doc: "the boxes' MQTT_TOPIC_PREFIX (default gateside)" },
      { name: "attention", doc: "only boxes that need attention" },
      { name: "all", doc: "every box; by default, from 20 boxes on, those that work are one line" },
      { name: "machines", doc: "machines of all boxes instead, worst first (needs --db)" },
      { name: "worst", value: "N", doc: "with --machines: how many (default 20)" },
      { name: "force", doc: "with retire: also a box that is online" },
      JSON_FLAG,
    ],
    examples: [
      "COLLECT_CA_FILE=ca.pem gateside fleet --from mqtts://fleet@broker.example",
      "gateside fleet --db postgres://gateside@db.example/gateside --json",
      "gateside fleet --machines --worst 50 --db postgres://gateside@db.example/gateside",
      "gateside fleet retire plant-7 --from mqtts://fleet@broker.example --db postgres://gateside@db.example/gateside",
    ],
    load: () => import("./fleet.ts"),
  },
];
