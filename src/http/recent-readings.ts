/** Recent events, kept for clients that reconnect: a laptop's short sleep, a change of network. */
const BYTES_MAX = 128 * 1024;

interface KeptEvent {
  readonly seq: number;
  readonly text: string;
}

/** The newest readings in the order of storing, within a limit of bytes. */
export class RecentReadings {
  #kept: KeptEvent[] = [];
  #bytes = 0;
  /** Everything stored after this one is kept; null before the first. */
  #after: number | null = null;

  add(seq: number, text: string): void {
    this.#after ??= seq - 1;
    this.#kept.push({ seq, text });
    this.#bytes += text.length;
    while (this.#bytes > BYTES_MAX) {
      const gone = this.#kept.shift();
      if (gone === undefined) break;
      this.#bytes -= gone.text.length;
      this.#after = gone.seq;
    }
  }

  /** The readings after this number; null if they are not all here any more. */
  since(seq: number): string[] | null {
    if (this.#after === null || seq < this.#after) return null;
    return this.#kept.filter((one) => one.seq > seq).map(({ text }) => text);
  }

  clear(): void {
    this.#kept = [];
    this.#bytes = 0;
    this.#after = null;
  }
}
