/** The part of the plant that one uplink of a campaign gets. */
import type { Values } from "./received.ts";

/** What the uplink `cloud` selects; each has a pattern. */
export const CLOUD_SELECT = {
  kinds: ["accel", "rpm", "loop", "currentV2"],
  sensors: ["1002003*", "1002004??", "10020055*", "*596", "100200670"],
  values: ["*_vel_rms", "*_zone", "rpm", "channel1_m?", "current1_avg", "current1_max"],
};

/** Written out here, not taken from the agent. */
const isSensor = (code: string) =>
  /^(?:1002003.*|1002004..|10020055.*|.*596|100200670)$/.test(code);
const isValue = (name: string) =>
  /^(?:.*_vel_rms|.*_zone|rpm|channel1_m.|current1_avg|current1_max)$/.test(name);

export const cloudWants = (sensor: string, kind: string): boolean =>
  CLOUD_SELECT.kinds.includes(kind) && isSensor(sensor);

/** What remains of a reading on the uplink `cloud`; null if it is not due there. */
export function cloudValues(values: Values): Values | null {
  const chosen = Object.entries(values).filter(([name]) => isValue(name));
  return chosen.length === 0 ? null : Object.fromEntries(chosen);
}
