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
import { canonicalJson } from "../core/identity.ts";
import type { SpeedAround } from "../core/machine-state/wait.ts";
import type { Reading, Value } from "../core/reading.ts";
import { isRead, normalCode } from "../core/sensor.ts";
import { worstZone, type Zone } from "../core/signal/severity.ts";
import type { Site } from "../core/site.ts";
import { storedQuality, storedValues } from "../core/stored-reading.ts";
import { DAY_MS } from "../core/time-units.ts";
import { dayEndMs, dayOf, dayStartMs } from "../core/time-zone.ts";
import type { BandCandidate, BandMakerParts, BandSensor, Candidates } from "./band-maker-parts.ts";

const CHECK_MS = 5_000;
const UNKNOWN_LOOK_MS = 60_000;
/** Records of one sensor that wait; beyond it the oldest are left without bands. */
const CANDIDATES_MAX = 2_000;
const ROWS_PER_TURN = 100;
const AHEAD_MS = DAY_MS;

export class BandMaker {
  readonly #parts: BandMakerParts;
  /** By normalised code. */
  readonly #candidates = new Map<string, Candidates>();
  #readAgain: { readonly days: readonly string[]; readonly code: string | null }[] = [];
  #unknownAtMs = Number.NEGATIVE_INFINITY;
  #hasFailed = false;

  constructor(parts: BandMakerParts) {
    this.#parts = parts;
  }

  /** A reading is durable. */
  stored({ sensor, kind, id, timeMs, waveform }: Reading): void {
    if (kind !== "accel" || waveform === null) return;
    const known = this.#sensors().find(({ code }) => normalCode(code) === normalCode(sensor));
    if (known !== undefined) this.#add(known, id, timeMs);
  }

  /** Days were read again: their records that have no bands get them, whenever they were stored. @param code null: all */
  readAgain(days: readonly string[], code: string | null): void {
    this.#readAgain.push({ days, code });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, site } = this.#parts;
    let seen: Site | null = null;
    while (!signal.aborted) {
      try {
        if (seen !== site.current) {
          seen = site.current;
          await this.#searchAll();
        }
        await this.#searchReadAgain();
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
    const { gatewayNow, memory, samplesMs, site } = this.#parts;
    const toMs = gatewayNow() + AHEAD_MS;
    for (const { code, bands } of site.current.sensors) {
      const name = `bands/${normalCode(code)}`;
      if (bands === undefined && (memory.get(name) ?? "") !== "") memory.set(name, "");
    }
    for (const sensor of this.#sensors()) {
      const fromMs = gatewayNow() - samplesMs;
      await this.#search(sensor, fromMs, toMs, await this.#sinceSeq(sensor, fromMs, toMs));
    }
  }

  async #searchReadAgain(): Promise<void> {
    for (let again = this.#readAgain[0]; again !== undefined; again = this.#readAgain[0]) {
      const { days, code } = again;
      const { zone } = this.#parts;
      for (const sensor of this.#sensors()) {
        if (code !== null && normalCode(sensor.code) !== normalCode(code)) continue;
        for (const day of days)
          await this.#search(sensor, dayStartMs(day, zone), dayEndMs(day, zone), 0);
      }
      this.#readAgain.shift();
    }
  }

  /** The newest record that was stored before the definition held. */
  async #sinceSeq({ code, bands }: BandSensor, fromMs: number, toMs: number): Promise<number> {
    const { history, memory } = this.#parts;
    const name = `bands/${normalCode(code)}`;
    const definition = canonicalJson(bands.bands as never);
    const [since = "", held] = (memory.get(name) ?? "").split("\n");
    if (held === definition) return Number(since);
    let newest = 0;
    let rows = 0;
    for (const { seq } of history.range({ sensor: code, kind: "accel", fromMs, toMs })) {
      newest = Math.max(newest, seq);
      rows += 1;
      if (rows % ROWS_PER_TURN === 0) await turn();
    }
    memory.set(name, `${newest}\n${definition}`);
    return newest;
  }

  async #search(sensor: BandSensor, fromMs: number, toMs: number, since: number): Promise<void> {
    const { history } = this.#parts;
    const { code } = sensor;
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
    const record = this.#recordOf(sensor, candidate);
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
      const { stored } = await writer.commit({ checkpoint: null, records: 1 });
      metrics.readings.inc({ kind: "bands" }, stored);
    } catch (error) {
      writer.discard();
      throw error;
    }
    onStored(reading);
  }

  /** Null once its samples are gone, or if it has bands. */
  #recordOf({ code }: BandSensor, { id, timeMs }: BandCandidate): BandRecord | null {
    const { history, waveforms } = this.#parts;
    const at = { sensor: code, fromMs: timeMs, toMs: timeMs + 1 };
    const record = [...history.range({ ...at, kind: "accel" })].find((one) => one.id === id);
    const others = [...history.range({ ...at, kind: "bands" })];
    const hasBands = others.some(({ attributes }) => JSON.parse(attributes).record_id === id);
    if (record === undefined || hasBands) return null;
    const stored = record.waveforms.map(({ fileId }) => waveforms.read(fileId));
    const [first] = stored;
    if (first === undefined || first === null) return null;
    const values = storedValues(record);
    const quality = storedQuality(record);
    const channels = [1, 2, 3].filter((channel) => `channel${channel}_accel_rms` in values);
    return {
      id,
      timeMs,
      offsetMinutes: record.offsetMinutes,
      sampleRateHz: first.sampleRateHz,
      calibration: first.calibration,
      zone: worstZone(channels.map((channel) => zoneIn(values[`channel${channel}_zone`]))),
      channels: channels.map((channel) => ({
        channel,
        samples: stored.find((one) => one?.channel === channel)?.samples ?? null,
        doubt: quality[`channel${channel}_accel_rms`] ?? { quality: "bad", reason: "missing" },
      })),
    };
  }
}

function zoneIn(value: Value | undefined): Zone | null {
  return value === "A" || value === "B" || value === "C" || value === "D" ? value : null;
}
