/** Name of an npm script, and what it does. */
export const SCRIPTS: Readonly<Record<string, string>>;
