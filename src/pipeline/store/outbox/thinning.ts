/**
 * Leaves out readings for uplinks that want fewer (`onChange`, `everyS`). What went last and what is held until its
 * period is over is on disk, in the transaction of the readings themselves: nothing of it is in memory.
 *
 * Readings that come late (a backfill, a first start, which reads today first) have their own track, or each would
 * look like a change of the newest one.
 */

import { type Judged, periodOf } from "../../../core/delivery/thinning.ts";
import { parsedObject } from "../../../core/parsed-json.ts";
import type { Kind } from "../../../core/sensor.ts";
import { storedQuality, storedValues } from "../../../core/stored-reading.ts";
import type { Database } from "../database/database.ts";
import type { Meta } from "../database/meta.ts";
import type { Streams } from "../database/streams.ts";
import type { LaneUplink } from "./lane-uplink.ts";
import type { Place } from "./stream-queue.ts";
import { type PendingRow, ThinnedRows } from "./thinned-rows.ts";
import {
  keysOf,
  NO_STATE,
  type State,
  stateOf,
  type Track,
  type TrackName,
  withSeq,
} from "./thinning-state.ts";

/** What goes to an uplink, and how many readings never will. */
export interface Selected {
  readonly going: readonly PendingRow[];
  readonly leftOut: number;
}

/** With which an alarm was raised or cleared. */
export interface CausingReading {
  readonly sensor: string;
  readonly kind: Kind;
  readonly timeMs: number;
  readonly id: string;
}

const NOTHING: Selected = { going: [], leftOut: 0 };
const STATES_SQL = "SELECT name, value FROM meta WHERE name >= ? AND name < ?";

export class Thinning {
  readonly #db: Database;
  readonly #meta: Pick<Meta, "get" | "put">;
  readonly #streams: Streams;
  readonly #rows: ThinnedRows;
  /** What went last while stored readings are queued for an uplink, newest first: by lane and stream. */
  readonly #filled = new Map<string, Judged>();
  /** Whether anything is held for an uplink that has no `everyS`; looked up once. */
  readonly #leftovers = new Map<string, boolean>();

  constructor(parts: { db: Database; meta: Pick<Meta, "get" | "put">; streams: Streams }) {
    this.#db = parts.db;
    this.#meta = parts.meta;
    this.#streams = parts.streams;
    this.#rows = new ThinnedRows(parts.db, parts.streams);
  }

  /** Inside the transaction that stores the reading: what goes now, and how many never will. */
  take(uplink: LaneUplink, row: PendingRow): Selected {
    const state = this.#load(uplink, row.stream);
    const name = trackOf(state, row, uplink.everyS);
    if (uplink.everyS === null) return this.#judge(uplink, state, name, row);
    const { held } = state[name];
    const hold = { seq: row.seq, timeMs: row.timeMs };
    const isSame =
      held !== null && periodOf(held.timeMs, uplink.everyS) === periodOf(row.timeMs, uplink.everyS);
    const isNewer = held === null || row.timeMs >= held.timeMs || !isSame;
    const next = { ...state, [name]: { ...state[name], held: isNewer ? hold : held } };
    if (held === null || isSame) {
      this.#save(uplink, row.stream, next);
      return { going: [], leftOut: isSame ? 1 : 0 };
    }
    return this.#release(uplink, row.stream, next, name, held.seq);
  }

