/** Twice what the longest text of a form, a password, may have: whatever works on texts from outside meets no longer one. */
export const TEXT_LENGTH_MAX = 32_768;

/** True if a parsed JSON value holds a longer text, as a name of a member too. */
export function hasLongText(value: unknown): boolean {
  if (typeof value === "string") return value.length > TEXT_LENGTH_MAX;
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(
    ([name, member]) => name.length > TEXT_LENGTH_MAX || hasLongText(member),
  );
}
