/**
 * One process of the virtual world: a program with timers, clock, randomness, sockets and database connections of its own.
 * It can die between any two of its callbacks, or within a database call; nothing that it does afterwards has an effect.
 */
import { createRequire } from "node:module";
import { SeededRandom } from "../chaos/random.ts";
import { Disk } from "./disk.ts";
import { modulesOf } from "./modules.ts";
import type { Network } from "./network.ts";
import type { Program } from "./program.ts";
import type { VirtualSocket } from "./virtual-socket.ts";
import { createDate, createTimers } from "./virtual-timers.ts";
import type { World } from "./world.ts";

/** Thrown to leave the code of a process that has died. */
export class Died extends Error {
  override readonly name = "Died";
}

export interface ProcessOptions {
  readonly name: string;
  readonly seed: number;
  /** The machine's clock when the world began, ms since 1970; read again for each `Date.now()`. */
  readonly startMs: () => number;
  readonly disk?: Disk;
  /** An error that nobody caught. */
  readonly onError: (error: unknown) => void;
}

export class VirtualProcess {
  readonly world: World;
  readonly network: Network;
  readonly name: string;
  readonly disk: Disk;
  readonly random: SeededRandom;
  readonly sockets = new Set<VirtualSocket>();
  isAlive = true;
  readonly #options: ProcessOptions;
  readonly #bornMs: number;

  constructor(network: Network, options: ProcessOptions) {
    this.network = network;
    this.world = network.world;
    this.name = options.name;
    this.random = new SeededRandom(options.seed);
    this.disk = options.disk ?? new Disk();
    this.#options = options;
    this.#bornMs = this.world.nowMs;
  }

  readonly now = (): number => Math.floor(this.#options.startMs() + this.world.nowMs);
  /** Like `performance.now()`: since the start of the process, ms. */
  readonly monotonic = (): number => this.world.nowMs - this.#bornMs;

  /** Runs a callback of this process. */
  readonly enter = (act: () => void): void => {
    if (!this.isAlive) return;
    try {
      act();
    } catch (error) {
      if (!(error instanceof Died)) this.#options.onError(error);
    }
  };

  refuseIfDead(): void {
    if (!this.isAlive) throw new Died("it has died");
  }

  /** From now on nothing of it has any effect. */
  die(): void {
    if (!this.isAlive) return;
    this.isAlive = false;
    this.network.forget(this);
    for (const socket of this.sockets) socket.abandon();
    // Its promise callbacks that are still queued may use the database once more.
    this.world.immediate(() => this.disk.close());
  }

  /** Loads a program anew; its module state dies with the process. */
  load<T>(program: Program): T {
    const { callbacks, module, promises } = createTimers(this.world, this.enter);
    const modules = modulesOf(this, { timers: module, "timers/promises": promises });
    const real = createRequire(import.meta.url);
    const globals = {
      ...callbacks,
      Date: createDate(this.now),
      performance: modules["perf_hooks"]?.["performance"],
      process: modules["process"],
      Math: mathOf(this.random),
      AbortSignal: abortSignalOf(callbacks.setTimeout),
      WebAssembly: synchronousWebAssembly,
    };
    const realm: unknown = new Proxy(globalThis, {
      get: (target, name) => Reflect.get(name in globals ? globals : target, name),
    });
    const scope = {
      ...globals,
      globalThis: realm,
      global: realm,
      require: (name: string) => modules[name.replace(/^node:/, "")] ?? (real(name) as unknown),
    };
    return program.evaluate(scope) as T;
  }
}

/** An ordinary object: V8 looks up each name of one without a prototype in a table. */
function mathOf(random: SeededRandom): Math {
  const own = Object.getOwnPropertyNames(Math).map((name) => [name, Math[name as keyof Math]]);
  return { ...Object.fromEntries(own), random: () => random.next() } as unknown as Math;
}

function abortSignalOf(setTimeout: (act: () => void, ms: number) => unknown): unknown {
  const own = function VirtualAbortSignal() {};
  own.prototype = AbortSignal.prototype;
  return Object.assign(own, {
    any: (signals: AbortSignal[]) => AbortSignal.any(signals),
    abort: (reason?: unknown) => AbortSignal.abort(reason),
    timeout(ms: number) {
      const controller = new AbortController();
      setTimeout(
        () =>
          controller.abort(
            new DOMException("The operation was aborted due to timeout", "TimeoutError"),
          ),
        ms,
      );
      return controller.signal;
    },
  });
}

interface Wasm {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports?: object) => object;
}
const wasm = Reflect.get(globalThis, "WebAssembly") as Wasm;

/** Compiled on the spot, where Node would use a thread. */
const synchronousWebAssembly = {
  Module: wasm.Module,
  Instance: wasm.Instance,
  compile: async (bytes: Uint8Array) => new wasm.Module(bytes),
  async instantiate(source: Uint8Array, imports?: object) {
    if (source instanceof wasm.Module) return new wasm.Instance(source, imports);
    const module = new wasm.Module(source);
    return { module, instance: new wasm.Instance(module, imports) };
  },
};
