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
import type { Meta } from "../database/meta.ts";

const NAME = "sensor-places";
/** The longest removed are forgotten first. */
const LEFT_MAX = 1_000;

export class LeftSensors {
  readonly #memory: Pick<Meta, "get" | "set">;
  readonly #logger: Logger;
  #kept: string;
  #known: readonly SelectedSensor[];

  constructor(memory: Pick<Meta, "get" | "set">, logger: Logger) {
    this.#memory = memory;
    this.#logger = logger;
    this.#kept = memory.get(NAME) ?? "[]";
    this.#known = parsed(this.#kept);
  }

  /** The sensors of a site file that has come into effect, and those that have left it. */
  with({ sensors }: Pick<Site, "sensors">): readonly SelectedSensor[] {
    const present = new Set(sensors.map(({ code }) => normalCode(code)));
    const left = this.#known.filter(({ code }) => !present.has(normalCode(code))).slice(-LEFT_MAX);
    this.#known = [...left, ...sensors.map(placed)];
    this.#keep();
    return [...left, ...sensors];
  }

  #keep(): void {
    const text = JSON.stringify(this.#known);
    if (text === this.#kept) return;
    try {
      this.#memory.set(NAME, text);
      this.#kept = text;
    } catch (err) {
      // A full disk: the next change, or the next start, keeps them.
      this.#logger.warn({ err }, "places of sensors could not be kept");
    }
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
