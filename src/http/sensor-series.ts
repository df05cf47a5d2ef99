import type { SensorState } from "../core/agent-status.ts";
import { YIELD_EVERY, yieldToLoop } from "../lib/yield-to-loop.ts";

const STATES: readonly SensorState["state"][] = ["online", "silent", "unknown"];

/** One series per sensor, or one per state of each. */
interface MetricFamily {
  readonly name: string;
  readonly help: string;
  /** What follows the name and the sensor's labels: label text and value. */
  readonly values: (
    sensor: SensorState,
    gatewayNowMs: number,
  ) => readonly (readonly [labels: string, value: number])[];
}

const one = (value: number | null) => (value === null ? [] : [["", value] as const]);

const FAMILIES: readonly MetricFamily[] = [
  {
    name: "gateside_sensor_state",
    help: "1 for the current state of a sensor in the site file, 0 for the others.",
    values: ({ state }) => STATES.map((each) => [`,state="${each}"`, each === state ? 1 : 0]),
  },
  {
    name: "gateside_sensor_reading_age_seconds",
    help: "Age of a sensor's newest reading, by the gateway's clock.",
    values: ({ lastReadingMs }, nowMs) =>
      one(lastReadingMs === null ? null : Math.max(0, (nowMs - lastReadingMs) / 1000)),
  },
  {
    name: "gateside_sensor_battery_volts",
    help: "Newest battery voltage of a sensor.",
    values: ({ batteryV }) => one(batteryV),
  },
  {
    name: "gateside_sensor_zone",
    help: "Vibration zone of a sensor's newest reading, 1 to 4 for A to D; only for sensors with a machine class or limits.",
    values: ({ zone }) => one(zone ? "ABCD".indexOf(zone) + 1 : null),
  },
];

/**
 * The series of sensors in Prometheus' text format, written in turns: thousands of labelled values in a registry would
 * block the loop at every scrape. Only sensors of the site file: an unknown code on the wire creates no series, and a
 * removed sensor has none.
 */
export async function sensorSeries(
  site: string,
  sensors: readonly SensorState[],
  gatewayNowMs: number,
): Promise<string> {
  const siteLabel = `,site="${escaped(site)}"`;
  const labels = sensors.map(
    ({ code, name }) => `sensor="${escaped(code)}",name="${escaped(name ?? "")}"`,
  );
  const lines: string[] = [];
  for (const { name, help, values } of FAMILIES) {
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} gauge`);
    for (const [index, sensor] of sensors.entries()) {
      for (const [more, value] of values(sensor, gatewayNowMs)) {
        lines.push(`${name}{${labels[index]}${more}${siteLabel}} ${value}`);
      }
      if (index % YIELD_EVERY === YIELD_EVERY - 1) await yieldToLoop();
    }
    lines.push("");
  }
  return `${lines.join("\n")}\n`;
}

export function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}
