/**
 * Makes a reading of kind `bands` of each acceleration record, once the state and speed of its machine at that time are
 * known (plant sections 17 and 18).
 *
 * Nothing of it is remembered on disk but when the definition last changed: a record whose samples are stored and that has
 * no bands is one to be measured, so a process that ends at any moment loses none and doubles none. A record gets bands
 * once; the first stored stands.
 */

import { setImmediate as turn } from "node:timers/promises";
import { type BandRecord, bandReadingSteps } from "../core/bands/band-reading.ts";
import { SPEED_MIN_RPM } from "../core/bands/definition.ts";
import type { DayKey } from "../core/day.ts";
import type { SpeedAround } from "../core/machine-state/wait.ts";
import { isRead, normalCode } from "../core/sensor.ts";
import type { Site } from "../core/site.ts";
import { DAY_MS } from "../core/time-units.ts";
import { dayEndMs, dayOf, dayStartMs } from "../core/time-zone.ts";
import type { BandCandidate, BandMakerParts, BandSensor, Candidates } from "./band-maker-parts.ts";
import { HeldDefinitions } from "./held-definitions.ts";
import { storedRecord } from "./stored-record.ts";

const CHECK_MS = 5_000;
const UNKNOWN_LOOK_MS = 60_000;
/** Records of one sensor that wait; beyond it the oldest are left without bands. */
const CANDIDATES_MAX = 2_000;
const ROWS_PER_TURN = 100;
/** Readings that wait to be written; the store writes as many at once. */
const COMMITS_MAX = 50;
const AHEAD_MS = DAY_MS;

/** Times between which records may have come that have no bands. */
interface Search {
  /** Normalised; null: every sensor. */
  readonly code: string | null;
  readonly fromMs: number;
  readonly toMs: number;
  /** Also of those stored before the definition held. */
  readonly isReadAgain: boolean;
}

export class BandMaker {
  readonly #parts: BandMakerParts;
  readonly #definitions: HeldDefinitions;
  /** By normalised code. */
  readonly #candidates = new Map<string, Candidates>();
  readonly #toSearch: Search[] = [];
  /** The store waits for more before it writes (COMMIT_INTERVAL_S): one reading at a time would be few a minute. */
  readonly #commits: Promise<{ readonly error: unknown } | null>[] = [];
  #unknownAtMs = Number.NEGATIVE_INFINITY;
  #hasFailed = false;

  constructor(parts: BandMakerParts) {
    this.#parts = parts;
    this.#definitions = new HeldDefinitions(parts.memory);
  }

