/**
 * Name patterns in configuration files: `*` stands for any run of characters, `?` for one; every other character
 * stands for itself. Case-sensitive.
 */
export type Glob = (text: string) => boolean;

export function createGlob(pattern: string): Glob {
  if (!isGlob(pattern)) return (text) => text === pattern;
  const source = pattern
    .replace(/\*+/g, "*")
    .replace(/[\\^$.+()|[\]{}]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  const expression = new RegExp(`^${source}$`, "su");
  return (text) => expression.test(text);
}

/** True for a text that any of the patterns matches. */
export function anyGlob(patterns: readonly string[]): Glob {
  const globs = patterns.map(createGlob);
  return (text) => globs.some((glob) => glob(text));
}

/** Whether the text has a wildcard, or names one thing only. */
function isGlob(pattern: string): boolean {
  return /[*?]/.test(pattern);
}
