/** The sensors that findings are based on: what the site file says of each, and what is known of it where it is now. */
import type { Machine } from "../../../core/machine.ts";
import { formerCodes } from "../../../core/replacement.ts";
import { isRead, normalCode, type Sensor, sameCode } from "../../../core/sensor.ts";
import { findingPlace } from "../../../core/sensor-names.ts";
import { machineAt, shaftAt } from "../../../core/shaft.ts";
import type { Site } from "../../../core/site.ts";
import { NO_FINDINGS, type SensorFindings, sensorMount } from "./sensor-findings.ts";
import { NONE_UNEXPLAINED } from "./unexplained-state.ts";
import type { LineContext } from "./unexplained-text.ts";

export interface Watched {
  readonly sensor: Sensor;
  /** Normalised codes of the sensors that were in its place before it. */
  readonly formers: readonly string[];
  /** As its point sees it (`machineAt`). */
  readonly machine: Machine;
  /** Both by their names. */
  readonly place: string;
  /** What a line that nothing explains is told with: the machine as the site file has it. */
  readonly lines: LineContext;
  /** By what its normal state is learned. */
  readonly basis: string;
}

/** By normalised code. */
export function watchedOn(site: Site): ReadonlyMap<string, Watched> {
  const byId = new Map((site.machines ?? []).map((machine) => [machine.id, machine]));
  const watched = new Map<string, Watched>();
  for (const sensor of byId.size === 0 ? [] : site.sensors) {
    const machine = sensor.location && byId.get(sensor.location.machine);
    if (machine === undefined || !sensor.kinds.includes("accel") || !isRead(sensor)) continue;
    const formers = formerCodes(site.sensors, sensor).map(normalCode);
    const own = machineAt(machine, sensor.location);
    const place = findingPlace(machine, sensor, site);
    const lines = { machine, sensor, place, pulsesPerRevolution: pulsesOf(machine, site) };
    const basis = basisOf(lines);
    watched.set(normalCode(sensor.code), { sensor, machine: own, place, formers, basis, lines });
  }
  return watched;
}

/** By what the normal state of a sensor's machine is learned; empty: by the measured shaft, with speed and clock as they are sent. */
function basisOf({ machine, sensor, pulsesPerRevolution }: LineContext): string {
  const { location, sampleRateFactor = 1 } = sensor;
  const { speedRatio = 1, blades, teeth } = shaftAt(machine, location) ?? {};
  const basis = [speedRatio, blades ?? null, teeth ?? null, pulsesPerRevolution, sampleRateFactor];
  const text = JSON.stringify(basis);
  return text === "[1,null,null,1,1]" ? "" : text;
}

const BY = " by ";

function pulsesOf({ speed }: Machine, { sensors }: Site): number {
  const sensor = sensors.find(({ code }) => sameCode(code, speed?.sensor ?? ""));
  return sensor?.pulsesPerRevolution ?? 1;
}

/** Where a sensor is, and by what it is judged there. */
export const placeOf = ({ sensor, basis }: Watched) =>
  basis === "" ? sensorMount(sensor) : `${sensorMount(sensor)}${BY}${basis}`;

/** What is known of a sensor where it is now: nothing of the machine or direction from which it was moved. */
export function knownHere(known: SensorFindings, watched: Watched): SensorFindings {
  if (known.mount === undefined || known.mount === placeOf(watched)) return known;
  const isMoved = known.mount.split(BY)[0] !== sensorMount(watched.sensor);
  if (isMoved) return { ...NO_FINDINGS, newestMs: known.newestMs };
  // By another shaft or clock, its normal state is learned anew, and its orders are others.
  const { unexplained = NONE_UNEXPLAINED } = known;
  const lines = { ...NONE_UNEXPLAINED, stands: unexplained.stands };
  return { ...known, reference: null, unexplained: lines };
}
