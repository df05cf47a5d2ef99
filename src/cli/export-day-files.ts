import { createHash } from "node:crypto";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ParquetRow, SiteDay } from "../collect/main.ts";
import { loadCollectBundle } from "./collect-bundle.ts";

/** How many were written, and what was not. */
interface DayFiles {
  readonly written: number;
  readonly failures: readonly { readonly site: string; readonly error: unknown }[];
}

/**
 * A Parquet file for each site and UTC day: `SITE/2026-11-23.parquet`. Each is written whole or not at all, in place of an
 * older one; a day without measurements writes none, so files outlive what the database keeps. A
 * site that fails is left out, with its other days tried.
 */
export async function writeDayFiles(
  days: AsyncIterable<SiteDay>,
  directory: string,
  signal: AbortSignal,
): Promise<DayFiles> {
  let written = 0;
  const failures = new Map<string, unknown>();
  for await (const day of days) {
    try {
      if (await writeDay(day, join(directory, folderOf(day.site)), signal)) written += 1;
    } catch (error) {
      if (!failures.has(day.site)) failures.set(day.site, error);
    }
    if (signal.aborted) break;
  }
  return { written, failures: [...failures].map(([site, error]) => ({ site, error })) };
}

/** False if there is nothing to write, or it was interrupted. */
async function writeDay(
  { dayMs, rows }: SiteDay,
  folder: string,
  signal: AbortSignal,
): Promise<boolean> {
  let row: IteratorResult<ParquetRow> = await rows.next();
  if (row.done === true) return false;
  const { MeasurementFile } = await loadCollectBundle();
  await mkdir(folder, { recursive: true });
  const name = join(folder, `${new Date(dayMs).toISOString().slice(0, 10)}.parquet`);
  const partial = `${name}.${process.pid}.partial`;
  const out = await open(partial, "w");
  try {
    const file = new MeasurementFile();
    while (row.done !== true) {
      const bytes = await file.add(row.value);
      if (bytes !== null) await out.writeFile(bytes);
      if (signal.aborted) return false;
      row = await rows.next();
    }
    await out.writeFile(await file.finish());
    await out.sync();
    await rename(partial, name);
    return true;
  } finally {
    await out.close();
    await rm(partial, { force: true });
  }
}

/** A folder's name may have 255 bytes. */
const FOLDER_MAX = 200;

/** Sites may contain any character; two never share a folder. */
function folderOf(site: string): string {
  const name = encodeURIComponent(site).replace(/^\.+$/, (dots) => "%2E".repeat(dots.length));
  if (name.length <= FOLDER_MAX) return name;
  const mark = createHash("sha256").update(site).digest("hex").slice(0, 32);
  return `${name.slice(0, FOLDER_MAX)}~${mark}`;
}
