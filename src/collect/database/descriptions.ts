import type { ClientBase } from "pg";
import { isJsonObject } from "../../core/record.ts";
import type { ReadingItem } from "../parse/item.ts";
import { joinNames } from "./names.ts";
import { RecentMap } from "./recent-map.ts";
import type { NumberedRow } from "./write-readings.ts";

/** Limit of entries in memory. */
const REMEMBERED_MAX = 200_000;
/** A longer location, as JSON, is not remembered but written each time: four names of 512 characters have as many. */
const LOCATION_LENGTH_MAX = 2500;

interface Described {
  readonly stream: number;
  readonly item: ReadingItem;
}

/** Without creating texts of both, which every reading would pay for. Null if there is no location. */
function isSameLocation(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  for (const name in a) if (a[name] !== b[name]) return jsonOf(a) === jsonOf(b);
  return Object.keys(a).length === Object.keys(b).length;
}

const jsonOf = (location: unknown) => (location === null ? null : JSON.stringify(location));

/** Name and location of sensors from their readings, written if they differ from the last ones. */
export class StoredDescriptions {
  /** By stream. */
  readonly #known = new RecentMap<
    number,
    { name: string | null; location: unknown; timeMs: number }
  >(REMEMBERED_MAX);

  /** For `remember`, once the transaction is committed. */
  async write(
    client: ClientBase,
    readings: readonly NumberedRow[],
    received: Date,
  ): Promise<readonly Described[]> {
    const changed = new Map<string, Described>();
    for (const { row, numbers } of readings) {
      const { item } = row;
      const known = this.#known.get(numbers.stream);
      if (known !== undefined && known.timeMs >= item.timeMs) continue;
      if (
        known !== undefined &&
        known.name === item.name &&
        isSameLocation(known.location, item.location)
      )
        continue;
      const key = `${item.site}\0${item.sensor}`;
      const other = changed.get(key);
      if (other === undefined || other.item.timeMs < item.timeMs)
        changed.set(key, { stream: numbers.stream, item });
    }
    if (changed.size === 0) return [];
    const rows = [...changed.entries()]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, described]) => described);
    const items = rows.map(({ item }) => item);
    await client.query(
      `INSERT INTO sensor AS s (site, sensor, name, location, described, received)
       SELECT *, $6 FROM unnest($1::text[], $2::text[], $3::text[], $4::jsonb[], $5::timestamptz[])
       ON CONFLICT (site, sensor) DO UPDATE SET name = coalesce(excluded.name, s.name), location = coalesce(excluded.location, s.location),
         described = excluded.described, received = greatest(s.received, excluded.received)
       WHERE s.described IS NULL OR s.described < excluded.described`,
      [
        items.map(({ site }) => site),
        items.map(({ sensor }) => sensor),
        items.map(({ name }) => name),
        items.map(({ location }) => jsonOf(location)),
        items.map(({ timeMs }) => new Date(timeMs)),
        received,
      ],
    );
    const sites = [...new Set(items.map(({ site }) => site))].sort();
    await client.query(
      "INSERT INTO box (site, received) SELECT site, $2 FROM unnest($1::text[]) site ON CONFLICT DO NOTHING",
      [sites, received],
    );
    await joinNames(client, items);
    return rows;
  }

  forget(): void {
    this.#known.clear();
  }

  remember(rows: readonly Described[]): void {
    for (const { stream, item } of rows) {
      if ((jsonOf(item.location)?.length ?? 0) > LOCATION_LENGTH_MAX) continue;
      this.#known.set(stream, {
        name: item.name,
        location: item.location,
        timeMs: item.timeMs,
      });
    }
  }
}
