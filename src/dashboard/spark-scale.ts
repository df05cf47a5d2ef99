/** From zero to the next limit above the values, where there is one. */
export function sparkScale(low: number, high: number, limits: readonly number[]) {
  const above = limits.filter((limit) => limit >= high);
  const next = above.length === 0 ? null : Math.min(...above);
  return { foot: Math.min(0, low), head: Math.max(0, next ?? high), next };
}
