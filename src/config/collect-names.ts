/** Names in the environment; the flag of COLLECT_KEEP_DAYS is --keep-days. */
export const COLLECT_NAMES = {
  from: "COLLECT_FROM",
  to: "COLLECT_TO",
  group: "COLLECT_GROUP",
  prefix: "COLLECT_PREFIX",
  topic: "COLLECT_TOPIC",
  metrics: "COLLECT_METRICS",
  "keep-days": "COLLECT_KEEP_DAYS",
  "keep-hours-days": "COLLECT_KEEP_HOURS_DAYS",
} as const;
export type CollectFlag = keyof typeof COLLECT_NAMES;

/** May be read from a file, because both contain a password. */
export const COLLECT_SECRETS: readonly CollectFlag[] = ["from", "to"];
export const COLLECT_FILES = {
  ca: "COLLECT_CA_FILE",
  cert: "COLLECT_CERT_FILE",
  key: "COLLECT_KEY_FILE",
} as const;

/** The schema of the tables, if it is not the one that the role finds first. */
export const COLLECT_SCHEMA = "COLLECT_SCHEMA";

/** Every name that `collect` and `fleet` read. */
export const COLLECT_ENVIRONMENT: readonly string[] = [
  ...Object.values(COLLECT_NAMES),
  ...COLLECT_SECRETS.map((flag) => `${COLLECT_NAMES[flag]}_FILE`),
  ...Object.values(COLLECT_FILES),
  COLLECT_SCHEMA,
];
