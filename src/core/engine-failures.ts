/**
 * What fails in the rules of alarms, diagnosis and bands: readings are stored all the same, so it must be told. A failure
 * stands until the same work is done again without one.
 */
import type { Runtime } from "./ports.ts";
import { messageOf } from "./thrown.ts";

export const ENGINES = ["alarms", "diagnosis", "bands"] as const;
export type Engine = (typeof ENGINES)[number];

export interface EngineFailure {
  readonly engine: Engine;
  readonly lastError: string;
  readonly sinceMs: number;
}

export class EngineFailures {
  readonly #parts: Runtime;
  readonly #count: (engine: Engine) => void;
  /** By engine, then by what it failed at: a sensor, or a sensor and kind. */
  readonly #standing = new Map<Engine, Map<string, Omit<EngineFailure, "engine">>>();

  constructor(parts: Runtime, count: (engine: Engine) => void = () => {}) {
    this.#parts = parts;
    this.#count = count;
  }

  /** Logged if it worked before. @param at what it failed at */
  failed(engine: Engine, at: string, err: unknown, text: string): void {
    const { clock, logger } = this.#parts;
    this.#count(engine);
    const standing = this.#standing.get(engine) ?? new Map();
    this.#standing.set(engine, standing);
    const known = standing.get(at);
    if (known === undefined) logger.error({ err, ...(at !== "" && { sensor: at }) }, text);
    standing.set(at, { lastError: messageOf(err), sinceMs: known?.sinceMs ?? clock.now() });
  }

  worked(engine: Engine, at: string): void {
    this.#standing.get(engine)?.delete(at);
  }

  /** Another site file: sensors that failed may be gone. */
  forget(): void {
    this.#standing.clear();
  }

  /** One of each engine that fails now: since its oldest, with its newest reason. */
  get standing(): readonly EngineFailure[] {
    return ENGINES.flatMap((engine) => {
      const all = [...(this.#standing.get(engine)?.values() ?? [])];
      const last = all.at(-1);
      if (last === undefined) return [];
      const sinceMs = Math.min(...all.map((one) => one.sinceMs));
      return [{ engine, lastError: last.lastError, sinceMs }];
    });
  }
}
