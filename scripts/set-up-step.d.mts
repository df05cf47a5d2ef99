/** What to do about a failed npm, by what it printed and the build tools that are missing; null where its output has to speak for itself. */
export function adviceOf(output: string, missing: readonly string[]): string | null;

/** Runs npm; what went wrong as a sentence, null if nothing. `stillMs`: how often it says that it is still at work. */
export function npmStep(step: {
  readonly what: string;
  readonly usual: string;
  readonly words: readonly string[];
  readonly cwd: string;
  readonly tell: (text: string) => void;
  readonly stillMs?: number;
}): Promise<string | null>;
