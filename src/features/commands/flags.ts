import type { FlagSpec } from "../../cli/command.ts";
import { ENVIRONMENT_FLAG } from "../../cli/environment-flag.ts";
import { JSON_FLAG, SENSOR_FLAG } from "../../cli/shared-flags.ts";

export const SETTINGS_FLAGS: readonly FlagSpec[] = [
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
];
