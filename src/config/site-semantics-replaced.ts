/** Rules for `replaces`: a place has one sensor that is read, and its history goes one way. */

import type { ConfigurationFault } from "../core/configuration/configuration-fault.ts";
import type { JsonObject } from "../core/record.ts";
import { isFormer } from "../core/replacement.ts";
import { normalCode } from "../core/sensor.ts";
import { shown } from "./fault.ts";
import { texts } from "./written-parts.ts";

interface SensorEntry {
  readonly code: string;
  readonly replaces: readonly string[];
  readonly isRead: boolean;
  readonly place: string;
}

export function checkReplaced(
  sensors: readonly (JsonObject | null)[],
  faults: ConfigurationFault[],
): void {
  // Few sites have any.
  if (!sensors.some((sensor) => sensor !== null && "replaces" in sensor)) return;
  const entries = sensors.flatMap((sensor, i): SensorEntry[] => {
    const code = sensor?.["code"];
    if (sensor === null || typeof code !== "string") return [];
    const replaces = texts(sensor["replaces"]);
    return [{ code, replaces, isRead: sensor["enabled"] !== false, place: `sensors[${i}]` }];
  });
  const byCode = new Map(entries.map((entry) => [normalCode(entry.code), entry]));
  for (const entry of entries) {
    for (const [k, former] of entry.replaces.entries()) {
      const place = `${entry.place}.replaces[${k}]`;
      const fault = circleOf(entries, entry, former) ?? readOf(byCode, former);
      const twin = fault === null ? otherSuccessor(entries, entry, former) : null;
      if (fault !== null) faults.push({ place, ...fault });
      if (twin !== null) faults.push({ place, ...twin });
    }
  }
}

type ReplacedFault = Omit<ConfigurationFault, "place"> | null;

function circleOf(
  entries: readonly SensorEntry[],
  { code }: SensorEntry,
  former: string,
): ReplacedFault {
  const isSelf = normalCode(former) === normalCode(code);
  const other = entries.find((one) => normalCode(one.code) === normalCode(former));
  if (!isSelf && (other === undefined || !isFormer(entries, code, other))) return null;
  const problem = isSelf
    ? `${shown(former)} is the sensor itself`
    : `${shown(former)} replaces ${shown(code)} in turn, a circle`;
  return { problem, remedy: "keep the entry of the sensor that was fitted later" };
}

function readOf(byCode: ReadonlyMap<string, SensorEntry>, former: string): ReplacedFault {
  const found = byCode.get(normalCode(former));
  if (found?.isRead !== true) return null;
  return {
    problem: `${shown(former)} is still read (${found.place})`,
    remedy: `set "enabled": false there, or remove that entry`,
  };
}

/** Another sensor that claims the same place, unless one of the two was before the other in it. */
function otherSuccessor(
  entries: readonly SensorEntry[],
  entry: SensorEntry,
  former: string,
): ReplacedFault {
  const others = entries.filter(
    ({ code, replaces }) =>
      code !== entry.code && replaces.some((one) => normalCode(one) === normalCode(former)),
  );
  const other = others.find(
    (one) => !isFormer(entries, one.code, entry) && !isFormer(entries, entry.code, one),
  );
  if (other === undefined) return null;
  return {
    problem: `${shown(former)} is also replaced by ${shown(other.code)} (${other.place})`,
    remedy: "name it in the entry of one of them",
  };
}
