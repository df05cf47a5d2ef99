import { canonicalJson } from "../core/identity.ts";
import { normalCode } from "../core/sensor.ts";
import type { BandMakerParts, BandSensor } from "./band-maker-parts.ts";

/** Since when each sensor's definition holds: records stored before it have the bands of an earlier one, or none. */
export class HeldDefinitions {
  readonly #memory: BandMakerParts["memory"];

  constructor(memory: BandMakerParts["memory"]) {
    this.#memory = memory;
  }

  /** The newest record that was stored before the definition held; null if another one held so far. */
  sinceSeq({ code, bands }: BandSensor): number | null {
    const [since = "", held] = (this.#memory.get(nameOf(code)) ?? "").split("\n");
    return held === canonicalJson(bands.bands as never) ? Number(since) : null;
  }

  hold({ code, bands }: BandSensor, sinceSeq: number): void {
    this.#memory.set(nameOf(code), `${sinceSeq}\n${canonicalJson(bands.bands as never)}`);
  }

  /** The sensor has no bands. */
  forget(code: string): void {
    if ((this.#memory.get(nameOf(code)) ?? "") !== "") this.#memory.set(nameOf(code), "");
  }
}

function nameOf(code: string): string {
  return `bands/${normalCode(code)}`;
}
