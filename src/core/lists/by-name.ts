/** The names of the members of an object that is written in the program. */
export function namesOf<T extends object>(members: T): readonly (keyof T & string)[] {
  const names: (keyof T & string)[] = [];
  for (const name in members) names.push(name);
  return names;
}

/** An object with a member for each of these names. */
export function byName<N extends string, V>(
  names: readonly N[],
  valueOf: (name: N) => V,
): Record<N, V> {
  return Object.fromEntries(names.map((name) => [name, valueOf(name)])) as Record<N, V>;
}
