import type { Sensor } from "../sensor.ts";
import type { Site } from "../site.ts";

const PLACES = ["company", "area", "machine", "point"] as const;
const TEXTS = ["code", "name", ...PLACES] as const;
type Text = (typeof TEXTS)[number];

/** Of a sensor: bytes of its texts, and all else that it is. */
interface TextLengths extends Readonly<Record<Text, number>> {
  readonly shape: string;
}

/** A reload measures only the sensors that differ. */
const MEASURED = new WeakMap<Sensor, TextLengths>();

/**
 * A small site whose topics are at least as long as those of the given one: sensors that publish the same values count
 * as one, with the longest texts of all. Whether any topic is too long is then mostly known from a few.
 */
export function longestSite({ site, sensors }: Site): Site {
  const shapes = new Map<string, Sensor>();
  // A sensor without a location has one character for each of its levels.
  const longest = { code: 1, name: 1, company: 1, area: 1, machine: 1, point: 1 };
  for (const sensor of sensors) {
    const measured = measuredOf(sensor);
    for (const text of TEXTS) longest[text] = Math.max(longest[text], measured[text]);
    shapes.set(measured.shape, sensor);
  }
  const text = (of: Text) => "x".repeat(longest[of]);
  const names = {
    company: text("company"),
    area: text("area"),
    machine: text("machine"),
    point: text("point"),
  };
  const location = { company: 0, area: 0, machine: 0, point: 0, names };
  const all = [...shapes.values()].map((sensor) => {
    return { ...sensor, code: text("code"), name: text("name"), location };
  });
  return { site, sensors: all };
}

function measuredOf(sensor: Sensor): TextLengths {
  const known = MEASURED.get(sensor);
  if (known !== undefined) return known;
  const { code, name, description: _description, location, ...shape } = sensor;
  const placeBytes = (place: (typeof PLACES)[number]) =>
    bytesMaxOf(String(location?.names?.[place] ?? location?.[place] ?? ""));
  const measured = {
    code: bytesMaxOf(code),
    name: bytesMaxOf(name ?? code),
    company: placeBytes("company"),
    area: placeBytes("area"),
    machine: placeBytes("machine"),
    point: placeBytes("point"),
    shape: JSON.stringify(shape),
  };
  MEASURED.set(sensor, measured);
  return measured;
}

/** At least as many as its UTF-8 bytes. */
function bytesMaxOf(text: string): number {
  return /^[ -~]*$/.test(text) ? text.length : 3 * text.length;
}
