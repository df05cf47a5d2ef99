import type { DayKey } from "../../core/day.ts";
import type { Reading } from "../../core/reading.ts";
import type { BandCandidate, BandMakerParts, Candidates } from "./band-maker-parts.ts";

const RETRY_MS = 60_000;
const TRIES_MAX = 3;

/** Reads records whose samples are gone once more from the gateway, one day of one sensor at a time. */
export class GoneSamples {
  readonly #parts: Pick<BandMakerParts, "clock" | "logger" | "readWanted">;
  #isReading = false;
  /** Monotonic, ms. */
  #readsAtMs = Number.NEGATIVE_INFINITY;
  #tries = 0;

  constructor(parts: Pick<BandMakerParts, "clock" | "logger" | "readWanted">) {
    this.#parts = parts;
  }

  /** Begins a read if none is under way. @param make takes the record of a candidate */
  read(
    sensor: string,
    known: Candidates,
    make: (candidate: BandCandidate, reading: Reading) => Promise<void>,
  ): void {
    const day = known.gone[0]?.again?.day;
    if (day === undefined || this.#isReading) return;
    if (this.#parts.clock.monotonic() < this.#readsAtMs) return;
    this.#isReading = true;
    void this.#read({ sensor, kind: "accel", day }, known, make).finally(() => {
      this.#isReading = false;
    });
  }

  async #read(
    key: DayKey,
    known: Candidates,
    make: (candidate: BandCandidate, reading: Reading) => Promise<void>,
  ): Promise<void> {
    const { clock, logger, readWanted } = this.#parts;
    const asked = known.gone.filter(({ again }) => again?.day === key.day);
    const left = new Map(asked.map((one) => [one.id, one]));
    const leave = (ids: { has(id: string): boolean }) => {
      known.gone = known.gone.filter(({ id }) => !ids.has(id));
    };
    const failure = await readWanted(key, {
      has: (id) => left.has(id),
      take: async (reading) => {
        const candidate = left.get(reading.id);
        if (candidate === undefined) return;
        await make(candidate, reading);
        left.delete(reading.id);
        leave(new Set([reading.id]));
      },
    });
    this.#tries += 1;
    if (failure !== null && this.#tries < TRIES_MAX) {
      this.#readsAtMs = clock.monotonic() + RETRY_MS;
      return;
    }
    this.#tries = 0;
    leave(left);
    if (left.size === 0) return;
    const detail = failure ?? "the gateway no longer has them";
    logger.warn(
      { ...key, records: left.size, detail },
      "records get no bands, because their samples are gone",
    );
  }
}
