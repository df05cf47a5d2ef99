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
import type { BandRecord } from "../core/bands/band-reading.ts";
import { SPEED_MIN_RPM } from "../core/bands/definition.ts";
import type { DayKey } from "../core/day.ts";
import type { SpeedAround } from "../core/machine-state/wait.ts";
import { isRead, normalCode } from "../core/sensor.ts";
import type { Site } from "../core/site.ts";
import { DAY_MS } from "../core/time-units.ts";
import { dayEndMs, dayStartMs } from "../core/time-zone.ts";
import type {
  BandCandidate,
  BandMakerParts,
  BandSensor,
  Candidates,
  DayAgain,
} from "./band-maker-parts.ts";
import { BandWriter } from "./band-writer.ts";
import { DaysAgain } from "./days-again.ts";
import { GoneSamples } from "./gone-samples.ts";
import { HeldDefinitions } from "./held-definitions.ts";
import { hasBands, readRecord, storedRecord } from "./stored-record.ts";

const CHECK_MS = 5_000;
const UNKNOWN_LOOK_MS = 60_000;
/** Records of one sensor that wait; beyond it the oldest are left without bands. */
const CANDIDATES_MAX = 2_000;
const ROWS_PER_TURN = 100;
/** Records that backfills ask for and that wait: further days are searched after them. */
const AGAIN_MAX = 500;
const AHEAD_MS = DAY_MS;

/** Times between which records may have come that have no bands. */
interface Search {
  /** Normalised. */
  readonly code: string;
  readonly fromMs: number;
  readonly toMs: number;
}

export class BandMaker {
  readonly #parts: BandMakerParts;
  readonly #definitions: HeldDefinitions;
  readonly #again: DaysAgain;
  /** Those of them whose records are candidates. */
  readonly #searched = new Set<DayAgain>();
  readonly #goneSamples: GoneSamples;
  /** By normalised code. */
  readonly #candidates = new Map<string, Candidates>();
  readonly #toSearch: Search[] = [];
  readonly #writer: BandWriter;
  #unknownAtMs = Number.NEGATIVE_INFINITY;
  #hasFailed = false;

  constructor(parts: BandMakerParts) {
    this.#parts = parts;
    this.#definitions = new HeldDefinitions(parts.memory);
    this.#again = new DaysAgain(parts.memory, parts.logger);
    this.#goneSamples = new GoneSamples(parts);
    this.#writer = new BandWriter(parts);
  }

