import type { FlagSpec } from "../../cli/command.ts";
import { ENVIRONMENT_FLAG } from "../../cli/environment-flag.ts";
import { JSON_FLAG } from "../../cli/shared-flags.ts";

export const ALARMS_FLAGS: readonly FlagSpec[] = [
  { name: "ack", value: "ID", doc: "acknowledge this alarm" },
  { name: "shelve", value: "ID", doc: "shelve this alarm for a time" },
  { name: "minutes", value: "N", doc: "duration for --shelve, 480 by default" },
  { name: "unshelve", value: "ID", doc: "end the shelving of this alarm" },
  { name: "note", value: "TEXT", doc: "note for --ack or --shelve, or for the alarm of --id" },
  { name: "id", value: "ID", doc: "the alarm that --note is for" },
  { name: "by", value: "NAME", doc: "name for the audit log, by default this user" },
  { name: "history", value: "N", doc: "also list the newest N events" },
  { name: "baselines", doc: "list learned limits and those being learned" },
  {
    name: "relearn",
    value: "SENSOR/ALARM/VALUE",
    doc: "relearn a baseline; SENSOR/finding: the normal state of its findings",
  },
  { name: "url", value: "URL", doc: "address of the agent's HTTP server" },
  JSON_FLAG,
  ENVIRONMENT_FLAG,
];
