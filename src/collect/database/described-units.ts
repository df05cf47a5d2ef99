import type { ClientBase } from "pg";
import { isJsonObject } from "../../core/record.ts";
import type { AboutItem, ReadingItem } from "../parse/item.ts";

const keyOf = ({ site, sensor }: { readonly site: string; readonly sensor: string }) =>
  `${site}\0${sensor}`;

/**
 * Readings that carry no units get those of their sensor's description, of the batch or stored before; none while it
 * has none. Asked of the database each time: another collector may have stored a newer description.
 */
export async function withUnits(
  client: ClientBase,
  items: readonly ReadingItem[],
  abouts: readonly { readonly item: AboutItem }[],
): Promise<readonly ReadingItem[]> {
  const bare = new Map(
    items.filter(({ hasUnits }) => !hasUnits).map((item) => [keyOf(item), item]),
  );
  if (bare.size === 0) return items;
  const sensors = [...bare.values()];
  const { rows } = await client.query<{ site: string; sensor: string; units: unknown }>(
    `SELECT site, sensor, about->'units' AS units FROM sensor
     JOIN unnest($1::text[], $2::text[]) AS bare(site, sensor) USING (site, sensor)`,
    [sensors.map(({ site }) => site), sensors.map(({ sensor }) => sensor)],
  );
  const described = new Map(rows.map((row) => [keyOf(row), row.units]));
  for (const { item } of abouts)
    if (item.body !== null) described.set(keyOf(item), item.body["units"]);
  return items.map((item) =>
    item.hasUnits ? item : { ...item, units: unitsOf(item, described.get(keyOf(item))) },
  );
}

function unitsOf({ kind, values }: ReadingItem, described: unknown): ReadingItem["units"] {
  const ofKind = isJsonObject(described) ? described[kind] : null;
  if (!isJsonObject(ofKind)) return {};
  return Object.fromEntries(
    Object.entries(ofKind).filter(([name, unit]) => name in values && typeof unit === "string"),
  );
}
