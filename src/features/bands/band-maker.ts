/**
 * Makes a reading of kind `bands` of each acceleration record, once the state and speed of its machine at that time are
 * known (plant sections 17 and 18).
 *
 * Nothing of it is remembered on disk but since when definitions hold and which days a backfill has read again: a record
 * whose samples are stored and that has no bands is one to be measured, so a process that ends at any moment loses none and
 * doubles none. A record gets bands once; the first stored stands. Of a backfill, records whose samples are gone are read
 * once more when state and speed are known, so that none of them waits in memory with its samples.
 */

import { setImmediate as turn } from "node:timers/promises";
import type { BandRecord } from "../../core/bands/band-reading.ts";
import { SPEED_MIN_RPM } from "../../core/bands/definition.ts";
import type { DayKey } from "../../core/day.ts";
import type { SpeedAround } from "../../core/followed-reading.ts";
import { normalCode, sameCode } from "../../core/sensor.ts";
import type { Site } from "../../core/site.ts";
import type { BandCandidate, BandMakerParts, BandSensor, Candidates } from "./band-maker-parts.ts";
import { BandWriter } from "./band-writer.ts";
import { CANDIDATES_MAX, CandidateSearch } from "./candidate-search.ts";
import { GoneSamples } from "./gone-samples.ts";
import { JudgedRecords } from "./judged-records.ts";
import { hasBands, readRecord, storedRecord } from "./stored-record.ts";

const CHECK_MS = 5_000;
const UNKNOWN_LOOK_MS = 60_000;
/** Records looked at between two turns of the event loop; each asks the store for the signal a few times. */
const MADE_PER_TURN = 10;
/** Records whose state or speed is unknown: the newest are looked at each minute, all of them each ten. */
const UNKNOWN_NEWEST = 20;
const UNKNOWN_FULL_EVERY = 10;

export class BandMaker {
  readonly #parts: BandMakerParts;
  readonly #search: CandidateSearch;
  readonly #goneSamples: GoneSamples;
  readonly #writer: BandWriter;
  readonly #judged: JudgedRecords;
  #unknownAtMs = Number.NEGATIVE_INFINITY;
  #unknownLooks = 0;
  #made = 0;

  constructor(parts: BandMakerParts) {
    this.#parts = parts;
    this.#judged = new JudgedRecords(parts.memory);
    this.#search = new CandidateSearch(parts, this.#judged);
    this.#goneSamples = new GoneSamples(parts);
    this.#writer = new BandWriter(parts);
  }

  /** The readings of a response are durable. @param fromMs time of its oldest one @param toMs of its newest one */
  stored({ sensor, kind }: Pick<DayKey, "sensor" | "kind">, fromMs: number, toMs: number): void {
    if (kind === "accel") this.#search.stored(sensor, fromMs, toMs);
  }

