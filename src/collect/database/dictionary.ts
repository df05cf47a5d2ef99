import { createHash } from "node:crypto";
import type { ClientBase } from "pg";

/** Limit of entries in memory, and of their characters together; a fleet has a few hundred. */
const REMEMBERED_MAX = 50_000;
const REMEMBERED_LENGTH_MAX = 16 << 20;
/** A longer one stays in its reading: the units of 200 bands have 6,000 characters. */
const LENGTH_MAX = 16_384;
/** Limit of entries in the database. A box whose objects never repeat has them in its readings instead. */
const SETS_MAX = 200_000;

/** A table of the few distinct JSON objects (units, steady attributes) that readings refer to by number. */
export class Dictionary {
  readonly #table: "unit_set" | "attribute_set";
  readonly #column: string;
  readonly #numbers = new Map<string, number | null>();
  /** Characters of all of them. */
  #length = 0;

  constructor(table: "unit_set" | "attribute_set") {
    this.#table = table;
    this.#column = table === "unit_set" ? "units" : "attributes";
  }

  /** The number of a JSON text that `learn` has processed; null if the reading must contain it itself. */
  number(text: string): number | null {
    return this.#numbers.get(text) ?? null;
  }

  /** Looks up, and adds, unknown ones. In its own small transaction: repeating it changes nothing. */
  async learn(client: ClientBase, texts: ReadonlySet<string>): Promise<void> {
    const unknown = [...texts].filter(
      (text) => text.length <= LENGTH_MAX && !this.#numbers.has(text),
    );
    if (unknown.length === 0) return;
    if (this.#numbers.size > REMEMBERED_MAX || this.#length > REMEMBERED_LENGTH_MAX) {
      this.#numbers.clear();
      this.#length = 0;
      return this.learn(client, texts);
    }
    const hashes = unknown.map((text) => createHash("md5").update(text).digest("hex"));
    const select = `SELECT hash, ${this.#table} AS number FROM ${this.#table} WHERE hash = ANY($1::uuid[])`;
    const found = new Map<string, number>();
    const look = async () => {
      const { rows } = await client.query<{ hash: string; number: number }>(select, [hashes]);
      for (const row of rows) found.set(row.hash.replaceAll("-", ""), row.number);
    };
    await look();
    if (found.size < new Set(hashes).size) {
      await client.query(
        `INSERT INTO ${this.#table} (hash, ${this.#column})
         SELECT hash, content FROM unnest($1::uuid[], $2::jsonb[]) t(hash, content)
         WHERE NOT EXISTS (SELECT FROM ${this.#table} d WHERE d.hash = t.hash)
           AND (SELECT coalesce(max(${this.#table}), 0) FROM ${this.#table}) < ${SETS_MAX}
         ON CONFLICT DO NOTHING`,
        [hashes, unknown],
      );
      await look();
    }
    unknown.forEach((text, at) => {
      this.#numbers.set(text, found.get(hashes[at] ?? "") ?? null);
      this.#length += text.length;
    });
  }
}
