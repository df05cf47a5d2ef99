/** Flags that several commands take. */
import type { FlagSpec } from "./command.ts";

export const KINDS = "accel, current, currentV2, accCurrent, loop, dryContact, rpm";
export const JSON_FLAG: FlagSpec = { name: "json", doc: "print JSON instead of text" };
export const SENSOR_FLAG: FlagSpec = {
  name: "sensor",
  value: "CODE",
  doc: "serial number in the site file",
};
