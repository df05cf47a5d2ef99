/** What the figures of a report call their curves. */

import type { Kind, Sensor } from "../../core/sensor.ts";
import { valueLabel } from "../alarms/api.ts";

const AXES = ["H", "V", "A"];

export function titleOf(sensor: Sensor, kind: Kind, names: readonly string[]): string {
  const [first = ""] = names;
  if (kind === "bands") return first === "speed_rpm" ? "speed" : "bands";
  if (kind === "accel") return first.endsWith("_vel_rms") ? "velocity" : "envelope";
  return names.map((name) => labelOf(sensor, kind, name)).join("; ");
}

/** Axis or name of a channel, as the site file has it; of a band its own name, too. */
export function labelOf(sensor: Sensor, kind: Kind, value: string): string {
  const [channel = ""] = value.split("_", 1);
  const axis = /^channel([1-3])_/.exec(value)?.[1];
  if ((kind !== "accel" && kind !== "bands") || axis === undefined)
    return valueLabel(sensor, value);
  const config = sensor.channels[channel];
  const own = config?.name ?? config?.axis ?? AXES[Number(axis) - 1] ?? value;
  return kind === "bands" ? `${own} ${value.slice(channel.length + 1)}` : own;
}
