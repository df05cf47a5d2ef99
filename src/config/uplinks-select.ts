import type { JsonObject } from "../core/record.ts";
import { type Kind, normalCode, readingKinds, type Sensor } from "../core/sensor.ts";
import { kindValues } from "../core/sensors/kind-values.ts";
import { type Site } from "../core/site.ts";
import { createGlob } from "../core/text/glob.ts";
import { createSelector, SELECT_ALL, type Select } from "../core/uplink.ts";
import { type Note, shown } from "./fault.ts";
import { anyKindsIn, numbers, texts } from "./written-parts.ts";

/**
 * Checks a selection against the site file. What it names and the file does not, or no longer, is a warning: sensors
 * are added and removed by separate reloads, and what ran before starts all the same (plant section 17).
 */
export function checkSelect(
  written: JsonObject | null,
  place: string,
  site: Site | null,
  warn: Note,
): void {
  if (written === null || site === null) return;
  const select: Select = {
    ...SELECT_ALL,
    kinds: anyKindsIn(written["kinds"]),
    sensors: texts(written["sensors"]),
    areas: numbers(written["areas"]),
    machines: numbers(written["machines"]),
    values: texts(written["values"]),
  };
  const { sensors } = site;
  let isWhole = true;
  let missing = 0;
  const at = (key: string, i: number) => `${place}.select.${key}[${i}]`;
  for (const [i, pattern] of select.sensors.entries()) {
    const matches = createGlob(pattern);
    if (sensors.some(({ code }) => matches(code) || matches(normalCode(code)))) continue;
    warn({
      place: at("sensors", i),
      problem: `${shown(pattern)} matches no sensor in the site file`,
      remedy: "correct it, or keep it for sensors that will be added",
    });
    missing += 1;
  }
  // Already reported, and nothing more can be said about an uplink that has no sensor yet.
  if (missing > 0 && missing === select.sensors.length) isWhole = false;
  for (const key of ["areas", "machines"] as const) {
    const level = key === "areas" ? "area" : "machine";
    for (const [i, id] of select[key].entries()) {
      if (sensors.some(({ location }) => location?.[level] === id)) continue;
      isWhole = false;
      warn({
        place: at(key, i),
        problem: `no sensor in the site file has the ${level} ${id}`,
        remedy: `use the id of a sensor's location.${level}, or keep it for sensors that will be added`,
      });
    }
  }
  const isGiven = (kind: Kind) => sensors.some((sensor) => readingKinds(sensor).includes(kind));
  if (select.kinds.length > 0 && !select.kinds.some(isGiven)) isWhole = false;
  for (const [i, kind] of select.kinds.entries()) {
    if (isGiven(kind)) continue;
    warn({
      place: at("kinds", i),
      problem: `no sensor in the site file has the kind ${kind}`,
      remedy: "leave it out, or keep it for sensors that will be added",
    });
  }
  checkValues(select, sensors, place, warn, isWhole);
}

function checkValues(
  select: Select,
  sensors: readonly Sensor[],
  place: string,
  warn: Note,
  isWhole: boolean,
): void {
  const { includes } = createSelector(select, sensors);
  const chosen = sensors.flatMap((sensor) =>
    readingKinds(sensor)
      .filter((kind) => includes(sensor.code, kind))
      .map((kind) => ({ sensor, kind })),
  );
  if (chosen.length === 0) {
    // If a part of it matches nothing, that has been said.
    if (isWhole)
      warn({
        place: `${place}.select`,
        problem: "selects no readings: nothing matches all of its lists",
        remedy: "remove a list, or keep it for sensors that will be added",
      });
    return;
  }
  const names = new Set(
    chosen.flatMap(({ sensor, kind }) => kindValues(sensor, kind).map(({ name }) => name)),
  );
  const idle = select.values.map((pattern) => ![...names].some(createGlob(pattern)));
  for (const [i, pattern] of select.values.entries()) {
    if (!idle[i]) continue;
    warn({
      place: `${place}.select.values[${i}]`,
      problem: `${shown(pattern)} matches no value of the selected readings`,
      remedy: `use values such as ${[...names].slice(0, 3).join(", ")}`,
    });
  }
}
