import type { ClientBase } from "pg";
import { DAY_MS } from "../../core/time-units.ts";
import { openForReading } from "../database/connection.ts";
import type { ParquetRow } from "./measurement-file.ts";

/** Rows fetched at once: memory stays flat however much is exported. */
const PAGE_ROWS = 10_000;

export interface WaveformRange {
  readonly fromMs: number;
  readonly toMs: number;
  readonly site: string | null;
  readonly sensor: string | null;
  readonly kind: string | null;
}

interface SampleRow {
  readonly time: Date;
  readonly site: string;
  readonly sensor: string;
  readonly kind: string;
  readonly value: string;
  readonly number: number | null;
  readonly text: string | null;
  readonly unit: string | null;
  readonly quality: string;
  readonly reason: string | null;
  readonly id: string;
}

/**
 * Measurements of the database in order of time. Rejects if it cannot be reached. Day by day, so that the server sorts a
 * day at most, and holds up nothing for longer.
 */
export async function* readMeasurements(
  url: string,
  { fromMs, toMs, ...which }: WaveformRange,
): AsyncGenerator<ParquetRow> {
  const client = await openForReading(url, "gateside export");
  try {
    for (let at = fromMs; at < toMs; ) {
      const next = Math.min(toMs, (Math.floor(at / DAY_MS) + 1) * DAY_MS);
      yield* readDay(client, { ...which, fromMs: at, toMs: next });
      at = next;
    }
  } finally {
    await client.end().catch(() => {});
  }
}

/** False if nothing of such a site was ever stored. */
export async function knowsSite(url: string, site: string): Promise<boolean> {
  const client = await openForReading(url, "gateside export");
  try {
    const { rows } = await client.query("SELECT FROM stream WHERE site = $1 LIMIT 1", [site]);
    return rows.length > 0;
  } finally {
    await client.end().catch(() => {});
  }
}

/** The same of at most a day, by a cursor. */
async function* readDay(
  client: ClientBase,
  { fromMs, toMs, site, sensor, kind }: WaveformRange,
): AsyncGenerator<ParquetRow> {
  await client.query("BEGIN READ ONLY");
  await client.query(
    `DECLARE m NO SCROLL CURSOR FOR SELECT * FROM measurement
     WHERE time >= $1 AND time < $2 AND ($3::text IS NULL OR site = $3) AND ($4::text IS NULL OR sensor = $4) AND ($5::text IS NULL OR kind = $5)
     ORDER BY time, site, sensor, kind, id, value`,
    [new Date(fromMs), new Date(toMs), site, sensor, kind],
  );
  let page: readonly SampleRow[];
  do {
    page = (await client.query<SampleRow>(`FETCH ${PAGE_ROWS} FROM m`)).rows;
    yield* page.map(measurementOf);
  } while (page.length === PAGE_ROWS);
  await client.query("COMMIT");
}

function measurementOf(row: SampleRow): ParquetRow {
  const isTruth = row.text === "true" || row.text === "false";
  return {
    timeMs: row.time.getTime(),
    site: row.site,
    sensor: row.sensor,
    kind: row.kind,
    name: row.value,
    // A zone is exported as it was sent, by its letter.
    value: isTruth && row.number !== null ? row.text === "true" : (row.text ?? row.number),
    unit: row.unit,
    quality: row.quality,
    reason: row.reason,
    id: row.id,
  };
}

/** The measurements of a site on a UTC day. */
export interface SiteDay {
  readonly site: string;
  readonly dayMs: number;
  readonly rows: AsyncGenerator<ParquetRow>;
}

/** Every site and whole UTC day that the range touches; the rows of one are to be read, or returned, before the next. */
export async function* readSiteDays(
  url: string,
  { fromMs, toMs, ...which }: WaveformRange,
): AsyncGenerator<SiteDay> {
  const client = await openForReading(url, "gateside export");
  try {
    const { rows } = await client.query<{ site: string }>(
      "SELECT DISTINCT site FROM stream WHERE $1::text IS NULL OR site = $1 ORDER BY site",
      [which.site],
    );
    for (let dayMs = Math.floor(fromMs / DAY_MS) * DAY_MS; dayMs < toMs; dayMs += DAY_MS)
      for (const { site } of rows) {
        const range = { ...which, site, fromMs: dayMs, toMs: dayMs + DAY_MS };
        yield { site, dayMs, rows: readDay(client, range) };
        // What was not read to its end leaves its transaction.
        await client.query("ROLLBACK");
      }
  } finally {
    await client.end().catch(() => {});
  }
}