  /** Days were read again: their records that have no bands get them, whenever they were stored. @param code null: all */
  readAgain(days: readonly string[], code: string | null): void {
    this.#search.readAgain(days, code);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, failures, site } = this.#parts;
    let seen: Site | null = null;
    // At once: the next look comes after the first records of a sensor that the change has added.
    const forgetListener = site.onChange(() => this.#search.holdOrLater());
    signal.addEventListener("abort", forgetListener, { once: true });
    while (!signal.aborted) {
      try {
        if (seen !== site.current) {
          seen = site.current;
          await this.#search.all();
        }
        await this.#search.further();
        await this.#makeDue(signal);
        this.#readGone();
        if (!this.#writer.isWaiting) this.#search.finishDays();
        failures.worked("bands", "");
      } catch (err) {
        // The store cannot be written just now, or has a fault: what waits is tried again.
        failures.failed("bands", "", err, "bands could not be stored yet");
        seen = null;
      }
      await clock.sleep(CHECK_MS, signal);
    }
  }

  async #makeDue(signal: AbortSignal): Promise<void> {
    try {
      await this.#makeAll(signal);
    } finally {
      await this.#writer.settle();
    }
  }

  async #makeAll(signal: AbortSignal): Promise<void> {
    const now = this.#parts.clock.monotonic();
    const looksAgain = now - this.#unknownAtMs >= UNKNOWN_LOOK_MS;
    if (looksAgain) this.#unknownAtMs = now;
    if (looksAgain) this.#unknownLooks += 1;
    for (const sensor of this.#search.sensors()) {
      const known = this.#search.of(sensor.code);
      if (known === undefined) continue;
      if (looksAgain) await this.#makeUnknown(sensor, known, signal);
      while (!signal.aborted) {
        const [first] = known.waiting;
        if (first === undefined || !this.#isOver(sensor, first)) break;
        await this.#rest();
        const made = await this.#make(sensor, first);
        known.waiting = known.waiting.filter((one) => one !== first);
        if (made === "done" && first.again === null)
          this.#judged.done(this.#parts.site.current, sensor, first.seq, known);
        if (made !== "done") known[made] = [...known[made], first].slice(-CANDIDATES_MAX);
      }
    }
  }

  #readGone(): void {
    for (const { code } of this.#search.sensors()) {
      const known = this.#search.of(code);
      if (known === undefined) continue;
      this.#goneSamples.read(code, known, async (candidate, reading) => {
        const sensor = this.#search.sensors().find((one) => sameCode(one.code, code));
        if (sensor !== undefined) await this.#make(sensor, candidate, readRecord(reading));
      });
    }
  }

  async #makeUnknown(sensor: BandSensor, known: Candidates, signal: AbortSignal): Promise<void> {
    const oldestMs = this.#parts.gatewayNow() - this.#parts.samplesMs;
    const isFull = this.#unknownLooks % UNKNOWN_FULL_EVERY === 0;
    for (const candidate of isFull ? known.unknown : known.unknown.slice(-UNKNOWN_NEWEST)) {
      if (signal.aborted) return;
      await this.#rest();
      const isOld = candidate.timeMs < oldestMs;
      const made = isOld ? "done" : await this.#make(sensor, candidate);
      if (made === "unknown") continue;
      known.unknown = known.unknown.filter((one) => one !== candidate);
      if (made === "gone") known.gone.push(candidate);
    }
  }

  /** Most records need no I/O, and a plant that stood over Christmas has thousands: others have their turn in between. */
  async #rest(): Promise<void> {
    this.#made += 1;
    if (this.#made % MADE_PER_TURN === 0) await turn();
  }

  #isOver(sensor: BandSensor, { again, timeMs, sinceMs }: BandCandidate): boolean {
    const { clock, wait } = this.#parts;
    const of = { purpose: "bands", sensor: normalCode(sensor.code) } as const;
    // A backfill has read its days: what the store knows of the signal then counts, unless it is about to be read.
    const heldMs = again === null ? clock.monotonic() - sinceMs : Number.POSITIVE_INFINITY;
    return wait.isOver(of, timeMs, heldMs);
  }

  /**
   * `unknown`: state or speed of the machine at that time are; `gone`: the samples are, and a backfill asks for them.
   * @param read the record as it was read once more; null: the stored one
   */
  async #make(
    sensor: BandSensor,
    candidate: BandCandidate,
    read: BandRecord | null = null,
  ): Promise<"done" | "unknown" | "gone"> {
    const { site, wait } = this.#parts;
    const machine = site.current.machines?.find(({ id }) => id === sensor.location?.machine);
    if (machine === undefined) return "done";
    const state = wait.stateAt(sensor.code, candidate.timeMs);
    if (state === "standing") return "done";
    if (state === null && machine.running !== undefined) return "unknown";
    let speed: SpeedAround | null = null;
    if (sensor.bands.hasSpeed) {
      speed = wait.speedAround(machine.id, candidate.timeMs);
      if (speed === null) return "unknown";
      if (speed.rpm * (sensor.bands?.shaft?.speedRatio ?? 1) < SPEED_MIN_RPM) return "done";
    }
    if (hasBands(this.#parts, sensor.code, candidate)) return "done";
    const record = read ?? storedRecord(this.#parts, sensor.code, candidate);
    if (record === null) return candidate.again === null ? "done" : "gone";
    await this.#writer.write(sensor, candidate.bands, record, speed);
    return "done";
  }
}
