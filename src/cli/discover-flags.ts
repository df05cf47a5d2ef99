import type { FlagSpec } from "./command.ts";

/** Apart from the command, so that the table of commands loads no client. */
export const DISCOVER_FLAGS: readonly FlagSpec[] = [
  { name: "url", value: "URL", doc: "base address of the analytics service", required: true },
  {
    name: "token",
    value: "TOKEN",
    doc: "its token; this or --token-file is required",
    requiredUnless: "token-file",
  },
  {
    name: "token-file",
    value: "FILE",
    doc: "file that holds the token, which then shows in no process list",
    requiredUnless: "token",
  },
  { name: "out", value: "FILE", doc: "write the draft there instead of stdout" },
  { name: "merge", value: "FILE", doc: "add to this site file; nothing in it is changed" },
  { name: "site", value: "NAME", doc: "name of the site in a new file" },
  {
    name: "kinds",
    value: "TYPE=KIND",
    doc: "what sensors of a type code read, e.g. 9=currentV2+accCurrent",
    many: true,
  },
  { name: "clamp", value: "A", doc: "rating of the fitted clamps: 50, 100, 250 or 500" },
  {
    name: "loop",
    value: "UNIT:LOW:HIGH",
    doc: "unit and range of 4–20 mA channels, e.g. bar:0:10",
  },
  { name: "wire-word", value: "WORD", doc: "the word wire names carry", default: "sensor" },
];
