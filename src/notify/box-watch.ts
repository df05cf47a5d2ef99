/** Tells people of faults of the box that stand for a minute, once, and when they are over. */
import { type BoxFault, boxFaultKey } from "../core/box-fault.ts";
import type { Clock } from "../core/ports.ts";
import { boxNotice, type Notice } from "./notice.ts";

const CHECK_MS = 5_000;
const STANDS_MS = 60_000;

export interface BoxWatchParts {
  /** The faults that stand now. */
  readonly faults: () => readonly BoxFault[];
  readonly clock: Clock;
  readonly tell: (notices: readonly Notice[]) => void;
}

interface StandingFault {
  readonly fault: BoxFault;
  /** Monotonic, ms. */
  readonly sinceMs: number;
  isTold: boolean;
}

export class BoxWatch {
  readonly #parts: BoxWatchParts;
  readonly #standing = new Map<string, StandingFault>();

  constructor(parts: BoxWatchParts) {
    this.#parts = parts;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.look();
      await this.#parts.clock.sleep(CHECK_MS, signal);
    }
  }

  look(): void {
    const { faults, clock, tell } = this.#parts;
    const now = clock.monotonic();
    const current = new Map(faults().map((fault) => [boxFaultKey(fault), fault]));
    for (const [key, { fault, isTold }] of this.#standing) {
      if (current.has(key)) continue;
      this.#standing.delete(key);
      if (isTold) tell([boxNotice(fault, false, clock.now())]);
    }
    for (const [key, fault] of current) {
      const known = this.#standing.get(key) ?? { fault, sinceMs: now, isTold: false };
      this.#standing.set(key, known);
      if (known.isTold || now - known.sinceMs < STANDS_MS) continue;
      known.isTold = true;
      tell([boxNotice(fault, true, clock.now())]);
    }
  }
}
