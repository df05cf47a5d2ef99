import type { FlagSpec } from "./command.ts";
import { ENVIRONMENT_FLAG } from "./environment-flag.ts";
import { KINDS, SENSOR_FLAG } from "./shared-flags.ts";

const TIMES =
  "a time such as 2026-11-20T06:00:00Z or 2026-11-20T06:00+01:00, or a day such as 2026-11-20";

export const EXPORT_FLAGS: readonly FlagSpec[] = [
  { name: "from", value: "TIME", doc: TIMES, required: true },
  { name: "to", value: "TIME", doc: "the same; a day is included in full", required: true },
  { name: "kind", value: "KIND", doc: `only this kind: ${KINDS}, node, bands` },
  { ...SENSOR_FLAG, doc: "this sensor only" },
  {
    name: "format",
    value: "FORMAT",
    doc: "csv (a line per value), jsonl (a reading per line) or parquet (a row per value); with --waveforms: csv, wav or npy",
    default: "csv",
  },
  {
    name: "resolution",
    value: "RESOLUTION",
    doc: "readings, or the hourly (hours) or daily (days) values of every reading ever taken, UTC: count, min, mean, max, uncertain and bad of each value",
    default: "readings",
  },
  {
    name: "excel",
    doc: "a table that spreadsheets open as it is: a row per reading, a column per value, local times, a mark for UTF-8",
  },
  {
    name: "zone",
    value: "ZONE",
    doc: "with --excel: times of local (the gateway's zone, the default) or utc",
  },
  { name: "separator", value: "CHARACTER", doc: "with --excel: ; (the default) , | or tab" },
  { name: "decimal", value: "CHARACTER", doc: "with --excel: a comma (the default) or a point" },
  {
    name: "db",
    value: "URL",
    doc: "read from the database of `gateside collect` instead of DATA_DIR; requires --format parquet",
  },
  { name: "site", value: "SITE", doc: "with --db: this site only" },
  {
    name: "to-dir",
    value: "DIR",
    doc: "with --db: write a file for each site and UTC day, DIR/SITE/2026-11-20.parquet, each whole or not at all",
  },
  {
    name: "waveforms",
    value: "DIR",
    doc: "write stored waveforms to this directory instead: a file per axis (acceleration in G) and index.csv",
  },
  ENVIRONMENT_FLAG,
];
