import type { Sensor } from "../sensor.ts";
import type { Site } from "../site.ts";

const PLACES = ["company", "area", "machine", "point"] as const;
type Text = "code" | "name" | (typeof PLACES)[number];

/**
 * A small site whose topics are at least as long as those of the given one: sensors that publish the same values count
 * as one, with the longest texts of all. Whether any topic is too long is then mostly known from a few.
 */
export function longestSite({ site, sensors }: Site): Site {
  const shapes = new Map<string, Sensor>();
  // A sensor without a location has one character for each of its levels.
  const longest = { code: 1, name: 1, company: 1, area: 1, machine: 1, point: 1 };
  const note = (text: Text, value: string | number | undefined) => {
    const bytes = bytesMaxOf(String(value ?? ""));
    if (bytes > longest[text]) longest[text] = bytes;
  };
  for (const sensor of sensors) {
    const { code, name, description: _description, location, ...shape } = sensor;
    note("code", code);
    note("name", name ?? code);
    for (const place of PLACES) note(place, location?.names?.[place] ?? location?.[place]);
    shapes.set(JSON.stringify(shape), sensor);
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

/** At least as many as its UTF-8 bytes. */
function bytesMaxOf(text: string): number {
  return /^[ -~]*$/.test(text) ? text.length : 3 * text.length;
}
