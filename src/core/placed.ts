/** What stands after a named entry of a list. */
export interface Placed<T> {
  /** The name of that entry; the end of the list where there is none, or none of this name. */
  readonly after: string | undefined;
  readonly entries: readonly T[];
}

/** The list with further entries, each group where it says. */
export function placed<T>(
  list: readonly T[],
  groups: readonly Placed<T>[],
  nameOf: (entry: T) => string,
): readonly T[] {
  const result = [...list];
  for (const { after, entries } of groups) {
    const at = result.findLastIndex((entry) => nameOf(entry) === after);
    result.splice(at < 0 ? result.length : at + 1, 0, ...entries);
  }
  return result;
}