  /** The readings of a response are durable. @param fromMs time of its oldest one @param toMs of its newest one */
  stored({ sensor, kind }: Pick<DayKey, "sensor" | "kind">, fromMs: number, toMs: number): void {
    if (kind !== "accel") return;
    const code = normalCode(sensor);
    if (!this.#sensors().some((one) => normalCode(one.code) === code)) return;
    this.#toSearch.push({ code, fromMs, toMs: toMs + 1 });
  }

  /** Days were read again: their records that have no bands get them, whenever they were stored. @param code null: all */
  readAgain(days: readonly string[], code: string | null): void {
    this.#again.add(days, code);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, site } = this.#parts;
    let seen: Site | null = null;
    // At once: the next look comes after the first records of a sensor that the change has added.
    const forgetListener = site.onChange(() => this.#holdOrLater());
    signal.addEventListener("abort", forgetListener, { once: true });
    while (!signal.aborted) {
      try {
        if (seen !== site.current) {
          seen = site.current;
          this.#hold();
          await this.#searchAll();
        }
        await this.#searchNew();
        await this.#searchAgain();
        await this.#makeDue(signal);
        this.#readGone();
        this.#finishDays();
        this.#hasFailed = false;
      } catch (err) {
        // The store cannot be written just now, or has a fault: what waits is tried again.
        if (!this.#hasFailed) logger.warn({ err }, "bands could not be stored yet");
        this.#hasFailed = true;
        seen = null;
      }
      await clock.sleep(CHECK_MS, signal);
    }
  }

  #sensors(): BandSensor[] {
    return this.#parts.site.current.sensors.filter(
      (sensor): sensor is BandSensor => sensor.bands !== undefined && isRead(sensor),
    );
  }

  /* ---------- which records ---------- */

  async #searchAll(): Promise<void> {
    this.#candidates.clear();
    this.#searched.clear();
    const { gatewayNow, samplesMs } = this.#parts;
    const toMs = gatewayNow() + AHEAD_MS;
    for (const sensor of this.#sensors())
      await this.#search(sensor, gatewayNow() - samplesMs, toMs, null);
  }

  async #searchNew(): Promise<void> {
    for (let next = this.#toSearch[0]; next !== undefined; next = this.#toSearch[0]) {
      const { code, fromMs, toMs } = next;
      for (const sensor of this.#sensors())
        if (normalCode(sensor.code) === code) await this.#search(sensor, fromMs, toMs, null);
      this.#toSearch.shift();
    }
  }

  /** Some days at a time: a backfill may ask for more records than can wait. */
  async #searchAgain(): Promise<void> {
    const { zone } = this.#parts;
    for (const again of this.#again.all) {
      if (this.#askedFor().length >= AGAIN_MAX) return;
      if (this.#searched.has(again)) continue;
      const { code, day } = again;
      const [fromMs, toMs] = [dayStartMs(day, zone), dayEndMs(day, zone)];
      for (const sensor of this.#sensors())
        if (code === null || normalCode(sensor.code) === code)
          await this.#search(sensor, fromMs, toMs, again);
      this.#searched.add(again);
    }
  }

  #askedFor(): BandCandidate[] {
    const all = [...this.#candidates.values()].flatMap(({ gone, waiting }) => [
      ...gone,
      ...waiting,
    ]);
    return all.filter(({ again }) => again !== null);
  }

  /** Days of whose records none waits any more, and whose bands are durable. */
  #finishDays(): void {
    if (this.#writer.isWaiting) return;
    const open = new Set(this.#askedFor().map(({ again }) => again));
    const finished = new Set([...this.#searched].filter((again) => !open.has(again)));
    for (const again of finished) this.#searched.delete(again);
    this.#again.done(finished);
  }

  /** A new definition holds for what is stored from now on. */
  #hold(): void {
    const { history, site } = this.#parts;
    const without = site.current.sensors.filter(({ bands }) => bands === undefined);
    this.#definitions.forget(without.map(({ code }) => code));
    const newest = history.newestSeq();
    for (const sensor of this.#sensors())
      if (!this.#definitions.isHeld(sensor)) this.#definitions.hold(sensor, newest);
  }

  /** While the store cannot be written, nothing is stored that a later definition could miss. */
  #holdOrLater(): void {
    try {
      this.#hold();
    } catch (err) {
      this.#parts.logger.warn({ err }, "bands could not be stored yet");
    }
  }

  /** @param again also records that were stored before any definition held */
  async #search(
    sensor: BandSensor,
    fromMs: number,
    toMs: number,
    again: DayAgain | null,
  ): Promise<void> {
    const { clock, history } = this.#parts;
    const { code } = sensor;
    const held =
      again === null
        ? this.#definitions.of(sensor)
        : [{ sinceSeq: Number.NEGATIVE_INFINITY, bands: sensor.bands.bands }];
    const measured = new Set<unknown>();
    let rows = 0;
    const rest = async () => {
      rows += 1;
      if (rows % ROWS_PER_TURN === 0) await turn();
    };
    for (const { attributes } of history.range({ sensor: code, kind: "bands", fromMs, toMs })) {
      measured.add(JSON.parse(attributes).record_id);
      await rest();
    }
    for (const record of history.range({ sensor: code, kind: "accel", fromMs, toMs })) {
      const { id, seq, timeMs, waveforms } = record;
      const definition = held.find(({ sinceSeq }) => seq > sinceSeq);
      if (definition !== undefined && waveforms.length > 0 && !measured.has(id)) {
        const { bands } = definition;
        this.#add(sensor, { id, bands, again, timeMs, sinceMs: clock.monotonic() });
      }
      await rest();
    }
  }

  #add({ code }: BandSensor, candidate: BandCandidate): void {
    const none: Candidates = { waiting: [], unknown: [], gone: [] };
    const known = this.#candidates.get(normalCode(code)) ?? none;
    this.#candidates.set(normalCode(code), known);
    const isKnown = ({ id }: BandCandidate) => id === candidate.id;
    if (candidate.again !== null) known.unknown = known.unknown.filter((one) => !isKnown(one));
    const { waiting, unknown, gone } = known;
    if (waiting.some(isKnown) || unknown.some(isKnown) || gone.some(isKnown)) return;
    const at = waiting.findLastIndex(({ timeMs }) => timeMs <= candidate.timeMs) + 1;
    waiting.splice(at, 0, candidate);
    if (waiting.length > CANDIDATES_MAX) waiting.shift();
  }

  /* ---------- making them ---------- */

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
    for (const sensor of this.#sensors()) {
      const known = this.#candidates.get(normalCode(sensor.code));
      if (known === undefined) continue;
      if (looksAgain) await this.#makeUnknown(sensor, known, signal);
      while (!signal.aborted) {
        const [first] = known.waiting;
        if (first === undefined || !this.#isOver(sensor, first)) break;
        const made = await this.#make(sensor, first);
        known.waiting = known.waiting.filter((one) => one !== first);
        if (made !== "done") known[made] = [...known[made], first].slice(-CANDIDATES_MAX);
      }
    }
  }

  #readGone(): void {
    for (const { code } of this.#sensors()) {
      const known = this.#candidates.get(normalCode(code));
      if (known === undefined) continue;
      this.#goneSamples.read(code, known, async (candidate, reading) => {
        const sensor = this.#sensors().find((one) => one.code === code);
        if (sensor !== undefined) await this.#make(sensor, candidate, readRecord(reading));
      });
    }
  }

  async #makeUnknown(sensor: BandSensor, known: Candidates, signal: AbortSignal): Promise<void> {
    const oldestMs = this.#parts.gatewayNow() - this.#parts.samplesMs;
    for (const candidate of known.unknown) {
      if (signal.aborted) return;
      const isOld = candidate.timeMs < oldestMs;
      const made = isOld ? "done" : await this.#make(sensor, candidate);
      if (made === "unknown") continue;
      known.unknown = known.unknown.filter((one) => one !== candidate);
      if (made === "gone") known.gone.push(candidate);
    }
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
      if (speed.rpm < SPEED_MIN_RPM) return "done";
    }
    if (hasBands(this.#parts, sensor.code, candidate)) return "done";
    const record = read ?? storedRecord(this.#parts, sensor.code, candidate);
    if (record === null) return candidate.again === null ? "done" : "gone";
    await this.#writer.write(sensor, candidate.bands, record, speed);
    return "done";
  }
}
