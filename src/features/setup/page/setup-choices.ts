/** What a form lets people choose from: the sensors, values, machines, areas and points of the site file and of what was read. */
import type { ShownSensor } from "../../../core/query/shown.ts";
import { isJsonObject, type JsonObject } from "../../../core/record.ts";
import { normalCode, sameCode } from "../../../core/sensor.ts";
import type { Model } from "../../../dashboard/model.ts";
import { sensorName } from "../../../dashboard/sensor-filter.ts";
import { entriesOf } from "../../../dashboard/setup-difference.ts";
import { wordOf } from "../../../dashboard/setup-schema.ts";
import { KIND_WORDS, valueWords } from "../../../dashboard/words.ts";

export interface Choice {
  readonly value: string | number;
  readonly label: string;
}

interface Known {
  readonly model: Model;
  /** The site file. */
  readonly site: JsonObject;
  /** The entry as it is filled in. */
  readonly entry: () => JsonObject;
}

type Offer = (known: Known) => readonly Choice[];

const member = (of: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((at, name) => (isJsonObject(at) ? at[name] : undefined), of);

/** By the form, and the path within it without positions. */
const OFFERS: Readonly<Record<string, Readonly<Record<string, Offer>>>> = {
  sensor: {
    replaces: (known) =>
      sensorsOf(known).filter(({ value }) => !sameCode(String(value), codeOf(known.entry()))),
    "location.company": (known) => idsOf(known, "company"),
    "location.area": (known) => idsOf(known, "area"),
    "location.machine": machinesOf,
    "location.point": (known) => {
      const machine = member(known.entry(), "location", "machine");
      return idsOf(known, "point", (location) => location["machine"] === machine);
    },
  },
  machine: {
    id: (known) => {
      const listed = new Set(entriesOf(known.site, "machines").map(({ id }) => id));
      const own = known.entry()["id"];
      return machinesOf(known).filter(({ value }) => !listed.has(value) || value === own);
    },
    "running.sensor": sensorsOf,
    "running.value": (known) => {
      const { sensor, kind } = runningOf(known.entry()["running"]);
      return valuesOf(known, (one) => sameCode(one.code, sensor), kind);
    },
    "speed.sensor": (known) => sensorsOf(known, "rpm"),
    "bearings[].point": pointsOf,
    "shafts[].points": pointsOf,
  },
  alarm: selections(),
  uplink: selections(),
};

function selections(): Readonly<Record<string, Offer>> {
  return {
    "select.sensors": (known) => sensorsOf(known),
    "select.machines": machinesOf,
    "select.areas": (known) => idsOf(known, "area"),
    "select.values": (known) => {
      const { sensors, kinds } = selectionOf(known.entry()["select"]);
      const isWanted = ({ code }: ShownSensor) =>
        sensors.length === 0 || sensors.some((one) => sameCode(one, code));
      return valuesOf(known, isWanted, null, kinds);
    },
  };
}

const codeOf = (entry: JsonObject) => wordOf(entry["code"]);

function runningOf(running: unknown): { readonly sensor: string; readonly kind: unknown } {
  return { sensor: wordOf(member(running, "sensor")), kind: member(running, "kind") };
}

function selectionOf(select: unknown) {
  const list = (name: string) => {
    const found = member(select, name);
    return Array.isArray(found) ? found.map(String) : [];
  };
  return { sensors: list("sensors"), kinds: list("kinds") };
}

function sensorsOf({ model, site }: Known, kind?: string): Choice[] {
  const found = new Map<string, Choice>();
  for (const entry of entriesOf(site, "sensors")) {
    const { code, name, kinds } = entry;
    if (typeof code !== "string" || (kind && !(Array.isArray(kinds) && kinds.includes(kind))))
      continue;
    const shown = model.sensors.get(code);
    const own = typeof name === "string" ? name : shown && sensorName(shown);
    const label = own === undefined || own === `Sensor ${code}` ? code : `${own} – ${code}`;
    found.set(normalCode(code), { value: code, label });
  }
  return sorted(found);
}

const sorted = (found: ReadonlyMap<unknown, Choice>) =>
  [...found.values()].sort((a, b) => a.label.localeCompare(b.label, "en", { numeric: true }));

/** Of the site's sensors. */
const locationsOf = ({ site }: Known): JsonObject[] =>
  entriesOf(site, "sensors")
    .map(({ location }) => location)
    .filter(isJsonObject);

function idsOf(
  known: Known,
  what: "company" | "area" | "machine" | "point",
  isWanted: (location: JsonObject) => boolean = () => true,
): Choice[] {
  const found = new Map<unknown, Choice>();
  for (const location of locationsOf(known).filter(isWanted)) {
    const value = location[what];
    if (typeof value !== "number") continue;
    const name = member(location, "names", what);
    if (found.has(value) && typeof name !== "string") continue;
    const label = typeof name === "string" ? `${name} – ${value}` : String(value);
    found.set(value, { value, label });
  }
  return sorted(found);
}

function machinesOf(known: Known): Choice[] {
  const found = new Map<unknown, Choice>(
    idsOf(known, "machine").map((choice) => [choice.value, choice]),
  );
  for (const { id, name } of entriesOf(known.site, "machines"))
    if (typeof id === "number" && (typeof name === "string" || !found.has(id)))
      found.set(id, { value: id, label: typeof name === "string" ? `${name} – ${id}` : `${id}` });
  return sorted(found);
}

/** Of the machine's own sensors. */
function pointsOf(known: Known): Choice[] {
  const { id } = known.entry();
  return idsOf(known, "point", ({ machine }) => machine === id);
}

function valuesOf(
  { model }: Known,
  isWanted: (sensor: ShownSensor) => boolean,
  kind: unknown,
  kinds: readonly string[] = [],
): Choice[] {
  const found = new Map<unknown, Choice>();
  for (const sensor of model.sensors.values()) {
    if (!isWanted(sensor)) continue;
    for (const own of sensor.kinds) {
      if (typeof kind === "string" && own !== kind) continue;
      if (kinds.length > 0 && !kinds.includes(own)) continue;
      for (const value of Object.keys(sensor.latest[own]?.values ?? {})) {
        const { channelLabel, quantityLabel } = valueWords(sensor, own, value);
        const what = [quantityLabel === "Value" ? KIND_WORDS[own] : quantityLabel, channelLabel];
        const words = what.filter((part) => part !== "").join(" ");
        // Channels of several sensors may have other names.
        const isShared = found.get(value)?.label.startsWith(`${words} – `) === false;
        const label = isShared ? `${quantityLabel} – ${value}` : `${words} – ${value}`;
        found.set(value, { value, label });
      }
    }
  }
  return sorted(found);
}

/** Null for a member that is typed. @param path as `bearings[0].point` */
export function offerOf(
  form: string,
  path: string,
  known: Known,
): (() => readonly Choice[]) | null {
  const offer = OFFERS[form]?.[path.replaceAll(/\[\d+\]/g, "[]")];
  return offer === undefined ? null : () => offer(known);
}
