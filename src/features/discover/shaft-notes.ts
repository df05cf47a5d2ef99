/** What a draft says of new measuring points on machines with `shafts` (plant section 24), whose entries it never changes. */
import { isJsonObject } from "../../core/record.ts";

/**
 * For acceleration sensors alone: of the others no value depends on a shaft.
 * @param placed sensors of the draft whose location is new @param machines as written in the site file
 */
export function shaftNotes(
  placed: readonly Readonly<Record<string, unknown>>[],
  machines: unknown,
): string[] {
  return placed.flatMap(({ code, name, kinds, location }) => {
    if (!isJsonObject(location) || !Array.isArray(kinds) || !kinds.includes("accel")) return [];
    const { machine, point } = location;
    const shafts = listed(listed(machines).find(({ id }) => id === machine)?.["shafts"]);
    const isOnOne = shafts.some(({ points }) => Array.isArray(points) && points.includes(point));
    if (shafts.length === 0 || isOnOne) return [];
    const names = shafts.map((shaft) => String(shaft["name"])).join(", ");
    const shown = typeof name === "string" ? `${String(code)} (${name})` : String(code);
    return [
      `${shown}: point ${String(point)} is on none of the \`shafts\` of machine ${String(machine)} (${names}), so it counts as on the measured shaft; if it is not, add it to the \`points\` of its shaft`,
    ];
  });
}

function listed(value: unknown): Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
