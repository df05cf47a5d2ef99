/**
 * Whose turn it is to change the two files: a save, a restored backup and a signed document come one after another, each
 * with its reload and its trial. Whoever comes in between is told what is going on.
 */
export class ChangeTurn {
  #held: string | null = null;

  /** What is going on, as a refusal says it; null: nothing. */
  get held(): string | null {
    return this.#held;
  }

  /** What ends the turn; null while it is somebody else's. */
  take(what: string): (() => void) | null {
    if (this.#held !== null) return null;
    this.#held = what;
    return () => {
      this.#held = null;
    };
  }
}
