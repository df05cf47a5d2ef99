/** Our own files are never nested deeper; writers recurse level by level. */
export const DEPTH_MAX = 64;

/** True if a parsed JSON value is nested deeper than `levels`. */
export function isDeeper(value: unknown, levels = DEPTH_MAX): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((one) => isDeeper(one, levels - 1));
}
