/** Tells people of faults of the box that stand for a minute, once, and when they are over. */

import { parsedJson } from "../../core/parsed-json.ts";
import type { Clock } from "../../core/ports.ts";
import { type BoxFault, boxFaultKey } from "../../core/status/box-fault.ts";
import type { DeliveryMemory } from "./delivery.ts";
import { boxNotice, type Notice } from "./notice.ts";

const CHECK_MS = 5_000;
const STANDS_MS = 60_000;
/** After a start, what was told before is over only once it could have been seen again. */
const SEEN_AGAIN_MS = 180_000;

export interface BoxWatchParts {
  /** The faults that stand now. */
  readonly faults: () => readonly BoxFault[];
  readonly clock: Clock;
  readonly tell: (notices: readonly Notice[]) => void;
  /** Holds what was told, which a restart does not tell again. */
  readonly memory: DeliveryMemory;
}

interface StandingFault {
  readonly fault: BoxFault;
  /** Monotonic, ms. */
  readonly sinceMs: number;
  /** Not over before. */
  readonly untilMs: number;
  isTold: boolean;
}

export class BoxWatch {
  readonly #parts: BoxWatchParts;
  readonly #standing = new Map<string, StandingFault>();

  constructor(parts: BoxWatchParts) {
    this.#parts = parts;
    const sinceMs = parts.clock.monotonic();
    for (const fault of toldBefore(parts.memory)) {
      const untilMs = sinceMs + SEEN_AGAIN_MS;
      this.#standing.set(boxFaultKey(fault), { fault, sinceMs, untilMs, isTold: true });
    }
  }

  /** Those that were told and are not over. */
  standing(): Notice[] {
    const now = this.#parts.clock.now();
    const told = [...this.#standing.values()].filter(({ isTold }) => isTold);
    return told.map(({ fault }) => boxNotice(fault, true, now));
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.look();
      await this.#parts.clock.sleep(CHECK_MS, signal);
    }
  }

  look(): void {
    const { faults, clock, tell, memory } = this.#parts;
    const now = clock.monotonic();
    const current = new Map(faults().map((fault) => [boxFaultKey(fault), fault]));
    const notices: Notice[] = [];
    for (const [key, { fault, isTold, untilMs }] of this.#standing) {
      if (current.has(key) || now < untilMs) continue;
      this.#standing.delete(key);
      if (isTold) notices.push(boxNotice(fault, false, clock.now()));
    }
    for (const [key, fault] of current) {
      const known = this.#standing.get(key) ?? { fault, sinceMs: now, untilMs: now, isTold: false };
      this.#standing.set(key, known);
      if (known.isTold || now - known.sinceMs < STANDS_MS) continue;
      known.isTold = true;
      notices.push(boxNotice(fault, true, clock.now()));
    }
    if (notices.length === 0) return;
    tell(notices);
    const told = [...this.#standing.values()].filter(({ isTold }) => isTold);
    memory.set(JSON.stringify(told.map(({ fault }) => fault)));
  }
}

/** Damaged text counts as none. */
function toldBefore(memory: DeliveryMemory): readonly BoxFault[] {
  const faults = parsedJson<BoxFault[]>(memory.get() ?? "[]");
  return Array.isArray(faults) ? faults : [];
}
