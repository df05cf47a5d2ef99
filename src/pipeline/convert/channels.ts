/** Which configured channels a kind publishes. */
import type { ChannelConfig, Sensor } from "../../core/sensor.ts";

export interface ConfiguredChannel {
  readonly name: string;
  readonly number: number;
  readonly config: ChannelConfig;
}

function listed(sensor: Sensor, prefix: string, count: number): ConfiguredChannel[] {
  const channels: ConfiguredChannel[] = [];
  for (let number = 1; number <= count; number++) {
    const name = `${prefix}${number}`;
    const config = Object.hasOwn(sensor.channels, name) ? sensor.channels[name] : undefined;
    if (config !== undefined) channels.push({ name, number, config });
  }
  return channels;
}

const isLoopEntry = ({ unit, low, high }: ChannelConfig) =>
  unit !== undefined || low !== undefined || high !== undefined;

/** channel1…4 of 4–20 mA. On a node that also measures vibration, only the entries with a range count. */
export function loopChannels(sensor: Sensor): ConfiguredChannel[] {
  const all = listed(sensor, "channel", 4);
  return sensor.kinds.includes("accel") ? all.filter(({ config }) => isLoopEntry(config)) : all;
}

/** channel1…3 of vibration that the site file lists; empty means all that the data have. */
export function accelChannels(sensor: Sensor): ConfiguredChannel[] {
  const all = listed(sensor, "channel", 3);
  if (!sensor.kinds.includes("loop")) return all;
  return all.filter(({ config }) => config.axis !== undefined || !isLoopEntry(config));
}

/** current1…count with a clamp. */
export function currentChannels(sensor: Sensor, count: 3 | 4): ConfiguredChannel[] {
  return listed(sensor, "current", count);
}

/**
 * Which of four values a kind without required channels publishes: the listed ones; all if none is listed (contract
 * section 4).
 */
export function isPublished(sensor: Sensor, prefix: string, number: number): boolean {
  const own = listed(sensor, prefix, 4);
  return own.length === 0 || own.some((channel) => channel.number === number);
}
