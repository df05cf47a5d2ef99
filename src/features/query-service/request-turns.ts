/** Lets a few run at once and a few more wait; all others must retry. */
export class RequestTurns {
  readonly #workingMax: number;
  readonly #waitingMax: number;
  readonly #waiting: (() => void)[] = [];
  #working = 0;

  constructor(workingMax: number, waitingMax: number) {
    this.#workingMax = workingMax;
    this.#waitingMax = waitingMax;
  }

  /** Resolves when it is the caller's turn, with a function that ends it; null if too many wait already. */
  async take(): Promise<(() => void) | null> {
    if (this.#working >= this.#workingMax) {
      if (this.#waiting.length >= this.#waitingMax) return null;
      // Whoever ends passes its slot on, so the count stays.
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#working += 1;
    }
    return () => {
      const next = this.#waiting.shift();
      if (next === undefined) this.#working -= 1;
      else next();
    };
  }
}

/** A number of slots without a queue. */
export class RequestSlots {
  readonly #max: number;
  #taken = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** A function that returns the slot, once; null if all are taken. */
  take(): (() => void) | null {
    if (this.#taken >= this.#max) return null;
    this.#taken += 1;
    let isGiven = false;
    return () => {
      if (isGiven) return;
      isGiven = true;
      this.#taken -= 1;
    };
  }
}
