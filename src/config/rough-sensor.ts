import type { JsonObject } from "../core/record.ts";
import type { ChannelConfig, Sensor, StateRead, StateRegister } from "../core/sensor.ts";
import { dict, kindsIn, list, texts } from "./written-parts.ts";

/** By the written one, which nothing changes. */
const KNOWN = new WeakMap<JsonObject, Sensor>();

/** What is known of a sensor: its values and where it is mounted; null if its code is missing. */
export function roughSensor(written: JsonObject | null): Sensor | null {
  const code = written?.["code"];
  if (!written || typeof code !== "string") return null;
  const known = KNOWN.get(written);
  if (known !== undefined) return known;
  const sensor = readSensor(written, code);
  KNOWN.set(written, sensor);
  return sensor;
}

function readSensor(written: JsonObject, code: string): Sensor {
  const channels: [string, ChannelConfig][] = Object.entries(dict(written["channels"]) ?? {}).map(
    ([name, channel]) => [name, dict(channel) ?? {}],
  );
  const location = dict(written["location"]);
  const stateReads = list(written["stateReads"]).flatMap((read) => roughRead(dict(read)));
  const machineName = dict(location?.["names"])?.["machine"];
  const [company, area, machine, point] = ["company", "area", "machine", "point"].map((level) =>
    Number(location?.[level]),
  );
  return {
    code,
    type: 0,
    kinds: kindsIn(written["kinds"]),
    channels: Object.fromEntries(channels),
    ...("machineClass" in written || "limits" in written
      ? { machineClass: "class1" as const }
      : {}),
    ...(stateReads.length === 0 ? {} : { stateReads }),
    ...("replaces" in written ? { replaces: texts(written["replaces"]) } : {}),
    ...(typeof written["batteryLowV"] === "number" ? { batteryLowV: written["batteryLowV"] } : {}),
    ...(location === null
      ? {}
      : {
          location: {
            company: company ?? Number.NaN,
            area: area ?? Number.NaN,
            machine: machine ?? Number.NaN,
            point: point ?? Number.NaN,
            ...(typeof machineName === "string" ? { names: { machine: machineName } } : {}),
          },
        }),
  };
}

/** The values of a state read, as far as they are known. */
function roughRead(read: JsonObject | null): StateRead[] {
  const unitOf = (one: JsonObject) =>
    typeof one["unit"] === "string" ? { unit: one["unit"] } : {};
  if (read?.["via"] === "modbus") {
    const registers = list(read["registers"]).flatMap((value): StateRegister[] => {
      const one = dict(value);
      if (one === null || typeof one["value"] !== "string") return [];
      return [{ address: 0, type: "uint16", value: one["value"], ...unitOf(one) }];
    });
    return [{ via: "modbus", url: "", registers }];
  }
  const fields = Object.entries(dict(read?.["fields"]) ?? {}).map(([name, value]) => {
    const one = dict(value) ?? {};
    return [name, { from: "", ...unitOf(one) }] as const;
  });
  return [{ operation: "", fields: Object.fromEntries(fields) }];
}
