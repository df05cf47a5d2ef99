import type { ClientBase } from "pg";
import {
  type AboutItem,
  type BoxStateItem,
  type BoxStatsItem,
  type Received,
  type SensorStateItem,
} from "../parse/item.ts";
import { instantOf } from "../parse/members.ts";
import { writing } from "./failure.ts";
import { compare } from "./order.ts";

/** A will was written at its CONNECT, so its time is slightly before that session's `online`. */
const WILL_BEFORE = "interval '60 seconds'";

const text = (value: unknown): string | null =>
  typeof value === "string" ? value.slice(0, 512) : null;

/**
 * `agent/state`, in the order of its own times, but none is later than its arrival: a clock that was ahead would keep
 * every later state out. Two collectors may receive two states in either order. The exception is the will, which the
 * broker publishes later than its time; it counts unless a newer session has begun. A cleared message creates no row.
 */
export async function writeBoxStates(
  client: ClientBase,
  states: readonly Received<BoxStateItem>[],
): Promise<void> {
  // Those of a box in the order of their arrival, boxes in one order everywhere: no two collectors wait for each other.
  const sorted = [...states].sort((a, b) => compare(a.item.site, b.item.site));
  for (const { item, receivedMs } of sorted) {
    const { body, site } = item;
    const received = new Date(receivedMs);
    const query =
      body === null
        ? {
            name: "box-state-cleared",
            text: `UPDATE box SET state = NULL, state_time = NULL, reason = 'cleared', agent_state = NULL, state_received = $2, received = greatest(received, $2)
       WHERE site = $1 AND (state_received IS NULL OR state_received > now() OR $2 >= state_received)`,
            values: [site, received],
          }
        : {
            name: "box-state",
            text: `INSERT INTO box AS b (site, state, state_time, reason, version, configuration, agent_state, state_received, received)
       VALUES ($1, $2, least($3::timestamptz, $8), $4, $5, $6, $7, $8, $8)
       ON CONFLICT (site) DO UPDATE SET state = excluded.state, state_time = excluded.state_time, reason = excluded.reason,
         version = coalesce(excluded.version, b.version), configuration = coalesce(excluded.configuration, b.configuration),
         agent_state = excluded.agent_state, state_received = excluded.state_received, received = greatest(b.received, excluded.received)
       WHERE b.state_time IS NULL OR least(b.state_time, b.state_received) > now() OR excluded.state_time >= least(b.state_time, b.state_received)
         OR (excluded.state = 'offline' AND excluded.state_time >= b.state_time - ${WILL_BEFORE} AND b.state = 'online'
             AND excluded.state_received >= b.state_received)`,
            values: [
              site,
              text(body["state"]),
              instantOf(body["time"]) ?? received,
              text(body["reason"]),
              text(body["version"]),
              text(body["configuration"]),
              JSON.stringify(body),
              received,
            ],
          };
    await writing([item], client.query(query));
  }
}

/**
 * `agent/stats`: the newest of each site by its own time, which is none later than its arrival. Retained ones that are
 * delivered again are not news.
 */
export async function writeBoxStats(
  client: ClientBase,
  stats: readonly Received<BoxStatsItem>[],
): Promise<void> {
  const sentMs = ({ item: { body }, receivedMs }: Received<BoxStatsItem>) =>
    Math.min(instantOf(body?.["time"])?.getTime() ?? receivedMs, receivedMs);
  const inOrder = stats.toSorted((a, b) => sentMs(a) - sentMs(b));
  const { written: newest } = lastOf(inOrder, ({ site }) => site);
  if (newest.length === 0) return;
  const insert = client.query(
    `INSERT INTO box AS b (site, stats_time, stats, version, configuration, stats_received, received)
     SELECT site, least(time, received), stats, version, configuration, received, received
     FROM unnest($1::text[], $2::timestamptz[], $3::jsonb[], $4::text[], $5::text[], $6::timestamptz[])
       t(site, time, stats, version, configuration, received)
     ON CONFLICT (site) DO UPDATE SET stats_time = excluded.stats_time, stats = excluded.stats, stats_received = excluded.stats_received,
       version = coalesce(excluded.version, b.version), configuration = coalesce(excluded.configuration, b.configuration),
       received = greatest(b.received, excluded.received)
     WHERE b.stats_time IS NULL OR least(b.stats_time, b.stats_received) > now() OR (excluded.stats_time >= least(b.stats_time, b.stats_received) AND excluded.stats IS DISTINCT FROM b.stats)`,
    [
      newest.map(({ item }) => item.site),
      newest.map(({ item }) => instantOf(item.body["time"])),
      newest.map(({ item }) => JSON.stringify(item.body)),
      newest.map(({ item }) => text(item.body["version"])),
      newest.map(({ item }) => text(item.body["configuration"])),
      newest.map(({ receivedMs }) => new Date(receivedMs)),
    ],
  );
  await writing(itemsOf(newest), insert);
}

