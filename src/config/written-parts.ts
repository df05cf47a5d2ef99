/** Parts of a file as they are written, before anything is known of their shape. */

export type Dict = Readonly<Record<string, unknown>>;

export function dict(value: unknown): Dict | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Dict)
    : null;
}

export const text = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;

const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];

/** Of an uplink. */
export const formatsOf = (uplink: Dict): string[] =>
  Array.isArray(uplink["formats"]) ? texts(uplink["formats"]) : ["json"];
