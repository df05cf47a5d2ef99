import type { ClientBase } from "pg";
import type {
  AboutItem,
  BoxStateItem,
  BoxStatsItem,
  ReadingItem,
  SensorStateItem,
} from "../parse/item.ts";
import { isObject, parseInstant } from "../parse/members.ts";
import { writing } from "./failure.ts";
import { joinNames } from "./names.ts";
import { RecentMap } from "./recent-map.ts";
import type { NumberedRow } from "./write-readings.ts";

/** An item with its time of arrival, for items without a time of their own. */
export interface Received<T> {
  readonly item: T;
  readonly receivedMs: number;
}

/** A will was written at its CONNECT, so its time is slightly before that session's `online`. */
const WILL_BEFORE = "interval '60 seconds'";

const text = (value: unknown): string | null =>
  typeof value === "string" ? value.slice(0, 512) : null;
const instant = (value: unknown): Date | null => {
  const ms = parseInstant(value);
  return ms === null ? null : new Date(ms);
};

/**
 * `agent/state`, in the order of its own times: two collectors may receive two states in either order. The exception is
 * the will, which the broker publishes later than its time; it counts unless a newer session has begun.
 */
export async function writeBoxStates(
  client: ClientBase,
  states: readonly Received<BoxStateItem>[],
): Promise<void> {
  for (const { item, receivedMs } of states) {
    const { body, site } = item;
    const insert = client.query({
      name: "box-state",
      text: `INSERT INTO box AS b (site, state, state_time, reason, version, configuration, agent_state, state_received, received)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)
       ON CONFLICT (site) DO UPDATE SET state = excluded.state, state_time = excluded.state_time, reason = excluded.reason,
         version = coalesce(excluded.version, b.version), configuration = coalesce(excluded.configuration, b.configuration),
         agent_state = excluded.agent_state, state_received = excluded.state_received, received = greatest(b.received, excluded.received)
       WHERE b.state_time IS NULL OR excluded.state_time >= b.state_time
         OR (excluded.state = 'offline' AND excluded.state_time >= b.state_time - ${WILL_BEFORE} AND b.state = 'online'
             AND excluded.state_received >= b.state_received)
         OR (excluded.state IS NULL AND excluded.state_received >= b.state_received)`,
      values: [
        site,
        body === null ? null : text(body["state"]),
        body === null ? null : (instant(body["time"]) ?? new Date(receivedMs)),
        body === null ? "cleared" : text(body["reason"]),
        body === null ? null : text(body["version"]),
        body === null ? null : text(body["configuration"]),
        body === null ? null : JSON.stringify(body),
        new Date(receivedMs),
      ],
    });
    await writing([item], insert);
  }
}

/** `agent/stats`: the newest of each site by its own time. */
export async function writeBoxStats(
  client: ClientBase,
  stats: readonly Received<BoxStatsItem>[],
): Promise<void> {
  const newest = lastOf(stats, ({ site }) => site);
  if (newest.length === 0) return;
  const insert = client.query(
    `INSERT INTO box AS b (site, stats_time, stats, version, configuration, received)
     SELECT * FROM unnest($1::text[], $2::timestamptz[], $3::jsonb[], $4::text[], $5::text[], $6::timestamptz[])
     ON CONFLICT (site) DO UPDATE SET stats_time = excluded.stats_time, stats = excluded.stats,
       version = coalesce(excluded.version, b.version), configuration = coalesce(excluded.configuration, b.configuration),
       received = greatest(b.received, excluded.received)
     WHERE b.stats_time IS NULL OR excluded.stats_time >= b.stats_time`,
    [
      newest.map(({ item }) => item.site),
      newest.map(({ item }) => instant(item.body?.["time"])),
      newest.map(({ item }) => (item.body === null ? null : JSON.stringify(item.body))),
      newest.map(({ item }) => text(item.body?.["version"])),
      newest.map(({ item }) => text(item.body?.["configuration"])),
      newest.map(({ receivedMs }) => new Date(receivedMs)),
    ],
  );
  await writing(itemsOf(newest), insert);
}

