import { openForReading } from "../database/connection.ts";
import type { Measurement } from "./measurement-file.ts";

/** Rows fetched at once: memory stays flat however much is exported. */
const PAGE_ROWS = 10_000;

export interface MeasurementRange {
  readonly fromMs: number;
  readonly toMs: number;
  readonly site: string | null;
  readonly sensor: string | null;
  readonly kind: string | null;
}

interface Row {
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

/** Measurements of the database in order of time, by a cursor. Rejects if it cannot be reached. */
export async function* readMeasurements(
  url: string,
  { fromMs, toMs, site, sensor, kind }: MeasurementRange,
): AsyncGenerator<Measurement> {
  const client = await openForReading(url, "gateside export");
  try {
    await client.query("BEGIN READ ONLY");
    await client.query(
      `DECLARE m NO SCROLL CURSOR FOR SELECT * FROM measurement
       WHERE time >= $1 AND time < $2 AND ($3::text IS NULL OR site = $3) AND ($4::text IS NULL OR sensor = $4) AND ($5::text IS NULL OR kind = $5)
       ORDER BY time, site, sensor, kind, id, value`,
      [new Date(fromMs), new Date(toMs), site, sensor, kind],
    );
    for (;;) {
      const { rows } = await client.query<Row>(`FETCH ${PAGE_ROWS} FROM m`);
      for (const row of rows) {
        const isTruth = row.text === "true" || row.text === "false";
        yield {
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
      if (rows.length < PAGE_ROWS) return;
    }
  } finally {
    await client.end().catch(() => {});
  }
}
