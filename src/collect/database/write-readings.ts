import type { ClientBase } from "pg";
import { grouped } from "../../core/lists/grouped.ts";
import { HOUR_MS } from "../../core/time-units.ts";
import { copyJson, copyText, copyTime } from "../parse/copy-text.ts";
import { READING_TABLES, type ReadingTable, readingColumns } from "../tables.ts";
import { copyIn } from "./connection.ts";
import { writing } from "./failure.ts";
import { compare } from "./order.ts";
import { copyReading, type ReadingRow, type RowNumbers } from "./reading-rows.ts";

/** Temporary tables that a batch is copied to first: COPY itself has no ON CONFLICT. */
export async function createStages(client: ClientBase): Promise<void> {
  const stages = READING_TABLES.map(
    ({ table }) => `CREATE TEMP TABLE stage_${table} (LIKE ${table}) ON COMMIT DELETE ROWS;`,
  );
  await client.query(
    `${stages.join("")} CREATE TEMP TABLE stage_latest (LIKE latest_reading) ON COMMIT DELETE ROWS;`,
  );
}

export interface NumberedRow {
  readonly row: ReadingRow;
  readonly numbers: RowNumbers;
}

/**
 * Writes readings within the running transaction; returns how many were new. Of two of one identity the first stays.
 * @param nowMs by the clock that is ahead, this machine's or the server's
 */
export async function writeReadings(
  client: ClientBase,
  rows: readonly NumberedRow[],
  nowMs: number,
): Promise<number> {
  // Tables and rows in one order everywhere: two collectors with the same readings wait for each other without a
  // deadlock.
  const sorted = [...rows].sort(inOrder);
  const byTable = grouped(sorted, ({ row }) => row.table);
  let stored = 0;
  for (const table of READING_TABLES) {
    const list = byTable.get(table);
    if (list !== undefined) stored += await writeTable(client, table, list);
  }
  const present = sorted.filter((row) => !isFromFuture(row, nowMs));
  await writeLatest(client, present);
  return stored;
}

function inOrder(a: NumberedRow, b: NumberedRow): number {
  return (
    a.numbers.stream - b.numbers.stream ||
    a.row.item.timeMs - b.row.item.timeMs ||
    compare(a.row.item.id, b.row.item.id)
  );
}

async function writeTable(
  client: ClientBase,
  entry: ReadingTable,
  rows: readonly NumberedRow[],
): Promise<number> {
  const columns = readingColumns(entry).join(", ");
  let lines = "";
  for (const { row, numbers } of rows) lines += copyReading(row, numbers);
  const stage = `stage_${entry.table}`;
  const items = rows.map(({ row }) => row.item);
  await writing(items, copyIn(client, `COPY ${stage} (${columns}) FROM STDIN`, lines));
  const { rowCount } = await writing(
    items,
    client.query(
      `INSERT INTO ${entry.table} (${columns}) SELECT ${columns} FROM ${stage} ON CONFLICT DO NOTHING`,
    ),
  );
  return rowCount ?? 0;
}

/** A box's own day may be ahead of ours by its zone and some drift, ms. */
const AHEAD_MS = 26 * HOUR_MS;

/** Readings dated in the future would stay the newest for long; the agent flags them, unless the clock of its gateway is ahead, too. */
function isFromFuture({ row }: NumberedRow, nowMs: number): boolean {
  const { flags } = row.item.attributes;
  const isFlagged = Array.isArray(flags) && flags.includes("time_in_future");
  return isFlagged || row.item.timeMs > nowMs + AHEAD_MS;
}

/** `rows` are in order, so the newest of a stream is the last of its run; of one identity the first was stored. */
async function writeLatest(client: ClientBase, rows: readonly NumberedRow[]): Promise<void> {
  let lines = "";
  let newest: NumberedRow | null = null;
  for (const row of rows) {
    if (newest !== null && inOrder(newest, row) === 0) continue;
    if (newest !== null && newest.numbers.stream !== row.numbers.stream)
      lines += copyLatest(newest);
    newest = row;
  }
  if (newest === null) return;
  lines += copyLatest(newest);
  await copyIn(
    client,
    `COPY stage_latest (stream, time, id, "values", units, quality) FROM STDIN`,
    lines,
  );
  await client.query(
    `INSERT INTO latest_reading AS l SELECT * FROM stage_latest ORDER BY stream
     ON CONFLICT (stream) DO UPDATE
     SET time = excluded.time, id = excluded.id, "values" = excluded."values", units = excluded.units, quality = excluded.quality
     WHERE (l.time, l.id) < (excluded.time, excluded.id)`,
  );
}

function copyLatest({ row, numbers }: NumberedRow): string {
  const { timeMs, id, values, quality } = row.item;
  return `${numbers.stream}\t${copyTime(timeMs)}\t${id}\t${copyText(JSON.stringify(values))}\t${copyText(row.unitsText)}\t${copyJson(quality)}\n`;
}
