/** What the store answers, against a plain SELECT; and what the broker has retained, against the newest that was delivered. */
import type { Kind } from "../../src/core/sensor.ts";
import type { ReadOnlyStore } from "../../src/pipeline/store/read-only-store.ts";
import { PLANT_SITE } from "../chaos/events.ts";
import type { Broker } from "./broker.ts";
import { storePath, withStore } from "./with-store.ts";

interface Stream {
  readonly stream: number;
  readonly sensor: string;
  readonly kind: Kind;
}
interface Row {
  readonly id: string;
  readonly timeMs: number;
  readonly isFuture: number;
}

const STREAMS_SQL =
  "SELECT stream, sensor, kind FROM streams WHERE kind NOT IN ('event', 'node') ORDER BY stream";
const ROWS_SQL = `SELECT lower(hex(id)) AS id, time_ms AS timeMs, is_future AS isFuture FROM readings
  WHERE stream = ? ORDER BY time_ms, seq`;
const DELIVERED_SQL = `SELECT max(time_ms) FROM readings WHERE stream = ? AND is_future = 0
  AND seq NOT IN (SELECT seq FROM outbox WHERE stream = ?)`;
/** Before and after every reading. */
const ALL = { fromMs: Date.UTC(1999), toMs: Date.UTC(2120) };

/** One sensor and kind, chosen by `turn`: its range in both directions, its count, its newest. */
export function wrongAnswers(dataDir: string, { history }: ReadOnlyStore, turn: number): string[] {
  return withStore(storePath(dataDir), (db) => {
    const streams = db.prepare<[], Stream>(STREAMS_SQL).all();
    const one = streams[turn % Math.max(1, streams.length)];
    if (one === undefined) return [];
    const { sensor, kind } = one;
    const rows = db.prepare<[number], Row>(ROWS_SQL).all(one.stream);
    const query = { sensor, kind, ...ALL };
    const ids = (order: "asc" | "desc") =>
      [...history.range({ ...query, order })].map(({ id }) => id);
    const wanted = rows.map(({ id }) => id);
    const newest = rows.findLast(({ isFuture }) => isFuture === 0)?.id ?? null;
    const answers = [
      ["range", ids("asc").join(), wanted.join()],
      ["range, newest first", ids("desc").join(), wanted.toReversed().join()],
      ["count", String(history.count(query)), String(wanted.length)],
      ["latest", String(history.latest(sensor, kind)?.id ?? null), String(newest)],
    ] as const;
    return answers
      .filter(([, given, right]) => given !== right)
      .map(
        ([what, given, right]) =>
          `${what} of ${sensor} ${kind} is ${short(given)}, not ${short(right)}`,
      );
  });
}

const short = (text: string) =>
  text.length > 80 ? `${text.slice(0, 80)}… (${text.length})` : text;

/** Live topics on which the broker has an older reading than the newest that was delivered; of one stream if a turn is given. */
export function staleTopics(
  dataDir: string,
  { retained }: Pick<Broker, "retained">,
  turn: number | null = null,
): string[] {
  return withStore(storePath(dataDir), (db) => {
    const all = db.prepare<[], Stream>(STREAMS_SQL).all();
    return all
      .filter((_, i) => turn === null || i === turn % all.length)
      .flatMap(({ stream, sensor, kind }) => {
        const newestMs = db
          .prepare<[number, number], number | null>(DELIVERED_SQL)
          .pluck()
          .get(stream, stream);
        const topic = `gateside/${PLANT_SITE}/${sensor}/${kind}`;
        const payload = retained.get(topic)?.payload;
        // A sensor that left the site file for a while has none until its next reading.
        if (payload === undefined || typeof newestMs !== "number") return [];
        const { time }: { time: string } = JSON.parse(payload.toString());
        if (Date.parse(time) >= newestMs) return [];
        return [`${topic} retains ${time}, but ${new Date(newestMs).toISOString()} was delivered`];
      });
  });
}
