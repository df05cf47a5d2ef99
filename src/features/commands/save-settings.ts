/**
 * Turns a message or a command line into checked sensor settings within their limits, or every reason why not (services
 * section 3.7; pure).
 */
import {
  type CommandResult,
  type SensorSettings,
  type SettingsOperation,
  settingsBounds,
} from "../../core/command.ts";
import { isJsonObject, type JsonValue } from "../../core/record.ts";
import { type Sensor, sameCode } from "../../core/sensor.ts";

/** Documented numbers for refusals that the service would make too (services section 3.9). */
const STATUS = { range: 502, intervalSendData: 503, intervalRms: 504, alarm: 505 } as const;

export interface WhyNot {
  readonly problem: string;
  /** The documented number with the same meaning; null if there is none. */
  readonly statusNumber: number | null;
}
export type CheckedSettings =
  | { readonly settings: SensorSettings }
  | { readonly whyNots: readonly WhyNot[] };

const NUMBERS = ["IntervalSendData", "Range", "IntervalRMS", "alarm1", "alarm2", "alarm3"] as const;

/**
 * The fields of contract section 8. `wireWord` is accepted in place of `sensor`, as in every request to us.
 * `operation` brings its own limits and numbers. All eight fields sent come from these seven and the sensor's type in
 * the site file.
 */
export function checkSettings(
  request: unknown,
  sensors: readonly Pick<Sensor, "code" | "type">[],
  wireWord: string,
  operation: SettingsOperation,
): CheckedSettings {
  if (!isJsonObject(request))
    return { whyNots: [{ problem: "the request is not a JSON object", statusNumber: null }] };
  const fields = new Map<string, unknown>(Object.entries(request));
  const whyNots: WhyNot[] = [];
  const refuse = (problem: string, statusNumber: number | null = null) =>
    void whyNots.push({ problem, statusNumber });

  const sensor = findSensor(fields, sensors, wireWord, refuse);
  const integer = (
    name: "IntervalSendData" | "Range" | "IntervalRMS",
    documented: number,
    unit: string,
  ) => {
    const { min, max } = settingsBounds(operation, name);
    // UpdateConfig knows only 505.
    const status = operation === "saveSettings" ? documented : null;
    // 502 means any invalid range; the others mean that a value is too low.
    const otherwise = name === "Range" ? status : null;
    const value = numberOf(fields, name, refuse, otherwise);
    if (value === null) return 0;
    if (value < min) refuse(`${name} ${value} is below the minimum, ${min} ${unit}`, status);
    else if (!Number.isInteger(value)) refuse(`${name} ${value} is not a whole number`, otherwise);
    else if (value > max) refuse(`${name} ${value} is above ${max}`, otherwise);
    return value;
  };
  const alarm = (name: "alarm1" | "alarm2" | "alarm3") => {
    const { min, max } = settingsBounds(operation, "alarm");
    const value = numberOf(fields, name, refuse);
    if (value === null) return 0;
    if (value < min) refuse(`${name} ${value} is below the minimum, ${min} mm/s`, STATUS.alarm);
    else if (value > max) refuse(`${name} ${value} is above ${max} mm/s`);
    return value;
  };

  const settings = {
    intervalSendDataMin: integer("IntervalSendData", STATUS.intervalSendData, "min"),
    rangeG: integer("Range", STATUS.range, "G"),
    intervalRmsS: integer("IntervalRMS", STATUS.intervalRms, "s"),
    alarms: [alarm("alarm1"), alarm("alarm2"), alarm("alarm3")] as const,
  };
  const known = new Set<string>(["sensor", wireWord, ...NUMBERS]);
  for (const name of fields.keys()) {
    if (!known.has(name))
      refuse(`${JSON.stringify(name.slice(0, 40))} is not a field of this command`);
  }
  if (whyNots.length > 0 || sensor === null) return { whyNots };
  return { settings: { code: sensor.code, type: sensor.type, ...settings } };
}

/** The response to a refusal: every reason in words, and the first documented number among them. */
export function refusal(whyNots: readonly WhyNot[]): CommandResult {
  return {
    ok: false,
    outcome: "rejected_local",
    statusNumber: whyNots.find((w) => w.statusNumber !== null)?.statusNumber ?? null,
    description: whyNots.map((w) => w.problem).join("; "),
  };
}

/** The sensor named by a request, for the audit log; empty if it names none. */
export function namedSensor(request: unknown, wireWord: string): string {
  if (typeof request !== "object" || request === null) return "";
  const fields: Readonly<Record<string, JsonValue>> = { ...request };
  const named = fields["sensor"] ?? fields[wireWord];
  return typeof named === "string" || typeof named === "number" ? String(named).slice(0, 64) : "";
}

function findSensor(
  fields: ReadonlyMap<string, unknown>,
  sensors: readonly Pick<Sensor, "code" | "type">[],
  wireWord: string,
  refuse: (problem: string) => void,
): Pick<Sensor, "code" | "type"> | null {
  const named = fields.get("sensor") ?? fields.get(wireWord);
  const code = typeof named === "number" ? String(named) : named;
  if (typeof code !== "string") {
    refuse(named === undefined ? "sensor is missing" : "sensor is not a serial number");
    return null;
  }
  const sensor = sensors.find((s) => sameCode(s.code, code));
  if (!/^\d{1,15}$/.test(code.trim())) {
    refuse(`sensor ${JSON.stringify(code.slice(0, 64))} is not a serial number of 1 to 15 digits`);
    return null;
  }
  if (!sensor) {
    refuse(`sensor ${code.trim()} is not in the site file`);
    return null;
  }
  return { code: sensor.code.trim(), type: sensor.type };
}

function numberOf(
  fields: ReadonlyMap<string, unknown>,
  name: string,
  refuse: (problem: string, statusNumber?: number | null) => void,
  statusNumber: number | null = null,
): number | null {
  const value = fields.get(name);
  if (value === undefined || value === null) refuse(`${name} is missing`);
  else if (typeof value !== "number" || !Number.isFinite(value))
    refuse(`${name} is not a number`, statusNumber);
  else return value;
  return null;
}
