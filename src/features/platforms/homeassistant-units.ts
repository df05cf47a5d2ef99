/**
 * Our units in Home Assistant's spelling, with the device class that they are valid for (home-assistant.io,
 * integrations/sensor "Device class"; developers.home-assistant.io, "Available device classes"). Home Assistant rejects
 * an entity whose unit is not listed for its class, so a unit without a certain class has none.
 */
export interface DeviceClass {
  readonly unit_of_measurement?: string;
  readonly device_class?: string;
}

const MEANINGS: Readonly<Record<string, DeviceClass>> = {
  degC: { unit_of_measurement: "°C", device_class: "temperature" },
  "°C": { unit_of_measurement: "°C", device_class: "temperature" },
  degF: { unit_of_measurement: "°F", device_class: "temperature" },
  "°F": { unit_of_measurement: "°F", device_class: "temperature" },
  K: { unit_of_measurement: "K", device_class: "temperature" },
  V: { unit_of_measurement: "V", device_class: "voltage" },
  mV: { unit_of_measurement: "mV", device_class: "voltage" },
  A: { unit_of_measurement: "A", device_class: "current" },
  mA: { unit_of_measurement: "mA", device_class: "current" },
  bar: { unit_of_measurement: "bar", device_class: "pressure" },
  mbar: { unit_of_measurement: "mbar", device_class: "pressure" },
  hPa: { unit_of_measurement: "hPa", device_class: "pressure" },
  kPa: { unit_of_measurement: "kPa", device_class: "pressure" },
  Pa: { unit_of_measurement: "Pa", device_class: "pressure" },
  psi: { unit_of_measurement: "psi", device_class: "pressure" },
  "m3/h": { unit_of_measurement: "m³/h", device_class: "volume_flow_rate" },
  "m³/h": { unit_of_measurement: "m³/h", device_class: "volume_flow_rate" },
  "l/min": { unit_of_measurement: "L/min", device_class: "volume_flow_rate" },
  "L/min": { unit_of_measurement: "L/min", device_class: "volume_flow_rate" },
  Hz: { unit_of_measurement: "Hz", device_class: "frequency" },
  W: { unit_of_measurement: "W", device_class: "power" },
  kW: { unit_of_measurement: "kW", device_class: "power" },
  m: { unit_of_measurement: "m", device_class: "distance" },
  cm: { unit_of_measurement: "cm", device_class: "distance" },
  mm: { unit_of_measurement: "mm", device_class: "distance" },
  um: { unit_of_measurement: "µm" },
};

/** Ratios have no unit; an unknown one is shown as written in the site file. */
export function homeAssistantMeaning(unit: string | null): DeviceClass {
  if (unit === null || unit === "1") return {};
  return Object.hasOwn(MEANINGS, unit) ? (MEANINGS[unit] ?? {}) : { unit_of_measurement: unit };
}
