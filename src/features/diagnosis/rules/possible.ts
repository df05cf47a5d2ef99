/** What diagnosis may find on a sensor, whether or not it stands. */

import { type FindingKind, findingKey, UNEXPLAINED } from "../../../core/diagnosis/finding.ts";
import { bearingName, type Machine } from "../../../core/machine.ts";
import { isRead, type Sensor } from "../../../core/sensor.ts";
import { machineAt } from "../../../core/shaft.ts";
import { zoneLimits } from "../../../pipeline/signal/severity.ts";

const SHAFT: readonly FindingKind[] = ["unbalance", "misalignment", "looseness"];
const BEARING: readonly FindingKind[] = [
  "bearing_outer_race",
  "bearing_inner_race",
  "rolling_element",
  "cage",
];

/** Values that the alarm `finding` of a sensor may have. */
export function possibleAlarms(machine: Machine | undefined, sensor: Sensor): readonly string[] {
  const findings = possibleFindings(machine, sensor);
  const hasLimits = zoneLimits(sensor) !== null;
  return findings.length > 0 && hasLimits ? [...findings, UNEXPLAINED] : findings;
}

/** Keys of the findings; none without a speed, or for a sensor that is not read. */
export function possibleFindings(machine: Machine | undefined, sensor: Sensor): readonly string[] {
  if (machine?.speed === undefined || !isRead(sensor) || !sensor.kinds.includes("accel")) return [];
  const { blades, teeth, lineHz, bearings = [] } = machineAt(machine, sensor.location);
  return [
    ...SHAFT,
    ...bearings.flatMap((bearing, at) =>
      bearing.point === sensor.location?.point
        ? BEARING.map((finding) => findingKey(finding, bearingName(bearing, at)))
        : [],
    ),
    ...(blades === undefined ? [] : ["blade_pass"]),
    ...(teeth === undefined ? [] : ["gear_mesh"]),
    ...(lineHz === undefined ? [] : ["electrical"]),
  ];
}
