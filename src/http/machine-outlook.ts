/** The outlook of a machine from what is stored (plant section 19). */
import { machineOutlook } from "../core/outlook/machine-outlook.ts";
import type { MachineOutlook } from "../core/outlook/words.ts";
import { firstReadingMs, placeSpans } from "../core/query/place.ts";
import type { Kind } from "../core/sensor.ts";
import type { HttpParts } from "./parts.ts";

/** Relearned baselines are among this many actions. */
const ACTIONS_MAX = 10_000;

type OutlookSources = Pick<
  HttpParts,
  "site" | "alarms" | "dayMedians" | "machineSignals" | "history" | "hours" | "gatewayNow"
>;

/** Null for a machine that neither the machines nor a sensor's location name. */
export function outlookFor(id: number, parts: OutlookSources): MachineOutlook | null {
  const { site, alarms, dayMedians, machineSignals } = parts;
  const { machines = [], sensors } = site.current;
  const own = sensors.filter(({ location }) => location?.machine === id);
  if (own.length === 0 && !machines.some((machine) => machine.id === id)) return null;
  const nowMs = parts.gatewayNow();
  const isStanding = machineSignals.stateOf(id, nowMs) === "standing";
  const from = {
    rows: dayMedians,
    newest: (sensor: string, kind: Kind) => parts.history.latest(sensor, kind),
    spans: (sensor: string) => placeSpans(sensors, sensor, (code) => firstReadingMs(parts, code)),
    limits: (sensor: string) => alarms?.limits(sensor) ?? [],
    baselines: (sensor: string) => alarms?.baselines(sensor) ?? [],
    actions: () => alarms?.actions(ACTIONS_MAX) ?? [],
  };
  return machineOutlook(id, own, from, nowMs, isStanding);
}
