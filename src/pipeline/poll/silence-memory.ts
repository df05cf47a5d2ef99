/** Which streams are silent, kept over restarts: what a process has learned of their intervals is not stored. */

import type { SensorState } from "../../core/agent-status.ts";
import { parsedJson } from "../../core/parsed-json.ts";
import { streamKey } from "../../core/sensor.ts";
import type { PollParts } from "./poll-parts.ts";

const NAME = "silent_streams";

/** Newest record by sensor and kind, ms. */
type Silent = Readonly<Record<string, number>>;

export class SilenceMemory {
  readonly #memory: PollParts["memory"];
  #saved: string | null = null;
  #silent: Silent | null = null;

  constructor(memory: PollParts["memory"]) {
    this.#memory = memory;
  }

  /** Newest record with which it was silent at the last check, ms; null if it was not. */
  sinceMs(sensor: string, kind: string): number | null {
    this.#silent ??= this.#load();
    return this.#silent[streamKey(sensor, kind)] ?? null;
  }

  /** A store that cannot be written now is written after the next check. */
  check(states: readonly SensorState[]): void {
    const silent = states.flatMap(({ code, kinds }) =>
      kinds.flatMap(({ kind, isSilent, lastReadingMs }) =>
        isSilent && lastReadingMs !== null ? [[streamKey(code, kind), lastReadingMs] as const] : [],
      ),
    );
    const text = JSON.stringify(Object.fromEntries(silent));
    if (text === (this.#saved ?? "{}")) return;
    try {
      this.#memory.set(NAME, text);
      this.#saved = text;
    } catch {
      // Its failure is reported by those who store readings.
    }
  }

  #load(): Silent {
    const text = this.#memory.get(NAME);
    this.#saved = text;
    return parsedJson<Silent>(text ?? "{}") ?? {};
  }
}
