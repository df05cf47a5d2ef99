/**
 * Whether somebody works in a list: then its order waits. A focus that the page itself has left there, or a pointer that has not moved for a
 * while, holds nothing.
 */

/** A pointer that rests so long is nobody's: a wall display has one, too. */
const REST_MS = 30_000;
/** So is a focus after which no key and no press came. */
const FOCUS_MS = 60_000;

export class Hand {
  readonly #root: HTMLElement;
  readonly #ending = new AbortController();
  readonly #timer: ReturnType<typeof setInterval>;
  #pointedAt = Number.NEGATIVE_INFINITY;
  #usedAt = Number.NEGATIVE_INFINITY;

  /** @param freed what was held may be shown */
  constructor(root: HTMLElement, freed: () => void) {
    this.#root = root;
    const { signal } = this.#ending;
    const used = () => {
      this.#usedAt = performance.now();
    };
    for (const name of ["keydown", "pointerdown", "input", "focusin"])
      root.addEventListener(name, used, { signal, capture: true });
    root.addEventListener(
      "pointermove",
      ({ pointerType }) => {
        // A finger leaves no pointer behind.
        if (pointerType !== "touch") this.#pointedAt = performance.now();
      },
      { signal },
    );
    root.addEventListener("pointerleave", () => this.#left(freed), { signal });
    root.addEventListener("focusout", () => this.#left(freed), { signal });
    this.#timer = setInterval(() => {
      if (!this.isHolding()) freed();
    }, 1_000);
  }

  stop(): void {
    this.#ending.abort();
    clearInterval(this.#timer);
  }

  /** What was done is done: the order may change now. */
  free(): void {
    this.#pointedAt = Number.NEGATIVE_INFINITY;
    // After the focus that the page puts somewhere.
    queueMicrotask(() => {
      this.#usedAt = Number.NEGATIVE_INFINITY;
    });
  }

  isHolding(): boolean {
    const now = performance.now();
    if (this.#root.querySelector("form") !== null) return true;
    if (this.#root.matches(":hover") && now - this.#pointedAt < REST_MS) return true;
    return this.#root.contains(document.activeElement) && now - this.#usedAt < FOCUS_MS;
  }

  #left(freed: () => void): void {
    setTimeout(() => {
      if (!this.#ending.signal.aborted && !this.isHolding()) freed();
    });
  }
}
