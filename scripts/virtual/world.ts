/**
 * Virtual time. Everything that happens is an entry of one heap, ordered by its due time and then by its number, so the same
 * program under the same seed does the same things in the same order, however fast the machine is.
 *
 * Each entry runs in a real `setImmediate` of its own: Node has then run all ticks and promise callbacks of the one before.
 * Those of one turn of the real event loop are requested together, because a turn costs as much as an entry.
 */
import { createHook } from "node:async_hooks";
import { Heap } from "../../src/lib/heap.ts";

const STEPS_PER_TURN = 32;
/** How often is looked for real timers. */
const GUARD_STEPS = 128;
/** How long each resource is looked at as it begins, virtual ms: whatever a program uses it uses within a day, and each promise costs more. */
const WATCHED_MS = 36 * 3_600_000;
/** What the kernel or a thread completes, as `async_hooks` names it: refused as soon as it begins. Those of cryptography are named alike if they are synchronous. */
const REAL: ReadonlySet<string> = new Set([
  ...(["FSREQCALLBACK", "FSREQPROMISE", "FILEHANDLE", "FSEVENTWRAP", "STATWATCHER"] as const),
  ...(["GETADDRINFOREQWRAP", "GETNAMEINFOREQWRAP", "QUERYWRAP", "TLSWRAP", "UDPWRAP"] as const),
  ...(["TCPWRAP", "TCPSERVERWRAP", "TCPCONNECTWRAP", "PIPECONNECTWRAP"] as const),
  ...(["PROCESSWRAP", "WORKER"] as const),
]);

export interface Entry {
  readonly dueMs: number;
  readonly number: number;
  act: (() => void) | null;
}

export class World {
  /** Since the world began, ms. */
  nowMs = 0;
  steps = 0;
  readonly #heap = new Heap<Entry>(
    (a, b) => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.number < b.number),
  );
  /** What `setImmediate` was given; time advances only once this is empty. */
  #immediates: Entry[] = [];
  #taken = 0;
  #number = 0;

  at(dueMs: number, act: () => void): Entry {
    const entry: Entry = { dueMs: Math.max(dueMs, this.nowMs), number: this.#number++, act };
    this.#heap.push(entry);
    return entry;
  }

  after(delayMs: number, act: () => void): Entry {
    return this.at(this.nowMs + delayMs, act);
  }

  immediate(act: () => void): Entry {
    const entry: Entry = { dueMs: this.nowMs, number: this.#number++, act };
    this.#immediates.push(entry);
    return entry;
  }

  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, resolve));
  }

  /** Runs until the work is done; rejects with its error, or if nothing is left to happen. */
  async run<T>(work: Promise<T>): Promise<T> {
    const before = realResources();
    let real: Error | null = null;
    const guard = createHook({
      init(_id, type) {
        if (REAL.has(type)) real ??= new Error(`something uses a real resource: ${type}`);
      },
    }).enable();
    let outcome: (() => T) | null = null;
    work.then(
      (value) => {
        outcome = () => value;
      },
      (error: unknown) => {
        outcome = () => {
          throw error;
        };
      },
    );
    return await new Promise<T>((resolve, reject) => {
      const step = () => {
        try {
          if (real !== null) throw real;
          if (outcome !== null) return resolve(outcome());
          const entry = this.#next();
          if (entry === null) throw new Error("nothing is left to happen");
          if (++this.steps % STEPS_PER_TURN === 0) request();
          if (this.steps % GUARD_STEPS === 0) refuseReal(before);
          if (this.nowMs > WATCHED_MS) guard.disable();
          const { act } = entry;
          entry.act = null;
          act?.();
        } catch (error) {
          outcome ??= () => {
            throw error;
          };
          reject(error as Error);
        }
      };
      const request = () => {
        for (let n = 0; n < STEPS_PER_TURN; n++) setImmediate(step);
      };
      request();
    }).finally(() => guard.disable());
  }

  /** Cancelled entries have no `act`. */
  #next(): Entry | null {
    while (this.#taken < this.#immediates.length) {
      const entry = this.#immediates[this.#taken++] as Entry;
      if (this.#taken === this.#immediates.length) {
        this.#immediates = [];
        this.#taken = 0;
      }
      if (entry.act !== null) return entry;
    }
    for (;;) {
      const entry = this.#heap.pop();
      if (entry === undefined) return null;
      if (entry.act === null) continue;
      this.nowMs = entry.dueMs;
      return entry;
    }
  }
}

/** Sockets, timers, files in the making and threads of this process, by type. */
function realResources(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const type of process.getActiveResourcesInfo())
    if (type !== "Immediate") counts.set(type, (counts.get(type) ?? 0) + 1);
  return counts;
}

/** The order in which real resources complete depends on the machine: none may be used in virtual time. */
function refuseReal(before: ReadonlyMap<string, number>): void {
  for (const [type, count] of realResources())
    if (count > (before.get(type) ?? 0)) throw new Error(`something uses a real resource: ${type}`);
}
