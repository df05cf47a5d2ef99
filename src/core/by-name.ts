/** An object with a member for each of these names. */
export function byName<N extends string, V>(
  names: readonly N[],
  valueOf: (name: N) => V,
): Record<N, V> {
  return Object.fromEntries(names.map((name) => [name, valueOf(name)])) as Record<N, V>;
}
