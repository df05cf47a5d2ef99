import type { Band } from "../../core/bands/band.ts";
import { canonicalJson } from "../../core/configuration/site-difference.ts";
import { parsedJson } from "../../core/parsed-json.ts";
import { normalCode } from "../../core/sensor.ts";
import type { BandMakerParts, BandSensor } from "./band-maker-parts.ts";

/** Earlier definitions, for records that still wait for a speed; one of them is a few kB. */
const HELD_MAX = 4;
const FOLDER = "bands";

export interface HeldDefinition {
  /** The newest record that was stored before the definition held. */
  readonly sinceSeq: number;
  readonly bands: readonly Band[];
}

/** Since when each sensor's definition holds, and those before it. A record has the bands of the one that held when it was stored. */
export class HeldDefinitions {
  readonly #memory: BandMakerParts["memory"];

  constructor(memory: BandMakerParts["memory"]) {
    this.#memory = memory;
  }

  /** Newest first; none while the sensor has no bands. */
  of({ code }: Pick<BandSensor, "code">): HeldDefinition[] {
    return this.#held(code).flatMap(({ since, text }) => {
      const bands = parsedJson<readonly Band[]>(text);
      return bands === null ? [] : [{ sinceSeq: Number(since), bands }];
    });
  }

  isHeld({ code, bands }: BandSensor): boolean {
    return this.#held(code)[0]?.text === canonicalJson(bands.bands);
  }

  /** Those of a reload together: it may change them all. */
  hold(sensors: readonly BandSensor[], sinceSeq: number): void {
    const texts = sensors.map(({ code, bands }): [string, string] => {
      const held = { since: String(sinceSeq), text: canonicalJson(bands.bands) };
      const all = [held, ...this.#held(code)].slice(0, HELD_MAX);
      return [nameOf(code), all.flatMap(({ since, text }) => [since, text]).join("\n")];
    });
    this.#memory.setAll(texts);
  }

  /** Sensors that have no bands: on most sites all of them, at each change. */
  forget(codes: readonly string[]): void {
    const known = new Set(this.#memory.names(FOLDER));
    const held = codes.map(nameOf).filter((name) => known.has(name));
    this.#memory.setAll(
      held.flatMap((name) => (this.#memory.get(name) === "" ? [] : [[name, ""] as const])),
    );
  }

  /** A line that says since when, and one with the definition, newest first. */
  #held(code: string): { readonly since: string; readonly text: string }[] {
    const lines = (this.#memory.get(nameOf(code)) ?? "").split("\n");
    return lines.flatMap((since, at) => {
      const text = lines[at + 1];
      return at % 2 === 0 && text !== undefined ? [{ since, text }] : [];
    });
  }
}

function nameOf(code: string): string {
  return `${FOLDER}/${normalCode(code)}`;
}
