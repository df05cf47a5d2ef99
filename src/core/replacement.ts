/**
 * A sensor fitted in the place of another (`replaces`, plant section 23): both keep their own readings and topics, and what
 * is remembered of the place goes on.
 */
import { normalCode, type Sensor } from "./sensor.ts";

type Fitted = Pick<Sensor, "code" | "replaces">;

/**
 * Codes, as written, of all sensors that were in this one's place before. A chain may be listed in whole, or follow from
 * the entries of former sensors that are still in the file.
 */
export function formerCodes(sensors: readonly Fitted[], sensor: Fitted): readonly string[] {
  if (sensor.replaces === undefined) return [];
  const byCode = new Map(sensors.map((one) => [normalCode(one.code), one]));
  const own = normalCode(sensor.code);
  const found = new Map<string, string>();
  const follow = (from: string) => {
    for (const former of byCode.get(from)?.replaces ?? []) {
      const next = normalCode(former);
      if (next === own || found.has(next)) continue;
      found.set(next, former);
      follow(next);
    }
  };
  follow(own);
  return [...found.values()];
}

/** The sensor that is in the place now, by the normalised codes of all that were there before. */
export function successors<T extends Fitted>(sensors: readonly T[]): ReadonlyMap<string, T> {
  const found = new Map<string, T>();
  for (const sensor of sensors) {
    if (sensor.replaces === undefined) continue;
    for (const former of formerCodes(sensors, sensor)) {
      const known = found.get(normalCode(former));
      const isLater = known === undefined || isFormer(sensors, known.code, sensor);
      if (isLater) found.set(normalCode(former), sensor);
    }
  }
  return found;
}

/** Whether a sensor was in the place of another before it. */
export function isFormer(sensors: readonly Fitted[], former: string, sensor: Fitted): boolean {
  const wanted = normalCode(former);
  return formerCodes(sensors, sensor).some((one) => normalCode(one) === wanted);
}
