/** Above this many bytes or samples a record is large: tens of MB of memory while it is received and converted. */
export const LARGE_RECORD_BYTES = 1_048_576;
export const LARGE_RECORD_SAMPLES = 98_304;

/**
 * Lets one large record at a time into memory, however many responses contain one. Small records are not delayed. A
 * response that waits is not read further, and its data stays in the connection.
 */
export class LargeRecords {
  #holder: object | null = null;
  readonly #waiting: { readonly who: object; readonly go: () => void }[] = [];

  /** Resolves when `who` may continue; at once if it holds the slot already. */
  async take(who: object): Promise<void> {
    if (this.#holder === who) return;
    if (this.#holder === null) {
      this.#holder = who;
      return;
    }
    await new Promise<void>((go) => this.#waiting.push({ who, go }));
  }

  /** Releases the slot if `who` holds it. */
  leave(who: object): void {
    if (this.#holder !== who) return;
    const next = this.#waiting.shift();
    this.#holder = next?.who ?? null;
    next?.go();
  }
}
