/**
 * The names of sensors, kept beyond their entries in the site file: what is stored of a removed one is still shown by its
 * name.
 */
import { parsedJson } from "../../../core/parsed-json.ts";
import { normalCode, type Sensor } from "../../../core/sensor.ts";
import type { SiteSource } from "../../../core/site-source.ts";
import { KeptText, type KeptTextParts } from "./kept-text.ts";

const NAME = "sensor-names";
/** Of present and removed sensors; the longest removed are forgotten first. */
const NAMES_MAX = 10_000;

interface SensorNamesParts extends KeptTextParts {
  readonly site: SiteSource;
}

/** @returns the name of a sensor, also of one that was removed; null if it has none */
export function keepSensorNames({ site, ...parts }: SensorNamesParts) {
  const kept = new KeptText(parts, NAME, "[]", "names of sensors");
  let names = parsed(kept.text);
  const remember = (): void => {
    const present = site.current.sensors.map((one): [string, string | null] => [
      normalCode(one.code),
      nameOf(one),
    ]);
    const known = new Set(present.map(([code]) => code));
    const removed = [...names].filter(([code]) => !known.has(code));
    names = new Map(
      [...removed, ...present]
        .flatMap(([code, name]): [string, string][] => (name === null ? [] : [[code, name]]))
        .slice(-NAMES_MAX),
    );
    kept.keep(JSON.stringify([...names]));
  };
  remember();
  site.onChange(remember);
  return (code: string): string | null => names.get(normalCode(code)) ?? null;
}

function nameOf({ name, location }: Sensor): string | null {
  const own = name ?? location?.names?.point;
  const machine = location?.names?.machine;
  if (own === undefined) return machine ?? null;
  return machine === undefined || own.includes(machine) ? own : `${machine} ${own}`;
}

function parsed(text: string): ReadonlyMap<string, string> {
  const entries = parsedJson(text);
  const isPair = (entry: unknown) => Array.isArray(entry) && entry.length === 2;
  return new Map(Array.isArray(entries) ? entries.filter(isPair) : []);
}
