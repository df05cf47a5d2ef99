/** Above this many bytes or samples a record is large: tens of MB of memory while it is taken in and converted. */
export const LARGE_RECORD_BYTES = 1_048_576;
export const LARGE_RECORD_SAMPLES = 98_304;

/**
 * Lets one large record at a time into memory, however many answers bring one. Small records pass by it. An answer that waits
 * is not read on, and its connection holds what comes.
 */
export class LargeRecords {
  #holder: object | null = null;
  readonly #waiting: { readonly who: object; readonly go: () => void }[] = [];

  /** Resolves when `who` may go on; at once where it holds the place already. */
  async take(who: object): Promise<void> {
    if (this.#holder === who) return;
    if (this.#holder === null) {
      this.#holder = who;
      return;
    }
    await new Promise<void>((go) => this.#waiting.push({ who, go }));
  }

  /** Gives the place up where `who` has it. */
  leave(who: object): void {
    if (this.#holder !== who) return;
    const next = this.#waiting.shift();
    this.#holder = next?.who ?? null;
    next?.go();
  }
}
