/** Hourly values against every reading that was seen stored. */
import type Sqlite from "better-sqlite3";
import type { Kind } from "../../src/core/sensor.ts";
import type { ReadOnlyStore } from "../../src/pipeline/store/read-only-store.ts";

interface SeenRow {
  readonly sensor: string;
  readonly kind: Kind;
  readonly hour: number;
  readonly id: string;
}

const HOUR_MS = 3_600_000;
const SEEN_SQL = `SELECT s.sensor, s.kind, r.hour, lower(hex(r.id)) AS id FROM readings r JOIN streams s USING (stream)
  WHERE r.seq > ? AND r.is_future = 0 AND s.kind <> 'event'`;
const ROWS_SQL = "SELECT count(*) AS rows, max(seq) AS newest FROM readings WHERE seq > ?";
const DROPPED_SQL = "SELECT value FROM meta WHERE name = 'dropped'";

export class SeenHours {
  /** Ids by sensor and kind, then hour. */
  readonly #seen = new Map<string, Map<number, Set<string>>>();
  /** A full buffer gives up what is delivered: rows came and left between two looks. */
  hasUnseen = false;

  /** Those stored since `seq`. */
  note(db: Sqlite.Database, seq: number): void {
    const { rows = 0, newest } =
      db.prepare<[number], { rows: number; newest: number | null }>(ROWS_SQL).get(seq) ?? {};
    if (rows < (newest ?? seq) - seq) this.hasUnseen = true;
    for (const { sensor, kind, hour, id } of db.prepare<[number], SeenRow>(SEEN_SQL).all(seq)) {
      const stream = `${sensor} ${kind}`;
      const hours = this.#seen.get(stream) ?? new Map<number, Set<string>>();
      this.#seen.set(stream, hours);
      const ids = hours.get(hour) ?? new Set();
      hours.set(hour, ids.add(id));
    }
  }

  /** Of the stream whose turn it is. What a full buffer refused, or gave up between two looks, was counted unseen. */
  wrong(db: Sqlite.Database, { hours }: ReadOnlyStore, turn: number): string[] {
    const streams = [...this.#seen.keys()].sort();
    const stream = streams[turn % Math.max(1, streams.length)];
    if (stream === undefined) return [];
    const [sensor = "", kind = ""] = stream.split(" ");
    const text = db.prepare<[], string>(DROPPED_SQL).pluck().get() ?? "{}";
    const dropped = Object.keys(JSON.parse(text));
    const all = { fromMs: -1e15, toMs: 1e15, values: null, span: "hours" } as const;
    const counted = new Map(
      [...hours.points({ ...all, sensor, kind: kind as Kind })].map(({ startMs, readings }) => [
        startMs / HOUR_MS,
        readings,
      ]),
    );
    const seen = this.#seen.get(stream) ?? new Map<number, Set<string>>();
    return [...new Set([...counted.keys(), ...seen.keys()])].flatMap((hour) => {
      const [count, size] = [counted.get(hour) ?? 0, seen.get(hour)?.size ?? 0];
      if (count === size || (count > size && (dropped.length > 0 || this.hasUnseen))) return [];
      const at = new Date(hour * HOUR_MS).toISOString();
      return [`hour ${at} of ${stream} counts ${count} readings, ${size} were stored`];
    });
  }
}
