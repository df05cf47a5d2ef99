/** Which stored records have no bands yet, and may get some: what `BandMaker` measures. */

import { setImmediate as turn } from "node:timers/promises";
import { parsedObject } from "../../core/parsed-json.ts";
import { isRead, normalCode } from "../../core/sensor.ts";
import { dayEndMs, dayStartMs } from "../../core/time/time-zone.ts";
import { DAY_MS } from "../../core/time-units.ts";
import type {
  BandCandidate,
  BandMakerParts,
  BandSensor,
  Candidates,
  DayAgain,
} from "./band-maker-parts.ts";
import { DaysAgain } from "./days-again.ts";
import { HeldDefinitions } from "./held-definitions.ts";
import type { JudgedRecords } from "./judged-records.ts";
import { hadNoSamples } from "./stored-record.ts";

/** Records of one sensor that wait; beyond it the oldest are left without bands. */
export const CANDIDATES_MAX = 2_000;
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

type SearchParts = Pick<
  BandMakerParts,
  "clock" | "gatewayNow" | "history" | "logger" | "memory" | "samplesMs" | "site" | "zone"
>;

export class CandidateSearch {
  readonly #parts: SearchParts;
  readonly #definitions: HeldDefinitions;
  readonly #judged: JudgedRecords;
  readonly #again: DaysAgain;
  /** Those of them whose records are candidates. */
  readonly #searched = new Set<DayAgain>();
  /** By normalised code. */
  readonly #candidates = new Map<string, Candidates>();
  readonly #toSearch: Search[] = [];

  constructor(parts: SearchParts, judged: JudgedRecords) {
    this.#parts = parts;
    this.#judged = judged;
    this.#definitions = new HeldDefinitions(parts.memory);
    this.#again = new DaysAgain(parts.memory, parts.logger);
  }

  sensors(): BandSensor[] {
    return this.#parts.site.current.sensors.filter(
      (sensor): sensor is BandSensor => sensor.bands !== undefined && isRead(sensor),
    );
  }

  of(code: string): Candidates | undefined {
    return this.#candidates.get(normalCode(code));
  }

  /** Acceleration records of these times are durable, the last one included. */
  stored(sensor: string, fromMs: number, toMs: number): void {
    const code = normalCode(sensor);
    if (!this.sensors().some((one) => normalCode(one.code) === code)) return;
    this.#toSearch.push({ code, fromMs, toMs: toMs + 1 });
  }

  readAgain(days: readonly string[], code: string | null): void {
    this.#again.add(days, code);
  }

  /** Of every sensor, by the site file as it is now. */
  async all(): Promise<void> {
    this.#hold();
    this.#candidates.clear();
    this.#searched.clear();
    const { gatewayNow, samplesMs } = this.#parts;
    const toMs = gatewayNow() + AHEAD_MS;
    for (const sensor of this.sensors())
      await this.#search(sensor, gatewayNow() - samplesMs, toMs, null);
  }

  /** What has been stored since, and days that were read again. */
  async further(): Promise<void> {
    await this.#searchNew();
    await this.#searchAgain();
  }

  async #searchNew(): Promise<void> {
    for (let next = this.#toSearch[0]; next !== undefined; next = this.#toSearch[0]) {
      const { code, fromMs, toMs } = next;
      for (const sensor of this.sensors())
        if (normalCode(sensor.code) === code) await this.#search(sensor, fromMs, toMs, null);
      this.#toSearch.shift();
    }
  }

  /** Some days at a time: a backfill may ask for more records than can wait. */
  async #searchAgain(): Promise<void> {
    const { zone } = this.#parts;
    let asked = this.#askedFor().length;
    for (const again of this.#again.all) {
      if (asked >= AGAIN_MAX) return;
      if (this.#searched.has(again)) continue;
      const { code, day } = again;
      const [fromMs, toMs] = [dayStartMs(day, zone), dayEndMs(day, zone)];
      for (const sensor of this.sensors())
        if (code === null || normalCode(sensor.code) === code)
          asked += await this.#search(sensor, fromMs, toMs, again);
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

  /** What was made is durable: days of whose records none waits any more are done. */
  finishDays(): void {
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
    const changed = this.sensors().filter((sensor) => !this.#definitions.isHeld(sensor));
    this.#definitions.hold(changed, newest);
  }

  /** While the store cannot be written, nothing is stored that a later definition could miss. */
  holdOrLater(): void {
    try {
      this.#hold();
    } catch (err) {
      this.#parts.logger.warn({ err }, "bands could not be stored yet");
    }
  }

  /** @param again also records that were stored before any definition held @returns how many were found */
  async #search(
    sensor: BandSensor,
    fromMs: number,
    toMs: number,
    again: DayAgain | null,
  ): Promise<number> {
    const { clock, history } = this.#parts;
    const { code } = sensor;
    const held =
      again === null
        ? this.#definitions.of(sensor)
        : [{ sinceSeq: Number.NEGATIVE_INFINITY, bands: sensor.bands.bands }];
    const { site } = this.#parts;
    const judgedSeq =
      again === null ? this.#judged.upTo(site.current, sensor) : Number.NEGATIVE_INFINITY;
    const measured = new Set<unknown>();
    let found = 0;
    let rows = 0;
    const rest = async () => {
      rows += 1;
      if (rows % ROWS_PER_TURN === 0) await turn();
    };
    for (const { attributes } of history.range({ sensor: code, kind: "bands", fromMs, toMs })) {
      measured.add(parsedObject(attributes)?.["record_id"]);
      await rest();
    }
    for (const record of history.range({ sensor: code, kind: "accel", fromMs, toMs })) {
      const { id, seq, timeMs } = record;
      const definition = held.find(({ sinceSeq }) => seq > sinceSeq);
      const isMeasurable = record.waveforms.length > 0 || hadNoSamples(record);
      if (definition !== undefined && seq > judgedSeq && isMeasurable && !measured.has(id)) {
        const { bands } = definition;
        this.#add(sensor, { id, bands, again, timeMs, seq, sinceMs: clock.monotonic() });
        found += 1;
      }
      await rest();
    }
    return found;
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
}
