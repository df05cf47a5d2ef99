import type { TextSink } from "./command.ts";

/** Redrawing more often would only flicker, ms. */
const REDRAW_MS = 200;

/** One line on stderr that is redrawn, if that is a terminal; silent elsewhere. */
export class ProgressLine {
  readonly #sink: TextSink;
  #drawnAt = Number.NEGATIVE_INFINITY;
  #length = 0;

  constructor(sink: TextSink) {
    this.#sink = sink;
  }

  show(text: string): void {
    const now = performance.now();
    if (!this.#sink.isTTY || now - this.#drawnAt < REDRAW_MS) return;
    this.#drawnAt = now;
    this.#sink.write(`\r${text.padEnd(this.#length)}`);
    this.#length = text.length;
  }

  /** Clears the line before other output. */
  end(): void {
    if (this.#length > 0) this.#sink.write(`\r${" ".repeat(this.#length)}\r`);
    this.#length = 0;
  }
}
