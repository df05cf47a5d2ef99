/** Until when the days of signals have been read, by the gateway's clock. */

/** Days remembered of one sensor and kind: more than a year. */
const DAYS_MAX = 400;

/** One good read of a day, complete with its readings. */
export interface DayReadAt {
  /** yyyy-MM-dd in the gateway's zone. */
  readonly day: string;
  /** The gateway's time when it answered, ms. */
  readonly atMs: number;
}

export class SignalReads {
  readonly #committed = new Map<string, Map<string, number>>();
  #staged: { readonly stream: string; readonly read: DayReadAt }[] = [];

  /** A read whose readings the running transaction stores. */
  stage(stream: string, read: DayReadAt): void {
    this.#staged.push({ stream, read });
  }

  /** A read that is over. */
  note(stream: string, { day, atMs }: DayReadAt): void {
    const days = this.#committed.get(stream) ?? new Map<string, number>();
    this.#committed.set(stream, days);
    days.set(day, Math.max(atMs, days.get(day) ?? atMs));
    if (days.size <= DAYS_MAX) return;
    const [oldest] = [...days.keys()].toSorted();
    days.delete(oldest as string);
  }

  /** Null: not since the agent started. */
  atMs(stream: string, day: string): number | null {
    let atMs = this.#committed.get(stream)?.get(day) ?? null;
    for (const { stream: of, read } of this.#staged) {
      if (of === stream && read.day === day) atMs = Math.max(read.atMs, atMs ?? read.atMs);
    }
    return atMs;
  }

  committed(): void {
    for (const { stream, read } of this.#staged) this.note(stream, read);
    this.undone();
  }

  undone(): void {
    this.#staged = [];
  }
}
