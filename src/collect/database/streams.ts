import type { ClientBase } from "pg";
import { RecentMap } from "./recent-map.ts";

/** Limit of entries in memory, of 150 bytes each; half of them stay for certain: 5,000 boxes of 50 sensors have 285,000. */
const REMEMBERED_MAX = 700_000;
/** Limit of sensors and kinds of one site; a box that invents names must not fill the table. */
const STREAMS_PER_SITE_MAX = 20_000;

export interface SiteStream {
  readonly site: string;
  readonly sensor: string;
  readonly kind: string;
}

/** Site, sensor and kind as a small number. */
export class StreamNumbers {
  readonly #numbers: RecentMap<string, number>;

  constructor(rememberedMax = REMEMBERED_MAX) {
    this.#numbers = new RecentMap(rememberedMax);
  }

  /**
   * The numbers of these streams, in order; null if a site has too many. Adds missing ones, in a small transaction of
   * its own: repeating it changes nothing.
   */
  async numbersOf(
    client: ClientBase,
    streams: readonly SiteStream[],
  ): Promise<readonly (number | null)[]> {
    const numbers = new Map<string, number>();
    const unknown = new Map<string, SiteStream>();
    const names = streams.map(key);
    names.forEach((name, at) => {
      const number = this.#numbers.get(name);
      const stream = streams[at];
      if (number !== undefined) numbers.set(name, number);
      else if (stream !== undefined) unknown.set(name, stream);
    });
    if (unknown.size > 0) await this.#learn(client, unknown, numbers);
    return names.map((name) => numbers.get(name) ?? null);
  }

  async #learn(
    client: ClientBase,
    unknown: ReadonlyMap<string, SiteStream>,
    numbers: Map<string, number>,
  ): Promise<void> {
    // In one order everywhere, so that two collectors that add the same ones do not deadlock.
    const wanted = [...unknown.values()].sort((a, b) => (key(a) < key(b) ? -1 : 1));
    const columns = [
      wanted.map(({ site }) => site),
      wanted.map(({ sensor }) => sensor),
      wanted.map(({ kind }) => kind),
    ];
    const given = "unnest($1::text[], $2::text[], $3::text[]) t(site, sensor, kind)";
    const look = () => this.#look(client, given, columns, numbers);
    if ((await look()) === wanted.length) return;
    await client.query(
      `WITH sites AS (
         SELECT site, (SELECT count(*) FROM stream s WHERE s.site = g.site) AS streams
         FROM (SELECT DISTINCT site FROM unnest($1::text[]) u(site)) g
       )
       INSERT INTO stream (site, sensor, kind)
       SELECT t.site, t.sensor, t.kind FROM ${given} JOIN sites USING (site)
       WHERE sites.streams < ${STREAMS_PER_SITE_MAX}
         AND NOT EXISTS (SELECT FROM stream s WHERE (s.site, s.sensor, s.kind) = (t.site, t.sensor, t.kind))
       ON CONFLICT DO NOTHING`,
      columns,
    );
    await look();
  }

  /** How many are known. */
  async #look(
    client: ClientBase,
    given: string,
    columns: readonly string[][],
    numbers: Map<string, number>,
  ): Promise<number> {
    const { rows } = await client.query<SiteStream & { stream: number }>(
      `SELECT s.* FROM ${given} JOIN stream s USING (site, sensor, kind)`,
      [...columns],
    );
    for (const row of rows) {
      numbers.set(key(row), row.stream);
      this.#numbers.set(key(row), row.stream);
    }
    return rows.length;
  }
}

function key({ site, sensor, kind }: SiteStream): string {
  return `${site}\0${sensor}\0${kind}`;
}