/** Two boxes publish as this site. */
export async function noteRuns(
  client: ClientBase,
  site: string,
  runs: readonly string[],
): Promise<void> {
  await client.query("UPDATE box SET runs = $2, runs_time = now() WHERE site = $1", [site, runs]);
}

/** `{code}/state`: the last to arrive; what claims to come from the future was dated by a collector of 0.3. A cleared one only says so in a row that is there. */
export async function writeSensorStates(
  client: ClientBase,
  states: readonly Received<SensorStateItem>[],
): Promise<void> {
  const { written, cleared } = lastOf(states, ({ site, sensor }) => `${site}\0${sensor}`);
  if (written.length > 0) {
    const insert = client.query(
      `INSERT INTO sensor AS s (site, sensor, state, last_reading, battery, sensor_state, state_received, received)
     SELECT *, received FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::float8[], $6::jsonb[], $7::timestamptz[])
       t(site, sensor, state, last_reading, battery, sensor_state, received)
     ON CONFLICT (site, sensor) DO UPDATE SET state = excluded.state, last_reading = coalesce(excluded.last_reading, s.last_reading),
       battery = coalesce(excluded.battery, s.battery), sensor_state = excluded.sensor_state, state_received = excluded.state_received,
       received = greatest(s.received, excluded.received)
     WHERE s.state_received IS NULL OR s.state_received > now() OR excluded.state_received >= s.state_received`,
      [
        written.map(({ item }) => item.site),
        written.map(({ item }) => item.sensor),
        written.map(({ item }) => text(item.body["state"])),
        written.map(({ item }) => instantOf(item.body["lastReading"])),
        written.map(({ item }) =>
          typeof item.body["battery"] === "number" ? item.body["battery"] : null,
        ),
        written.map(({ item }) => JSON.stringify(item.body)),
        written.map(({ receivedMs }) => new Date(receivedMs)),
      ],
    );
    await writing(itemsOf(written), insert);
  }
  await clear(
    client,
    cleared,
    `state = 'removed', sensor_state = NULL, state_received = c.received
     FROM unnest($1::text[], $2::text[], $3::timestamptz[]) c(site, sensor, received)
     WHERE (s.state_received IS NULL OR s.state_received > now() OR c.received >= s.state_received)`,
  );
}

/** `{code}/about`: names, place and channels. */
export async function writeAbouts(
  client: ClientBase,
  abouts: readonly Received<AboutItem>[],
): Promise<void> {
  const { written, cleared } = lastOf(abouts, ({ site, sensor }) => `${site}\0${sensor}`);
  if (written.length > 0) {
    const insert = client.query(
      `INSERT INTO sensor AS s (site, sensor, name, location, about, received)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::jsonb[], $5::jsonb[], $6::timestamptz[])
     ON CONFLICT (site, sensor) DO UPDATE SET name = excluded.name, location = excluded.location,
       about = excluded.about, received = greatest(s.received, excluded.received)`,
      [
        written.map(({ item }) => item.site),
        written.map(({ item }) => item.sensor),
        written.map(({ item }) => text(item.body["name"])),
        written.map(({ item }) =>
          item.body["location"] ? JSON.stringify(item.body["location"]) : null,
        ),
        written.map(({ item }) => JSON.stringify(item.body)),
        written.map(({ receivedMs }) => new Date(receivedMs)),
      ],
    );
    await writing(itemsOf(written), insert);
  }
  await clear(
    client,
    cleared,
    `about = NULL, received = greatest(s.received, c.received)
     FROM unnest($1::text[], $2::text[], $3::timestamptz[]) c(site, sensor, received) WHERE true`,
  );
}

/** @param change from SET to WHERE, of sensors s by rows c of site, sensor and received */
async function clear(
  client: ClientBase,
  cleared: readonly Received<SensorStateItem | AboutItem>[],
  change: string,
): Promise<void> {
  if (cleared.length === 0) return;
  const update = client.query(
    `UPDATE sensor s SET ${change} AND s.site = c.site AND s.sensor = c.sensor`,
    [
      cleared.map(({ item }) => item.site),
      cleared.map(({ item }) => item.sensor),
      cleared.map(({ receivedMs }) => new Date(receivedMs)),
    ],
  );
  await writing(itemsOf(cleared), update);
}

function itemsOf<T>(received: readonly Received<T>[]): T[] {
  return received.map(({ item }) => item);
}

type WithBody<T extends { body: unknown }> = T & { readonly body: NonNullable<T["body"]> };

/** The last of each key, in order of the keys: rows are locked in one order everywhere. */
function lastOf<T extends { body: unknown }>(
  items: readonly Received<T>[],
  keyOf: (item: T) => string,
): { written: Received<WithBody<T>>[]; cleared: Received<T>[] } {
  const last = new Map<string, Received<T>>();
  for (const received of items) last.set(keyOf(received.item), received);
  const sorted = [...last.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
  const hasBody = (one: Received<T>): one is Received<WithBody<T>> => one.item.body !== null;
  return { written: sorted.filter(hasBody), cleared: sorted.filter((one) => !hasBody(one)) };
}
