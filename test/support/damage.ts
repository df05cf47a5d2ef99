import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import Sqlite from "better-sqlite3";

const INTERIOR_PAGES = new Set([2, 5]);

/** Overwrites one page of a table or an index in a database file: a leaf in the middle of it. */
export function spoilPage(file: string, name: string): void {
  const db = new Sqlite(file);
  const row = db
    .prepare<[string], { rootpage: number }>("SELECT rootpage FROM sqlite_master WHERE name = ?")
    .get(name);
  db.close();
  const bytes = readFileSync(file);
  const pageBytes = bytes.readUInt16BE(16);
  let page = row?.rootpage ?? 0;
  const at = () => (page - 1) * pageBytes;
  while (INTERIOR_PAGES.has(bytes[at()] ?? 0)) {
    const middle = Math.floor(bytes.readUInt16BE(at() + 3) / 2);
    page = bytes.readUInt32BE(at() + bytes.readUInt16BE(at() + 12 + 2 * middle));
  }
  // In place: a full disk has no space to write the file again.
  const descriptor = openSync(file, "r+");
  writeSync(descriptor, Buffer.alloc(pageBytes, 0xa5), 0, pageBytes, at());
  closeSync(descriptor);
}
