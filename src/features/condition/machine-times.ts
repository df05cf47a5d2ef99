import { parsedObject } from "../../core/parsed-json.ts";
import type { Runtime } from "../../core/ports.ts";

const NAME = "machine_times";

interface TimesParts extends Runtime {
  /** Survives the process; may throw if the disk does not accept it. */
  readonly memory: { get(name: string): string | null; set(name: string, text: string): void };
}

/** The times of messages about machines: each is later than the one before, also after the clock was set back. */
export class MachineTimes {
  readonly #parts: TimesParts;
  #last: Map<number, number> | null = null;
  #isWell = true;

  constructor(parts: TimesParts) {
    this.#parts = parts;
  }

  /** For messages that are made now, ms by machine. */
  take(machines: readonly number[]): ReadonlyMap<number, number> {
    const { clock, logger, memory } = this.#parts;
    this.#last ??= this.#load();
    const last = this.#last;
    const now = clock.now();
    const taken = new Map(machines.map((id) => [id, Math.max(now, (last.get(id) ?? 0) + 1)]));
    for (const [id, timeMs] of taken) last.set(id, timeMs);
    try {
      memory.set(NAME, JSON.stringify(Object.fromEntries(last)));
      this.#isWell = true;
    } catch (err) {
      if (this.#isWell) logger.warn({ err }, "the times of messages about machines are not kept");
      this.#isWell = false;
    }
    return taken;
  }

  #load(): Map<number, number> {
    const saved = Object.entries(parsedObject(this.#parts.memory.get(NAME) ?? "{}") ?? {});
    return new Map(
      saved.flatMap(([id, timeMs]) => (typeof timeMs === "number" ? [[Number(id), timeMs]] : [])),
    );
  }
}
