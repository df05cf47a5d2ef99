import type { DayRead } from "./day-read.ts";
import type { Task } from "./task.ts";

/**
 * Responses that only wait for their commit free their slot for the next read, so that a round shares one sync and the
 * gateway does not wait for the disk. This limits how much of them may wait, in small readings (a few MB).
 */
const COMMITTING_MAX = 2_048;
/** A failed read that took this long, ms, waited for a response that did not come: the next one may, too. */
const SLOW_MS = 2_000;

/** A slot that a read holds until its response has arrived. */
interface HeldSlot {
  /** What has arrived waits for its commit, in small readings. True if the slot is free at once. */
  received(waiting: number): boolean;
  ended(read: DayRead): void;
}

/**
 * The slots of GATEWAY_CONCURRENCY. Reads that may hold theirs until a time limit ends them leave one to the others: sensors that do
 * not answer delay nobody else.
 */
export class ReadSlots {
  readonly #concurrency: number;
  #held = 0;
  #heldBySlow = 0;
  #committing = 0;
  /** The gateway has responded since the start. */
  hasAnswered = false;
  /** It has had its time to wake up: a read reached it and waited in vain. */
  #hadItsTime = false;

  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  /**
   * One read at a time until the gateway has responded, or let one wait in vain: it may be waking up, and its day is not
   * known yet. More than one sensor may hang.
   */
  get #count(): number {
    return this.hasAnswered || this.#hadItsTime ? this.#concurrency : 1;
  }

  get areTaken(): boolean {
    return this.#held >= this.#count;
  }

  /** Whether the last slot is meant for others. */
  mustWait(task: Task): boolean {
    return isSlow(task) && this.#heldBySlow >= Math.max(1, this.#count - 1);
  }

  take(task: Task): HeldSlot {
    const slow = isSlow(task) ? 1 : 0;
    let isHeld = true;
    let weight = 0;
    this.#held += 1;
    this.#heldBySlow += slow;
    const leave = () => {
      if (!isHeld) return;
      isHeld = false;
      this.#held -= 1;
      this.#heldBySlow -= slow;
    };
    return {
      received: (waiting) => {
        if (this.#committing + waiting > COMMITTING_MAX) return false;
        weight = waiting;
        this.#committing += waiting;
        leave();
        return true;
      },
      ended: (read) => {
        leave();
        this.#committing -= weight;
        task.isSlow = !read.ok && read.isStoreFault !== true && read.durationMs >= SLOW_MS;
        if (task.isSlow && !read.ok && !read.isGatewayFault) this.#hadItsTime = true;
        if (read.ok || task.isSlow) task.stream.isSlow = task.isSlow;
      },
    };
  }
}

/** A day that was read well is trusted although another one of its sensor is slow. */
function isSlow({ isSlow, lastOkAtMs, stream }: Task): boolean {
  return isSlow || (stream.isSlow && lastOkAtMs === null);
}
