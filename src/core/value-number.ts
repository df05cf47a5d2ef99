/** A value of a reading as a number, contacts as 1 and 0; null if it has none. */
export function numberOf(value: unknown): number | null {
  if (typeof value === "boolean") return value ? 1 : 0;
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** A number that a stored object has of its own; null if it has none. */
export function memberNumber(
  values: Readonly<Record<string, unknown>>,
  name: string,
): number | null {
  const value = Object.hasOwn(values, name) ? values[name] : null;
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}
