import { setImmediate as turn } from "node:timers/promises";
import type { Band } from "../../core/bands/band.ts";
import { type BandRecord, bandReadingSteps } from "../../core/bands/band-reading.ts";
import type { SpeedAround } from "../../core/followed-reading.ts";
import { dayOf } from "../../core/time/time-zone.ts";
import type { BandMakerParts, BandSensor } from "./band-maker-parts.ts";

/** Readings that wait to be written; the store writes as many at once. */
const COMMITS_MAX = 50;

/** Measures the bands of records and stores them, many together. */
export class BandWriter {
  readonly #parts: Pick<BandMakerParts, "log" | "metrics" | "onStored" | "plans" | "zone">;
  /** The store waits for more before it writes (COMMIT_INTERVAL_S): one reading at a time would be few a minute. */
  readonly #commits: Promise<{ readonly error: unknown } | null>[] = [];

  constructor(parts: Pick<BandMakerParts, "log" | "metrics" | "onStored" | "plans" | "zone">) {
    this.#parts = parts;
  }

  /** Whether something that was written need not be durable yet. */
  get isWaiting(): boolean {
    return this.#commits.length > 0;
  }

  /** Until all that was written is durable. */
  async settle(): Promise<void> {
    const failed = (await Promise.all(this.#commits.splice(0))).find((one) => one !== null);
    if (failed !== undefined) throw failed.error;
  }

  /** @param bands the definition that the record gets @param speed null without a speed signal */
  async write(
    sensor: BandSensor,
    bands: readonly Band[],
    record: BandRecord,
    speed: SpeedAround | null,
  ): Promise<void> {
    const { log, metrics, onStored, plans, zone } = this.#parts;
    const steps = bandReadingSteps(sensor, bands, record, speed, plans);
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) await turn();
    const reading = step.value;
    const day = dayOf(reading.timeMs, zone);
    const writer = log.begin({ sensor: sensor.code, kind: "bands", day });
    try {
      if (writer.isKnown(reading.timeMs, reading.id)) {
        writer.discard();
        return;
      }
      await writer.add(reading);
    } catch (error) {
      writer.discard();
      throw error;
    }
    const commit = async () => {
      const { stored } = await writer.commit({ checkpoint: null, records: 1 });
      metrics.readings.inc({ kind: "bands" }, stored);
      onStored(reading);
    };
    this.#commits.push(
      commit().then(
        () => null,
        (error: unknown) => {
          writer.discard();
          return { error };
        },
      ),
    );
    if (this.#commits.length >= COMMITS_MAX) await this.settle();
  }
}
