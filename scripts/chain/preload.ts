/**
 * Readings that a fleet has stored earlier: one of each stream by the collector's own writer, the rest generated from these inside PostgreSQL, one
 * per stream and step back in time, in the order in which they would have arrived.
 */
import { Writer } from "../../src/collect/database/writer.ts";
import { parseMessage } from "../../src/collect/parse/parse-message.ts";
import { DEFAULT_TOPIC, SiteTopics } from "../../src/collect/site-topics.ts";
import { READING_TABLES, type ReadingTable, readingColumns } from "../../src/collect/tables.ts";
import { deliveryOf } from "../../test/support/collecting.ts";
import { ask } from "./processes.ts";
import type { ThinBox } from "./thin-boxes.ts";

const BATCH = 5000;
const WEEK_MS = 7 * 86_400_000;

export interface PreloadOptions {
  readonly boxes: readonly ThinBox[];
  /** Sensors and kinds of a box. */
  readonly streams: number;
  /** Between two readings of a stream, ms. */
  readonly stepMs: number;
  /** The newest reading is this old, ms since 1970. */
  readonly untilMs: number;
}

/** Grows with each call; the newest stays where it is. */
export class Preload {
  readonly #url: string;
  readonly #options: PreloadOptions;
  #steps = 0;
  #stored = 0;

  constructor(url: string, options: PreloadOptions) {
    this.#url = url;
    this.#options = options;
  }

  /** Fills up to at least this many readings; returns how many there are. `withoutIndex` drops the unique index in the meantime. */
  async upTo(readings: number, withoutIndex = false): Promise<number> {
    if (readings <= this.#stored) return this.#stored;
    if (this.#stored === 0) await this.#newest();
    const { boxes, streams, stepMs, untilMs } = this.#options;
    const steps = Math.ceil(readings / (boxes.length * streams)) - 1;
    for (let ms = untilMs - steps * stepMs; ms < untilMs + WEEK_MS; ms += WEEK_MS)
      await ask(
        this.#url,
        `SELECT gateside_make_partitions('${new Date(Math.min(ms, untilMs)).toISOString()}')`,
      );
    for (const entry of READING_TABLES) {
      const { table } = entry;
      const key = `${table}_stream_time_id_key`;
      if (withoutIndex) await ask(this.#url, `ALTER TABLE ${table} DROP CONSTRAINT ${key}`);
      await ask(this.#url, this.#older(entry, this.#steps + 1, steps));
      if (withoutIndex)
        await ask(
          this.#url,
          `SET maintenance_work_mem = '1GB'; ALTER TABLE ${table} ADD CONSTRAINT ${key} UNIQUE (stream, time, id)`,
        );
      await ask(this.#url, `VACUUM ANALYZE ${table}`);
    }
    this.#steps = steps;
    this.#stored = (steps + 1) * boxes.length * streams;
    return this.#stored;
  }

  async #newest(): Promise<void> {
    const { boxes, streams, untilMs } = this.#options;
    const writer = new Writer(this.#url);
    const options = { topics: new SiteTopics("gateside", DEFAULT_TOPIC), keepDays: null };
    let entries: Parameters<Writer["write"]>[0][number][] = [];
    try {
      for (const box of boxes) {
        for (let n = 0; n < streams; n++) {
          const { message } = box.next(untilMs);
          const delivery = deliveryOf(message.topic, message.payload);
          entries.push({ delivery, item: parseMessage(delivery, options) });
        }
        if (entries.length < BATCH && box !== boxes.at(-1)) continue;
        const { readings } = await writer.write(entries);
        if (readings !== entries.length)
          throw new Error(`${readings} of ${entries.length} written`);
        entries = [];
      }
    } finally {
      await writer.close();
    }
    await ask(this.#url, "VACUUM ANALYZE stream");
  }

  /** The newest of every stream again, a number of steps earlier, with values that vary by a tenth. */
  #older(entry: ReadingTable, first: number, last: number): string {
    const { stepMs, untilMs } = this.#options;
    const doubles = new Set(
      entry.values.filter(({ type }) => type === "double precision").map(({ name }) => name),
    );
    const columns = readingColumns(entry);
    const values = columns.map((name) => {
      if (name === "time") return `b.time - n * interval '${stepMs} ms'`;
      if (name === "id") return "gen_random_uuid()";
      return doubles.has(name) ? `b.${name} * w.wave` : `b.${name}`;
    });
    return `INSERT INTO ${entry.table} (${columns.join(", ")})
      SELECT ${values.join(", ")} FROM generate_series(${last}, ${first}, -1) n
      CROSS JOIN (SELECT * FROM ${entry.table} WHERE time = '${new Date(untilMs).toISOString()}' OFFSET 0) b
      CROSS JOIN LATERAL (SELECT 1 + 0.1 * sin(n / 97.0 + b.stream) AS wave OFFSET 0) w`;
  }
}
