/** Small plots are asked for only while they are in view, a few at a time. */
import type { Model } from "./model.ts";
import type { Asking } from "./refresh.ts";

/** Delay after a failure; without it, failures would loop as fast as they come. */
const RETRY_MS = 10_000;
const AT_ONCE = 2;
/** Least time between two attempts. */
const STALE_MS = 1_000;
/** What is about to be scrolled into view is drawn already. */
const AHEAD = { rootMargin: "300px" };

export interface SeenItem {
  readonly root: Element;
  readonly key: string;
  /** It shows nothing, or something else than it should: it is drawn without waiting for its time. */
  isStale?(): boolean;
  /** Rejects if it could not be read. */
  draw(asking: Asking): Promise<void>;
}

export class InView {
  readonly #model: Model;
  readonly #againMs: number;
  readonly #visible = new Map<Element, SeenItem>();
  readonly #drawnAt = new Map<string, number>();
  readonly #observer: IntersectionObserver;
  readonly #timer: ReturnType<typeof setInterval>;
  readonly #ending = new AbortController();
  readonly #drawing = new Set<string>();
  #items = new Map<Element, SeenItem>();

  /** @param againMs after so long, what is in view is drawn again */
  constructor(model: Model, againMs: number) {
    this.#model = model;
    this.#againMs = againMs;
    this.#observer = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        const item = this.#items.get(target);
        if (isIntersecting && item !== undefined) this.#visible.set(target, item);
        else this.#visible.delete(target);
      }
      this.#next();
    }, AHEAD);
    this.#timer = setInterval(() => this.#next(), 5_000);
  }

  watch(items: readonly SeenItem[]): void {
    const wanted = new Map(items.map((item) => [item.root, item]));
    for (const root of this.#items.keys()) {
      if (wanted.has(root)) continue;
      this.#observer.unobserve(root);
      this.#visible.delete(root);
    }
    for (const root of wanted.keys()) if (!this.#items.has(root)) this.#observer.observe(root);
    this.#items = wanted;
  }

  /** Something may have become stale. */
  look(): void {
    this.#next();
  }

  readonly stop = (): void => {
    this.#ending.abort();
    this.#observer.disconnect();
    clearInterval(this.#timer);
  };

  #next(): void {
    if (this.#ending.signal.aborted || !this.#model.isLive || document.hidden) return;
    for (const item of this.#visible.values()) {
      if (this.#drawing.size >= AT_ONCE) return;
      const drawnAt = this.#drawnAt.get(item.key) ?? Number.NEGATIVE_INFINITY;
      const passedMs = performance.now() - drawnAt;
      const isDue =
        passedMs >= this.#againMs || (passedMs >= STALE_MS && item.isStale?.() === true);
      if (!isDue || this.#drawing.has(item.key)) continue;
      this.#drawnAt.set(item.key, performance.now());
      this.#drawing.add(item.key);
      void this.#draw(item);
    }
  }

  async #draw(item: SeenItem): Promise<void> {
    try {
      // One at a time for each plot, so that no answer overtakes the one before.
      await item.draw(this.#ending.signal as Asking);
    } catch {
      this.#drawnAt.set(item.key, performance.now() - this.#againMs + RETRY_MS);
    }
    this.#drawing.delete(item.key);
    this.#next();
  }
}
