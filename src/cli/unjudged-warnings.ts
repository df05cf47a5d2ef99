/** Vibration sensors that nothing will ever judge or measure: said before somebody waits for it. */
import type { ConfigurationFault } from "../core/configuration/configuration-fault.ts";
import type { Machine } from "../core/machine.ts";
import { isRead, type Sensor } from "../core/sensor.ts";
import { type Site } from "../core/site.ts";
import { zoneLimits } from "../pipeline/signal/severity.ts";

/** ISO 20816-3 begins here, r/min. Fewer is mostly a speed in Hz; slow machines exist, though. */
const SPEED_RPM_MIN = 120;
/** Codes that a warning names. */
const NAMED_MAX = 5;

export function unjudgedWarnings(
  site: Site | null,
  { WAVEFORM_DAYS: waveformDays }: { readonly WAVEFORM_DAYS: string },
): ConfigurationFault[] {
  const vibration = (site?.sensors ?? []).filter(
    (sensor) => sensor.kinds.includes("accel") && isRead(sensor),
  );
  const withSpeed = new Set(
    (site?.machines ?? []).filter(({ speed }) => speed !== undefined).map(({ id }) => id),
  );
  const noClass = vibration.filter((sensor) => zoneLimits(sensor) === null);
  const slow = vibration.filter(({ speedRpm = SPEED_RPM_MIN }) => speedRpm < SPEED_RPM_MIN);
  const noMachine = vibration.filter(
    ({ location }) => location === undefined || !withSpeed.has(location.machine),
  );
  return [
    ...slowWarnings(slow),
    ...(waveformDays === "0" ? bandWarnings(site?.machines ?? []) : []),
    ...warning(
      noClass,
      "no machineClass and no limits",
      "zone and no zone alarm",
      "set machineClass of each, or limits",
    ),
    ...warning(
      noMachine,
      "no machine with a measured speed",
      "finding",
      "set location of each, and the machine with its speed in machines",
    ),
  ];
}

/** Bands are measured from stored samples, once the speed at their time is known. */
function bandWarnings(machines: readonly Machine[]): ConfigurationFault[] {
  return machines.flatMap(({ bands }, i) =>
    bands === undefined
      ? []
      : [
          {
            place: `machines[${i}].bands`,
            problem:
              "are measured from stored samples, and WAVEFORM_DAYS is 0: they may be missing",
            remedy: "set WAVEFORM_DAYS to 1 or more",
          },
        ],
  );
}

/** A speed in Hz shows no harmonic where it is, and widens the velocity band to what the sensor cannot measure. */
function slowWarnings(sensors: readonly Sensor[]): ConfigurationFault[] {
  if (sensors.length === 0) return [];
  const named = namesOf(sensors, ({ code, speedRpm }) => `${code} (${speedRpm})`);
  return [
    {
      place: "sensors",
      problem: `speedRpm of ${named} is below ${SPEED_RPM_MIN} r/min, as of few machines`,
      remedy: "multiply it by 60 if it is in Hz; otherwise leave it as it is",
    },
  ];
}

function namesOf(sensors: readonly Sensor[], nameOf: (sensor: Sensor) => string): string {
  const named = sensors.slice(0, NAMED_MAX).map(nameOf).join(", ");
  return sensors.length > NAMED_MAX ? `${named} and ${sensors.length - NAMED_MAX} more` : named;
}

function warning(
  sensors: readonly Sensor[],
  lack: string,
  never: string,
  remedy: string,
): ConfigurationFault[] {
  if (sensors.length === 0) return [];
  const named = namesOf(sensors, ({ code }) => code);
  const have = sensors.length === 1 ? "has" : "have";
  return [
    {
      place: "sensors",
      problem: `${named} ${have} ${lack}: no ${never} will ever come of ${sensors.length === 1 ? "it" : "them"}`,
      remedy,
    },
  ];
}