/** `{code}/state`: the last to arrive. */
export async function writeSensorStates(
  client: ClientBase,
  states: readonly Received<SensorStateItem>[],
): Promise<void> {
  const newest = lastOf(states, ({ site, sensor }) => `${site}\0${sensor}`);
  if (newest.length === 0) return;
  const insert = client.query(
    `INSERT INTO sensor AS s (site, sensor, state, last_reading, battery, sensor_state, state_received, received)
     SELECT *, received FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::float8[], $6::jsonb[], $7::timestamptz[])
       t(site, sensor, state, last_reading, battery, sensor_state, received)
     ON CONFLICT (site, sensor) DO UPDATE SET state = excluded.state, last_reading = coalesce(excluded.last_reading, s.last_reading),
       battery = coalesce(excluded.battery, s.battery), sensor_state = excluded.sensor_state, state_received = excluded.state_received,
       received = greatest(s.received, excluded.received)
     WHERE s.state_received IS NULL OR excluded.state_received >= s.state_received`,
    [
      newest.map(({ item }) => item.site),
      newest.map(({ item }) => item.sensor),
      newest.map(({ item }) => (item.body === null ? "removed" : text(item.body["state"]))),
      newest.map(({ item }) => instant(item.body?.["lastReading"])),
      newest.map(({ item }) =>
        typeof item.body?.["battery"] === "number" ? item.body["battery"] : null,
      ),
      newest.map(({ item }) => (item.body === null ? null : JSON.stringify(item.body))),
      newest.map(({ receivedMs }) => new Date(receivedMs)),
    ],
  );
  await writing(itemsOf(newest), insert);
}

/** `{code}/about`: names, place and channels. */
export async function writeAbouts(
  client: ClientBase,
  abouts: readonly Received<AboutItem>[],
): Promise<void> {
  const newest = lastOf(abouts, ({ site, sensor }) => `${site}\0${sensor}`);
  if (newest.length === 0) return;
  const insert = client.query(
    `INSERT INTO sensor AS s (site, sensor, name, location, about, received)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::jsonb[], $5::jsonb[], $6::timestamptz[])
     ON CONFLICT (site, sensor) DO UPDATE SET name = coalesce(excluded.name, s.name), location = coalesce(excluded.location, s.location),
       about = excluded.about, received = greatest(s.received, excluded.received)`,
    [
      newest.map(({ item }) => item.site),
      newest.map(({ item }) => item.sensor),
      newest.map(({ item }) => text(item.body?.["name"])),
      newest.map(({ item }) =>
        item.body?.["location"] ? JSON.stringify(item.body["location"]) : null,
      ),
      newest.map(({ item }) => (item.body === null ? null : JSON.stringify(item.body))),
      newest.map(({ receivedMs }) => new Date(receivedMs)),
    ],
  );
  await writing(itemsOf(newest), insert);
}

/** Limit of entries in memory. */
const REMEMBERED_MAX = 200_000;

interface Described {
  readonly stream: number;
  readonly item: ReadingItem;
}

/** Without creating texts of both, which every reading would pay for. Null if there is no location. */
function isSameLocation(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (!isObject(a) || !isObject(b)) return false;
  for (const name in a) if (a[name] !== b[name]) return jsonOf(a) === jsonOf(b);
  return Object.keys(a).length === Object.keys(b).length;
}

const jsonOf = (location: unknown) => (location === null ? null : JSON.stringify(location));

/** Name and location of sensors from their readings, written if they differ from the last ones. */
export class Descriptions {
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

  remember(rows: readonly Described[]): void {
    for (const { stream, item } of rows)
      this.#known.set(stream, {
        name: item.name,
        location: item.location,
        timeMs: item.timeMs,
      });
  }
}

function itemsOf<T>(received: readonly Received<T>[]): T[] {
  return received.map(({ item }) => item);
}

/** The last of each key, in order of the keys: rows are locked in one order everywhere. */
function lastOf<T>(items: readonly Received<T>[], keyOf: (item: T) => string): Received<T>[] {
  const last = new Map<string, Received<T>>();
  for (const received of items) last.set(keyOf(received.item), received);
  return [...last.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, received]) => received);
}
