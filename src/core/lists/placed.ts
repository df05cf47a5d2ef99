/** What stands after a named entry of a list. */
interface Placed<T> {
  /** The name of that entry, for all together or for each by its own name; the end of the list where there is none, or none of this name. */
  readonly after: string | Readonly<Record<string, string>> | undefined;
  readonly entries: readonly T[];
}

/** The list with further entries, each group where it says. */
export function placed<T>(
  list: readonly T[],
  groups: readonly Placed<T>[],
  nameOf: (entry: T) => string,
): readonly T[] {
  const result = [...list];
  const place = (after: string | undefined, entries: readonly T[]) => {
    const at = result.findLastIndex((entry) => nameOf(entry) === after);
    result.splice(at < 0 ? result.length : at + 1, 0, ...entries);
  };
  for (const { after, entries } of groups)
    if (typeof after !== "object") place(after, entries);
    else for (const entry of entries) place(after[nameOf(entry)], [entry]);
  return result;
}
