import type { FlagSpec } from "./command.ts";

export const COLLECT_FLAGS: readonly FlagSpec[] = [
  {
    name: "from",
    value: "URL[,URL]",
    doc: "broker: mqtt(s)://… (MQTT 5 shared subscription) or amqp(s)://… (quorum queue)",
  },
  { name: "to", value: "URL", doc: "database: postgres://user@host/database" },
  {
    name: "group",
    value: "NAME",
    doc: "collectors of one group share the messages (default gateside)",
  },
  {
    name: "prefix",
    value: "PREFIX",
    doc: "the boxes' MQTT_TOPIC_PREFIX (default gateside)",
  },
  {
    name: "topic",
    value: "PATTERN",
    doc: "where the site stands in topics (default {prefix}/{site}/#)",
  },
  {
    name: "metrics",
    value: "PORT",
    doc: "serve Prometheus metrics and /healthz on this port, or HOST:PORT",
  },
  {
    name: "keep-days",
    value: "N",
    doc: "drop weeks older than N days, at least 35; by default everything is kept",
  },
  {
    name: "keep-hours-days",
    value: "N",
    doc: "drop months of hourly and daily values older than N days, at least 35 (default 3650)",
  },
  { name: "migrate-only", doc: "migrate the database schema and exit" },
];
