/**
 * What uplinks select by, kept beyond the entries in the site file: the ends of a removed sensor's alarms go where they
 * were raised.
 */
import { parsedJson } from "../../../core/parsed-json.ts";
import type { Logger } from "../../../core/ports.ts";
import { isJsonObject } from "../../../core/record.ts";
import { KINDS, normalCode, readingKinds } from "../../../core/sensor.ts";
import type { Site } from "../../../core/site.ts";
import type { SelectedSensor } from "../../../core/uplink.ts";
import { KeptText, type KeptTextParts } from "./kept-text.ts";

const NAME = "sensor-places";
/** The longest removed are forgotten first. */
const LEFT_MAX = 1_000;

export class LeftSensors {
  readonly #kept: KeptText;
  #known: readonly SelectedSensor[];

  constructor(memory: KeptTextParts["memory"], logger: Logger) {
    this.#kept = new KeptText({ memory, logger }, NAME, "[]", "places of sensors");
    this.#known = parsed(this.#kept.text);
  }

  /** The sensors of a site file that has come into effect, and those that have left it. */
  with({ sensors }: Pick<Site, "sensors">): readonly SelectedSensor[] {
    const present = new Set(sensors.map(({ code }) => normalCode(code)));
    const left = this.#known.filter(({ code }) => !present.has(normalCode(code))).slice(-LEFT_MAX);
    this.#known = [...left, ...sensors.map(placed)];
    this.#kept.keep(JSON.stringify(this.#known));
    return [...left, ...sensors];
  }
}

function placed(sensor: SelectedSensor): SelectedSensor {
  const { code, location } = sensor;
  const kinds = readingKinds(sensor);
  if (location === undefined) return { code, kinds };
  const { area, machine } = location;
  return { code, kinds, location: { area, machine } };
}

/** A damaged text, or a damaged entry of it, is no reason not to start. */
function parsed(text: string): readonly SelectedSensor[] {
  const entries = parsedJson(text);
  return Array.isArray(entries) ? entries.flatMap(entryOf) : [];
}

function entryOf(entry: unknown): SelectedSensor[] {
  if (!isJsonObject(entry)) return [];
  const { code, kinds, location } = entry;
  if (typeof code !== "string" || !Array.isArray(kinds)) return [];
  const known = { code, kinds: KINDS.filter((kind) => kinds.includes(kind)) };
  if (!isJsonObject(location)) return [known];
  const { area, machine } = location;
  if (typeof area !== "number" || typeof machine !== "number") return [known];
  return [{ ...known, location: { area, machine } }];
}
