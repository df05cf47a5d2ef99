/** The timers of one process: the functions of `node:timers` and `node:timers/promises`, in virtual time. */
import type { Entry, World } from "./world.ts";

/** As in Node: what is longer fires at once. */
const DELAY_MAX_MS = 2_147_483_647;

type Callback = (...args: unknown[]) => void;
export type Enter = (act: () => void) => void;

/** What is scheduled keeps no process alive in virtual time: these exist for those who call them. */
class Scheduled {
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
  hasRef(): boolean {
    return true;
  }
}

/** What `setTimeout` and `setInterval` return. */
class VirtualTimer extends Scheduled {
  readonly #world: World;
  readonly #delayMs: number;
  readonly #fire: (timer: VirtualTimer) => void;
  #entry: Entry | null = null;

  constructor(world: World, delayMs: number, fire: (timer: VirtualTimer) => void) {
    super();
    this.#world = world;
    this.#delayMs = delayMs >= 1 && delayMs <= DELAY_MAX_MS ? Math.trunc(delayMs) : 1;
    this.#fire = fire;
    this.refresh();
  }

  refresh(): this {
    this.close();
    this.#entry = this.#world.after(this.#delayMs, () => this.#fire(this));
    return this;
  }
  close(): this {
    if (this.#entry !== null) this.#entry.act = null;
    return this;
  }
  [Symbol.dispose](): void {
    this.close();
  }
}

/** What `setImmediate` returns. */
class VirtualImmediate extends Scheduled {
  readonly #entry: Entry;

  constructor(entry: Entry) {
    super();
    this.#entry = entry;
  }

  close(): void {
    this.#entry.act = null;
  }
}

/** `enter` runs a callback as part of the process, or not at all if it is dead. */
export function createTimers(world: World, enter: Enter) {
  const setTimeout = (callback: Callback, delayMs = 1, ...args: unknown[]) =>
    new VirtualTimer(world, Number(delayMs), () => enter(() => callback(...args)));
  const setInterval = (callback: Callback, delayMs = 1, ...args: unknown[]) =>
    new VirtualTimer(world, Number(delayMs), (timer) => {
      timer.refresh();
      enter(() => callback(...args));
    });
  const clear = (timer: unknown) => {
    if (timer instanceof VirtualTimer) timer.close();
  };
  const setImmediate = (callback: Callback, ...args: unknown[]) =>
    new VirtualImmediate(world.immediate(() => enter(() => callback(...args))));
  const clearImmediate = (immediate: unknown) => {
    if (immediate instanceof VirtualImmediate) immediate.close();
  };
  const promises = {
    setTimeout: (delayMs?: number, value?: unknown, options: { signal?: AbortSignal } = {}) =>
      new Promise((resolve, reject) => {
        const { signal } = options;
        const leave = () => reject(signal?.reason as Error);
        if (signal?.aborted) return leave();
        const timer = setTimeout(() => resolve(value), delayMs);
        signal?.addEventListener("abort", () => (timer.close(), leave()), { once: true });
      }),
    setImmediate: (value?: unknown) => new Promise((resolve) => setImmediate(() => resolve(value))),
  };
  const callbacks = {
    setTimeout,
    setInterval,
    setImmediate,
    clearTimeout: clear,
    clearInterval: clear,
    clearImmediate,
  };
  return { callbacks, module: { ...callbacks, promises }, promises };
}

/** `Date` by another clock. Its objects are ordinary dates. */
export function createDate(now: () => number): DateConstructor {
  function VirtualDate(this: unknown, ...args: []): Date | string {
    if (new.target === undefined) return new Date(now()).toString();
    return args.length === 0 ? new Date(now()) : new Date(...args);
  }
  VirtualDate.prototype = Date.prototype;
  return Object.assign(VirtualDate, {
    now,
    UTC: Date.UTC,
    parse: Date.parse,
  }) as unknown as DateConstructor;
}
