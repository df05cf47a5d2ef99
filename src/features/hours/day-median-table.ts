import { parsedJson } from "../../core/parsed-json.ts";
import type { DayMedianStore, DayMedians, DayMediansOf } from "../../core/query/day-medians.ts";
import { isJsonObject } from "../../core/record.ts";
import type { Kind } from "../../core/sensor.ts";
import type { Database } from "../../pipeline/store/database/database.ts";
import type { Streams } from "../../pipeline/store/database/streams.ts";
import { oneStep } from "../../pipeline/store/database/write-job.ts";
import type { WriteQueue } from "../../pipeline/store/database/write-queue.ts";
import { indexOf, placeOf } from "./hour-rows.ts";

const ROWS_SQL = "SELECT place, body FROM day_medians WHERE place >= ? AND place < ?";

interface MediansRow {
  readonly place: number;
  readonly body: string;
}

/** Medians of days, a row for each sensor, kind and day. */
export class DayMedianTable implements DayMedianStore {
  readonly #db: Database;
  readonly #queue: WriteQueue;
  readonly #streams: Streams;
  changes = 0;

  constructor(db: Database, queue: WriteQueue, streams: Streams) {
    this.#db = db;
    this.#queue = queue;
    this.#streams = streams;
  }

  of(sensor: string, kind: Kind, fromDay: number, toDay: number): readonly DayMedians[] {
    const stream = this.#streams.find(sensor, kind)?.stream;
    if (stream === undefined) return [];
    const found: DayMedians[] = [];
    for (let day = fromDay; day < toDay; day += 1) {
      const place = placeOf(day, stream);
      const row = this.#db.read<MediansRow>(ROWS_SQL).get(place, place + 1);
      if (row === undefined) continue;
      const medians = mediansIn(parsedJson<Omit<DayMedians, "day">>(row.body));
      if (medians === null) this.#db.damaged.found("day_medians", row.place);
      found.push({ day: indexOf(row.place), ...(medians ?? { readings: 0, values: {} }) });
    }
    return found;
  }

  async put(rows: readonly DayMediansOf[]): Promise<void> {
    if (rows.length === 0) return;
    const db = this.#db;
    const streams = this.#streams;
    const changed = () => {
      this.changes += 1;
    };
    await this.#queue.enqueue(
      {
        what: "store the medians of days",
        rows: rows.length,
        *run(tx) {
          tx.onCommit(changed);
          for (const { sensor, kind, day, ...body } of rows) {
            const stream = streams.intern(sensor, kind);
            streams.write(stream);
            const place = placeOf(day, stream.stream);
            db.write("INSERT OR REPLACE INTO day_medians VALUES (?, ?)").run(
              place,
              JSON.stringify(body),
            );
            yield;
          }
        },
      },
      0,
    );
  }

  async dropBefore(day: number): Promise<void> {
    const old = this.#db.read(ROWS_SQL).get(Number.MIN_SAFE_INTEGER, placeOf(day, 0));
    if (old === undefined) return;
    const drop = () =>
      this.#db.write("DELETE FROM day_medians WHERE place < ?").run(placeOf(day, 0));
    await this.#queue.enqueue(oneStep("drop old medians", 1, drop), 0);
  }
}

/** Null where damage has changed its members: what is left is JSON, or none. */
function mediansIn(body: Omit<DayMedians, "day"> | null): Omit<DayMedians, "day"> | null {
  const isWhole = body !== null && typeof body.readings === "number" && isJsonObject(body.values);
  return isWhole ? body : null;
}
