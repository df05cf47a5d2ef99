/** No file of ours is nested deeper; what writes it goes down level by level. */
export const DEPTH_MAX = 64;

/** True where a parsed JSON value is nested deeper than `levels`. */
export function isDeeper(value: unknown, levels = DEPTH_MAX): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((one) => isDeeper(one, levels - 1));
}
