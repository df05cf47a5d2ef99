import type { FlagSpec } from "../../cli/command.ts";

/** Separate from the command, so that the table of commands loads no client. */
export const DISCOVER_FLAGS: readonly FlagSpec[] = [
  { name: "url", value: "URL", doc: "base address of the analytics service", required: true },
  {
    name: "token",
    value: "TOKEN",
    doc: "token of the service; this, --token-file, or --email with --password-file is required",
  },
  {
    name: "token-file",
    value: "FILE",
    doc: "file that holds the token, which keeps it out of the process list",
  },
  { name: "email", value: "EMAIL", doc: "log in with this e-mail address instead of a token" },
  { name: "password-file", value: "FILE", doc: "file that holds the password of --email" },
  { name: "out", value: "FILE", doc: "write the draft there instead of stdout" },
  { name: "merge", value: "FILE", doc: "add to this site file without changing what it contains" },
  { name: "site", value: "NAME", doc: "name of the site in a new file" },
  {
    name: "kinds",
    value: "TYPE=KIND",
    doc: "kinds of readings that sensors of a type code provide, e.g. 9=currentV2+accCurrent",
    many: true,
  },
  {
    name: "gateway",
    value: "URL",
    doc: "ask this gateway for the kinds of each sensor type that --kinds does not list",
  },
  {
    name: "gateway-service",
    value: "NAME",
    doc: "path of the gateway's service",
    default: "SensorService.svc",
  },
  { name: "days", value: "N", doc: "how many days back --gateway looks for records", default: "3" },
  { name: "clamp", value: "A", doc: "rating of the fitted clamps: 50, 100, 250 or 500" },
  {
    name: "loop",
    value: "UNIT:LOW:HIGH",
    doc: "unit and range of 4–20 mA channels, e.g. bar:0:10",
  },
  {
    name: "proxy",
    value: "URL",
    doc: "HTTP proxy in front of the service, http://[user:password@]host:port",
  },
  { name: "wire-word", value: "WORD", doc: "the vendor's word in wire names", default: "sensor" },
];