  /** The readings of a response are durable. @param fromMs time of its oldest one @param toMs of its newest one */
  stored({ sensor, kind }: Pick<DayKey, "sensor" | "kind">, fromMs: number, toMs: number): void {
    if (kind !== "accel") return;
    const code = normalCode(sensor);
    if (!this.#sensors().some((one) => normalCode(one.code) === code)) return;
    this.#toSearch.push({ code, fromMs, toMs: toMs + 1, isReadAgain: false });
  }

  /** Days were read again: their records that have no bands get them, whenever they were stored. @param code null: all */
  readAgain(days: readonly string[], code: string | null): void {
    const { zone } = this.#parts;
    for (const day of days) {
      const at = { fromMs: dayStartMs(day, zone), toMs: dayEndMs(day, zone) };
      this.#toSearch.push({ code: code && normalCode(code), ...at, isReadAgain: true });
    }
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
        await this.#makeDue(signal);
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
    const { gatewayNow, samplesMs } = this.#parts;
    const toMs = gatewayNow() + AHEAD_MS;
    for (const sensor of this.#sensors())
      await this.#search(sensor, gatewayNow() - samplesMs, toMs, false);
  }

  async #searchNew(): Promise<void> {
    for (let next = this.#toSearch[0]; next !== undefined; next = this.#toSearch[0]) {
      const { code, fromMs, toMs, isReadAgain } = next;
      for (const sensor of this.#sensors())
        if (code === null || normalCode(sensor.code) === code)
          await this.#search(sensor, fromMs, toMs, isReadAgain);
      this.#toSearch.shift();
    }
  }

  /** A new definition holds for what is stored from now on. */
  #hold(): void {
    const { history, site } = this.#parts;
    for (const { code, bands } of site.current.sensors)
      if (bands === undefined) this.#definitions.forget(code);
    const newest = history.newestSeq();
    for (const sensor of this.#sensors())
      if (this.#definitions.sinceSeq(sensor) === null) this.#definitions.hold(sensor, newest);
  }

  /** While the store cannot be written, nothing is stored that a later definition could miss. */
  #holdOrLater(): void {
    try {
      this.#hold();
    } catch (err) {
      this.#parts.logger.warn({ err }, "bands could not be stored yet");
    }
  }

  /** @param isReadAgain also records that were stored before the definition held */
  async #search(
    sensor: BandSensor,
    fromMs: number,
    toMs: number,
    isReadAgain: boolean,
  ): Promise<void> {
    const { history } = this.#parts;
    const { code } = sensor;
    const since = isReadAgain ? 0 : (this.#definitions.sinceSeq(sensor) ?? history.newestSeq());
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
      const isNew = record.seq > since && !measured.has(record.id);
      if (isNew && record.waveforms.length > 0) this.#add(sensor, record.id, record.timeMs);
      await rest();
    }
  }

  #add({ code }: BandSensor, id: string, timeMs: number): void {
    const known = this.#candidates.get(normalCode(code)) ?? { waiting: [], unknown: [] };
    this.#candidates.set(normalCode(code), known);
    const { waiting, unknown } = known;
    const isKnown = (one: BandCandidate) => one.id === id;
    if (waiting.some(isKnown) || unknown.some(isKnown)) return;
    const at = waiting.findLastIndex((one) => one.timeMs <= timeMs) + 1;
    waiting.splice(at, 0, { id, timeMs, sinceMs: this.#parts.clock.monotonic() });
    if (waiting.length > CANDIDATES_MAX) waiting.shift();
  }

  /* ---------- making them ---------- */

  async #makeDue(signal: AbortSignal): Promise<void> {
    try {
      await this.#makeAll(signal);
    } finally {
      await this.#settle();
    }
  }

  /** Until all that was made is durable. */
  async #settle(): Promise<void> {
    const failed = (await Promise.all(this.#commits.splice(0))).find((one) => one !== null);
    if (failed !== undefined) throw failed.error;
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
        const isKnown = await this.#make(sensor, first);
        known.waiting = known.waiting.filter((one) => one !== first);
        if (!isKnown) known.unknown = [...known.unknown, first].slice(-CANDIDATES_MAX);
      }
    }
  }

  async #makeUnknown(sensor: BandSensor, known: Candidates, signal: AbortSignal): Promise<void> {
    const oldestMs = this.#parts.gatewayNow() - this.#parts.samplesMs;
    for (const candidate of known.unknown) {
      if (signal.aborted) return;
      const isDone = candidate.timeMs < oldestMs || (await this.#make(sensor, candidate));
      if (isDone) known.unknown = known.unknown.filter((one) => one !== candidate);
    }
  }

  #isOver(sensor: BandSensor, { timeMs, sinceMs }: BandCandidate): boolean {
    const { clock, wait } = this.#parts;
    const of = { purpose: "bands", sensor: normalCode(sensor.code) } as const;
    return wait.isOver(of, timeMs, clock.monotonic() - sinceMs);
  }

  /** False while state or speed of the machine at that time are unknown. */
  async #make(sensor: BandSensor, candidate: BandCandidate): Promise<boolean> {
    const { site, wait } = this.#parts;
    const machine = site.current.machines?.find(({ id }) => id === sensor.location?.machine);
    if (machine === undefined) return true;
    const state = wait.stateAt(sensor.code, candidate.timeMs);
    if (state === "standing") return true;
    if (state === null && machine.running !== undefined) return false;
    let speed: SpeedAround | null = null;
    if (sensor.bands.hasSpeed) {
      speed = wait.speedAround(machine.id, candidate.timeMs);
      if (speed === null) return false;
      if (speed.rpm < SPEED_MIN_RPM) return true;
    }
    const record = storedRecord(this.#parts, sensor.code, candidate);
    if (record !== null) await this.#store(sensor, record, speed);
    return true;
  }

  async #store(sensor: BandSensor, record: BandRecord, speed: SpeedAround | null): Promise<void> {
    const { log, metrics, onStored, plans, zone } = this.#parts;
    const steps = bandReadingSteps(sensor, record, speed, plans);
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
    if (this.#commits.length >= COMMITS_MAX) await this.#settle();
  }
}
