import type { ClientBase } from "pg";
import { topicLevel } from "../../core/topics/topic-level.ts";
import type { Received } from "../parse/item.ts";

interface NamedBox {
  readonly site: string;
  readonly sensor?: string;
}

/**
 * The names behind the levels of a topic: states contain none, and a level has `_` where a name has `/` or a similar
 * character. A name is known once a reading has contained it.
 */
export class Names {
  readonly #sites: ReadonlyMap<string, string>;
  readonly #sensors: ReadonlyMap<string, string>;

  private constructor(sites: ReadonlyMap<string, string>, sensors: ReadonlyMap<string, string>) {
    this.#sites = sites;
    this.#sensors = sensors;
  }

  /** Of these items; within the transaction that writes them. */
  static async of(client: ClientBase, items: readonly Received<NamedBox>[]): Promise<Names> {
    const sites = new Map<string, string>();
    const sensors = new Map<string, string>();
    const names = new Names(sites, sensors);
    if (items.length === 0) return names;
    const levels = [...new Set(items.map(({ item }) => item.site))];
    const boxes = await client.query<{ level: string; site: string }>(
      `SELECT gateside_level(site) AS level, min(site) AS site FROM box
       WHERE gateside_level(site) = ANY($1::text[]) AND gateside_level(site) <> site
         AND NOT EXISTS (SELECT FROM stream s WHERE s.site = gateside_level(box.site))
       GROUP BY 1`,
      [levels],
    );
    for (const { level, site } of boxes.rows) sites.set(level, site);
    const ofSensors = items.filter(({ item }) => item.sensor !== undefined);
    if (ofSensors.length === 0) return names;
    const { rows } = await client.query<{ site: string; level: string; sensor: string }>(
      `SELECT n.site, t.level, min(n.sensor) AS sensor FROM unnest($1::text[], $2::text[]) t(site, level)
       JOIN sensor n ON n.site = t.site AND gateside_level(n.sensor) = t.level AND gateside_level(n.sensor) <> n.sensor
       WHERE NOT EXISTS (SELECT FROM stream s WHERE s.site = t.site AND s.sensor = t.level)
       GROUP BY 1, 2`,
      [
        ofSensors.map(({ item }) => names.#site(item.site)),
        ofSensors.map(({ item }) => item.sensor),
      ],
    );
    for (const { site, level, sensor } of rows) sensors.set(`${site}\0${level}`, sensor);
    return names;
  }

  #site(level: string): string {
    return this.#sites.get(level) ?? level;
  }

  /** The items under their names. */
  named<T extends NamedBox>(items: readonly Received<T>[]): readonly Received<T>[] {
    return items.map((received) => {
      const { item } = received;
      const site = this.#site(item.site);
      if (item.sensor === undefined) return { ...received, item: { ...item, site } };
      const sensor = this.#sensors.get(`${site}\0${item.sensor}`) ?? item.sensor;
      return { ...received, item: { ...item, site, sensor } };
    });
  }
}

/** Called when names are written: rows stored under their topic levels move to them. */
export async function joinNames(
  client: ClientBase,
  named: readonly Required<NamedBox>[],
): Promise<void> {
  const odd = named.filter(
    ({ site, sensor }) => topicLevel(site) !== site || topicLevel(sensor) !== sensor,
  );
  if (odd.length === 0) return;
  await client.query("SELECT gateside_join_names($1::text[], $2::text[])", [
    odd.map(({ site }) => site),
    odd.map(({ sensor }) => sensor),
  ]);
}
