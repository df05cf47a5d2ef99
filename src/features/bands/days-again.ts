import type { Logger } from "../../core/ports.ts";
import { normalCode } from "../../core/sensor.ts";
import { isDay } from "../../core/time/time-zone.ts";
import type { BandMakerParts, DayAgain } from "./band-maker-parts.ts";

type DaysMemory = Pick<BandMakerParts["memory"], "get" | "set">;

const NAME = "bands-again";
const DAY_LENGTH = "2026-11-27".length;

/** Days that a backfill has read again, until their records have the bands that they can have. */
export class DaysAgain {
  readonly #memory: DaysMemory;
  readonly #logger: Logger;
  #all: readonly DayAgain[];

  constructor(memory: DaysMemory, logger: Logger) {
    this.#memory = memory;
    this.#logger = logger;
    this.#all = (memory.get(NAME) ?? "").split("\n").flatMap(inLine);
  }

  get all(): readonly DayAgain[] {
    return this.#all;
  }

  /** @param code null: every sensor */
  add(days: readonly string[], code: string | null): void {
    this.#all = [
      ...this.#all,
      ...days.map((day) => ({ day, code: code === null ? null : normalCode(code) })),
    ];
    this.#keep();
  }

  done(finished: ReadonlySet<DayAgain>): void {
    if (finished.size === 0) return;
    this.#all = this.#all.filter((one) => !finished.has(one));
    this.#keep();
  }

  #keep(): void {
    const lines = new Set(this.#all.map(({ day, code }) => `${day} ${code ?? ""}`));
    try {
      this.#memory.set(NAME, [...lines].join("\n"));
    } catch (err) {
      // A full disk: a restart forgets the latest ones, and another backfill names them again.
      this.#logger.warn({ err }, "days whose bands a backfill makes could not be kept");
    }
  }
}

function inLine(line: string): DayAgain[] {
  const [day, code] = [line.slice(0, DAY_LENGTH), line.slice(DAY_LENGTH + 1)];
  return isDay(day) ? [{ day, code: code === "" ? null : code }] : [];
}