  /** A reading that raises or clears an alarm: nothing if it went already, or is not stored; one less left out if it was. */
  always(uplink: LaneUplink, { sensor, kind, timeMs, id }: CausingReading): Selected {
    const stream = this.#streams.find(sensor, kind);
    const row = stream && this.#rows.withId(stream.stream, timeMs, id);
    if (!row) return NOTHING;
    const state = this.#load(uplink, row.stream);
    const name = trackOf(state, row, uplink.everyS);
    if (state.went.includes(row.seq) || state.filled.includes(row.seq)) return NOTHING;
    const { last, held } = state[name];
    const wasHeld = held?.seq === row.seq;
    const isAfter = last === null || timeMs > last.timeMs;
    this.#save(uplink, row.stream, {
      ...state,
      went: withSeq(state.went, row.seq),
      [name]: {
        last: isAfter ? uplink.after(last, judged(row)) : last,
        held: wasHeld ? null : held,
      },
    });
    return { going: [row], leftOut: wasHeld ? 0 : -1 };
  }

  /** Whether it goes once its period is over: until then no lane has a row of it. */
  isHeld(uplink: LaneUplink, { stream, seq }: Place): boolean {
    if (uplink.everyS === null && !this.#hasLeftovers(uplink.name)) return false;
    const { newest, late } = this.#load(uplink, stream);
    return newest.held?.seq === seq || late.held?.seq === seq;
  }

  /** Inside the transaction that gives the reading up. Returns whether it was held. */
  drop(uplink: LaneUplink, place: Place): boolean {
    if (!this.isHeld(uplink, place)) return false;
    const without = (track: Track) =>
      track.held?.seq === place.seq ? { ...track, held: null } : track;
    const state = this.#load(uplink, place.stream);
    this.#save(uplink, place.stream, {
      ...state,
      newest: without(state.newest),
      late: without(state.late),
    });
    return true;
  }

  /**
   * Inside a transaction: what was held, and whose period ended an interval ago; all of it for an uplink that holds
   * nothing any more.
   * @param nowMs null while the time is not known
   */
  due(uplink: LaneUplink, nowMs: number | null): Selected {
    const all: PendingRow[] = [];
    let left = 0;
    for (const { stream, name, seq } of this.#dueOf(uplink, nowMs)) {
      const state = this.#load(uplink, stream);
      const cleared = { ...state, [name]: { ...state[name], held: null } };
      const { going, leftOut } = this.#release(uplink, stream, cleared, name, seq);
      all.push(...going);
      left += leftOut;
    }
    return { going: all, leftOut: left };
  }

  hasDue(uplink: LaneUplink, nowMs: number | null): boolean {
    return this.#dueOf(uplink, nowMs).length > 0;
  }

  /** A reading stored before the lane was added; they come newest first. */
  isFilled(lane: number, uplink: LaneUplink, row: PendingRow): boolean {
    if (uplink.everyS !== null && !this.#rows.isNewestOfPeriod(row, uplink.everyS)) return false;
    const key = `${lane}:${row.stream}`;
    const last = this.#filled.get(key) ?? null;
    const reading = judged(row);
    const state = this.#load(uplink, row.stream);
    // An alarm has sent it already.
    if (state.went.includes(row.seq)) return false;
    // From here back to the last one, as far as time goes.
    const back = last && { ...last, timeMs: 2 * row.timeMs - last.timeMs };
    if (!uplink.isChanged(back, reading)) return false;
    this.#filled.set(key, uplink.after(last, reading));
    const filled = withSeq(state.filled, row.seq);
    if (filled.includes(row.seq)) this.#save(uplink, row.stream, { ...state, filled });
    return true;
  }

  /** Uplinks have changed, or what is held for them. */
  follow(): void {
    this.#leftovers.clear();
  }

  #hasLeftovers(uplink: string): boolean {
    let hasSome = this.#leftovers.get(uplink);
    if (hasSome === undefined) {
      hasSome = this.#db
        .write<{ name: string; value: string }>(STATES_SQL)
        .all(...keysOf(uplink))
        .some(({ value }) => {
          const { newest, late } = stateOf(value);
          return newest.held !== null || late.held !== null;
        });
      this.#leftovers.set(uplink, hasSome);
    }
    return hasSome;
  }

  #dueOf(uplink: LaneUplink, nowMs: number | null) {
    const { everyS } = uplink;
    if (everyS === null ? !this.#hasLeftovers(uplink.name) : nowMs === null) return [];
    const [from, to] = keysOf(uplink.name);
    return this.#db
      .write<{ name: string; value: string }>(STATES_SQL)
      .all(from, to)
      .flatMap(({ name: key, value }) => {
        const stream = Number(key.slice(from.length));
        const state = stateOf(value);
        return (["late", "newest"] as const).flatMap((name) => {
          const { held } = state[name];
          if (held === null) return [];
          const one = { stream, name, seq: held.seq };
          if (everyS === null || nowMs === null) return [one];
          const endMs = (periodOf(held.timeMs, everyS) + 1) * everyS * 1000;
          const isDue =
            nowMs >= endMs && nowMs >= endMs + this.#rows.intervalMs(stream, held.timeMs);
          return isDue ? [one] : [];
        });
      });
  }

  #release(uplink: LaneUplink, stream: number, to: State, name: TrackName, seq: number): Selected {
    const row = this.#rows.get(seq);
    // Its period may have been sent before, with a newer one. One that is gone must not be looked for again.
    if (!row || (name === "late" && !this.#rows.isNewestOfPeriod(row, uplink.everyS ?? 1))) {
      this.#save(uplink, stream, to);
      return { going: [], leftOut: 1 };
    }
    return this.#judge(uplink, to, name, row);
  }

  #judge(uplink: LaneUplink, state: State, name: TrackName, row: PendingRow): Selected {
    const { last } = state[name];
    const reading = judged(row);
    // Further back than the last late one: another run of late ones begins.
    const before = last !== null && last.timeMs > row.timeMs ? null : last;
    const goes = uplink.isChanged(before, reading);
    const after = goes ? uplink.after(before, reading) : last;
    const went = goes ? withSeq(state.went, row.seq) : state.went;
    this.#save(uplink, row.stream, { ...state, went, [name]: { ...state[name], last: after } });
    return goes ? { going: [row], leftOut: 0 } : { going: [], leftOut: 1 };
  }

  #load(uplink: LaneUplink, stream: number): State {
    const name = `${keysOf(uplink.name)[0]}${stream}`;
    const text = this.#meta.get(name);
    if (text === null) return NO_STATE;
    if (parsedObject(text) === null) this.#db.damaged.found("meta", name);
    return stateOf(text);
  }

  #save(uplink: LaneUplink, stream: number, state: State): void {
    this.#meta.put(`${keysOf(uplink.name)[0]}${stream}`, JSON.stringify(state));
  }
}

function trackOf({ newest }: State, { timeMs }: PendingRow, everyS: number | null): TrackName {
  const { held, last } = newest;
  if (everyS !== null && held !== null)
    return periodOf(timeMs, everyS) < periodOf(held.timeMs, everyS) ? "late" : "newest";
  return last !== null && timeMs < last.timeMs ? "late" : "newest";
}

/** Damaged texts count as empty: the publisher reports them. */
function judged({ timeMs, content }: PendingRow): Judged {
  try {
    return { timeMs, values: storedValues(content), quality: storedQuality(content) };
  } catch {
    return { timeMs, values: {}, quality: {} };
  }
}
