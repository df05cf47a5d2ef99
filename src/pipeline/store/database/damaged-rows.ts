import { isEvent } from "../../../core/delivery/event-kind.ts";
import { parsedObject } from "../../../core/parsed-json.ts";
import type { StoredReading } from "../../../core/stored-reading.ts";

/** Rows remembered, so that each is reported once. */
const ROWS_MAX = 10_000;

const TEXTS = ["values", "quality", "attributes", "raw"] as const;
/** Of a column `r`: whether all four are JSON. SQLite tells it in a quarter of the time that parsing takes, as it makes no objects. */
export const ARE_JSON_SQL = TEXTS.map((name) => `json_valid(r."${name}")`).join(" AND ");
const isIntact = (text: string) => text === "{}" || parsedObject(text) !== null;
/** SQLite reads up to the first NUL. A damaged column may hold another type. */
const isWholeObject = (text: unknown) =>
  typeof text === "string" && text.startsWith("{") && !text.includes("\0");

export type DamageListener = (table: string, row: string | number) => void;

/**
 * Rows whose content cannot be read: SQLite has no checksums. They count as empty, and each is reported once, however
 * often it is read.
 */
export class DamagedRows {
  readonly #onDamaged: DamageListener;
  readonly #found = new Set<string>();

  constructor(onDamaged: DamageListener = () => {}) {
    this.#onDamaged = onDamaged;
  }

  /** @param row what tells it from others of its table */
  found(table: string, row: string | number): void {
    const key = `${table} ${row}`;
    if (this.#found.has(key) || this.#found.size >= ROWS_MAX) return;
    this.#found.add(key);
    this.#onDamaged(table, row);
  }

  /**
   * The reading with empty members for texts that cannot be read; an event as it is: whoever sends it skips it.
   * @param areJson by ARE_JSON_SQL; false where it was not asked
   */
  readable(reading: StoredReading, areJson = false, table = "readings"): StoredReading {
    if (areJson && TEXTS.every((name) => isWholeObject(reading[name]))) return reading;
    const damaged = TEXTS.filter((name) => !isIntact(reading[name]));
    if (damaged.length === 0) return reading;
    this.found(table, reading.seq);
    if (isEvent(reading)) return reading;
    return { ...reading, ...Object.fromEntries(damaged.map((name) => [name, "{}"])) };
  }
}
