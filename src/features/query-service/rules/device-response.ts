/** A sensor as the query service's list of devices shows it. */

import { firmwareOf, signalOf } from "../../../core/query/node-facts.ts";
import { isRead, type Sensor } from "../../../core/sensor.ts";
import { memberNumber } from "../../../core/value-number.ts";
import { API_DEVICE } from "../../../pipeline/wire/names.ts";
import { type Cell, type OpenReading } from "./responses.ts";

/** What the newest records of a sensor say about it. */
export interface DeviceFacts {
  readonly batteryV: number | null;
  readonly temperatureC: number | null;
  readonly firmware: number | null;
  /** Usually dBm: in the unit of the site file. */
  readonly signal: number | null;
}

export function deviceFacts(readings: readonly OpenReading[]): DeviceFacts {
  const newestFirst = [...readings].sort((a, b) => b.reading.timeMs - a.reading.timeMs);
  const first = (of: (open: OpenReading) => number | null): number | null => {
    for (const open of newestFirst) {
      const found = of(open);
      if (found !== null) return found;
    }
    return null;
  };
  return {
    batteryV: first(({ values }) => memberNumber(values, "battery")),
    temperatureC: first(
      ({ values }) =>
        memberNumber(values, "module_temperature") ?? memberNumber(values, "temperature"),
    ),
    firmware: first(({ reading, values, attributes }) =>
      reading.kind === "node"
        ? wholeNumber(firmwareOf(values))
        : memberNumber(attributes, "version"),
    ),
    signal: first(({ reading, values }) => (reading.kind === "node" ? signalOf(values) : null)),
  };
}

/** The device list's firmware is an integer: a name such as 2.1 is not. */
function wholeNumber(firmware: string | number | null): number | null {
  if (firmware === null || firmware === "") return null;
  const number = Number(firmware);
  return Number.isInteger(number) ? number : null;
}

/** `axes`: the number of axes on which the sensor measures vibration. */
function channelCount(sensor: Sensor, axes: number): number {
  const listed = Object.keys(sensor.channels).length;
  const fixed = sensor.kinds.includes("rpm") ? 1 : 4;
  return axes > 0 ? axes : listed > 0 ? listed : fixed;
}

/**
 * The device's number: its serial number if that is numeric (32 bits, as typed clients read it), otherwise one derived
 * from the text.
 */
function deviceId(code: string): number {
  const number = Number(code);
  if (/^\d+$/.test(code) && number > 0 && number <= 0x7fffffff) return number;
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(code, "utf8")) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash & 0x7fffffff || 1;
}

export function deviceResponse(
  sensor: Sensor,
  axes: number,
  facts: DeviceFacts,
  lastUpdateConfig: string,
): Record<string, Cell> {
  return {
    [API_DEVICE.id]: deviceId(sensor.code),
    [API_DEVICE.code]: sensor.code,
    [API_DEVICE.model]: sensor.model ?? null,
    [API_DEVICE.type]: sensor.type,
    [API_DEVICE.channelCount]: channelCount(sensor, axes),
    [API_DEVICE.name]: sensor.name ?? null,
    [API_DEVICE.description]: sensor.description ?? null,
    [API_DEVICE.enabled]: isRead(sensor) ? 1 : 0,
    [API_DEVICE.batteryVoltage]: facts.batteryV,
    [API_DEVICE.batteryType]: sensor.batteryType ?? null,
    [API_DEVICE.temperature]: facts.temperatureC,
    [API_DEVICE.signalStrengthValue]: facts.signal === null ? null : Math.round(facts.signal),
    [API_DEVICE.firmwareVersion]: facts.firmware,
    [API_DEVICE.lastUpdateConfig]: lastUpdateConfig,
  };
}
