import type { Client } from "pg";
import { publicDatabase } from "../../core/addresses/database-url.ts";
import type { CollectOptions } from "../../core/collect-options.ts";
import { isJsonObject } from "../../core/record.ts";
import { topicLevel } from "../../core/topics/topic-level.ts";
import { createTopics } from "../../core/topics/topics.ts";
import { brokerAddress } from "../broker-url.ts";
import { openConnection } from "../database/connection.ts";
import { withRetained } from "./retained.ts";

interface RetireOptions extends Pick<CollectOptions, "from" | "prefix" | "tls"> {
  readonly site: string;
  readonly db: string;
  /** Also a box that says it is online. */
  readonly isForced: boolean;
}

/** `topics`: how many the broker retained; null where it gives retained messages to exact names alone. */
type Retired =
  | { readonly result: "unknown" | "online" }
  | { readonly result: "retired"; readonly topics: number | null };

/** Messages without PUBACK: every broker accepts as many. */
const IN_FLIGHT = 10;

/**
 * Clears what the broker retains of a box, then deletes its rows in box and sensor; readings and hours stay. May be
 * repeated. Rejects if broker or database refuse; then rows are still there.
 */
export async function retireBox(options: RetireOptions): Promise<Retired> {
  const { site, from, prefix, tls, isForced } = options;
  const client = await openConnection(options.db, "gateside fleet retire");
  try {
    await requireWriter(client, options.db);
    const known = await knownOf(client, site);
    const topics = createTopics(prefix, site);
    let state = known.state;
    let found = new Set<string>();
    return await withRetained(
      { addresses: from.map(brokerAddress), tls },
      [`${topics.root}/#`, topics.agentState],
      () => {
        found = new Set();
        return (topic, payload, isRetained) => {
          if (!isRetained || payload.length === 0) return;
          found.add(topic);
          if (topic === topics.agentState) state ??= stateOf(payload);
        };
      },
      async ({ connection }): Promise<Retired> => {
        if (!known.isListed && found.size === 0) return { result: "unknown" };
        if (state === "online" && !isForced) return { result: "online" };
        // Some brokers give retained messages to exact names alone; there, the names follow from the database.
        const all = [...new Set([...found, ...(await topicsOf(client, prefix, site))])];
        const retained = found.size === 0 ? null : found.size;
        for (let at = 0; at < all.length; at += IN_FLIGHT)
          await Promise.all(
            all.slice(at, at + IN_FLIGHT).map((topic) => connection.clearRetained(topic)),
          );
        // A broker of MQTT 3.1.1 acknowledges what it refuses: what is retained is read again.
        found = new Set();
        for (let at = 0; at < all.length; at += IN_FLIGHT) {
          await connection.subscribe(all.slice(at, at + IN_FLIGHT));
          await connection.roundTrip();
        }
        const [kept] = found;
        if (kept !== undefined)
          throw new Error(
            `the broker still retains ${kept}${found.size === 1 ? "" : ` and ${found.size - 1} more topics`}: its user may not publish below ${topics.root}/`,
          );
        await deleteRows(client, site);
        return { result: "retired", topics: retained };
      },
    );
  } finally {
    await client.end();
  }
}

/** Before the broker is touched: rows that stay would list a box of which nothing is retained any more. */
async function requireWriter(client: Client, url: string): Promise<void> {
  const { rows } = await client.query<{ role: string; may: boolean }>(
    "SELECT current_user AS role, has_table_privilege('sensor', 'DELETE') AND has_table_privilege('box', 'DELETE') AS may",
  );
  const [found] = rows;
  if (found !== undefined && !found.may)
    throw new Error(
      `${publicDatabase(url)}: the role ${found.role} may not delete rows of sensor and box; use a member of gateside_writer, such as gateside_collect`,
    );
}

async function knownOf(client: Client, site: string) {
  const { rows } = await client.query<{ state: string | null }>(
    `SELECT state FROM box WHERE gateside_level(site) = $1
     UNION ALL SELECT NULL FROM sensor WHERE gateside_level(site) = $1`,
    [topicLevel(site)],
  );
  return {
    isListed: rows.length > 0,
    state: rows.find(({ state }) => state !== null)?.state ?? null,
  };
}

/** Every topic that may be retained, as far as the database knows the box. */
async function topicsOf(client: Client, prefix: string, site: string): Promise<string[]> {
  const topics = createTopics(prefix, site);
  const { rows } = await client.query<{ levels: readonly string[] }>(
    `SELECT ARRAY[sensor, leaf] AS levels FROM sensor, (VALUES ('state'), ('about')) l(leaf) WHERE gateside_level(site) = $1
     UNION SELECT ARRAY[sensor, kind] FROM stream WHERE gateside_level(site) = $1
     UNION SELECT ARRAY[sensor, kind, name] FROM stream JOIN latest_reading l USING (stream), jsonb_object_keys(l."values") name
       WHERE gateside_level(site) = $1
     UNION SELECT ARRAY['machine', machine::text] FROM machine WHERE gateside_level(site) = $1
     UNION SELECT ARRAY['machine', machine::text, leaf] FROM machine, (VALUES ('condition'), ('zone'), ('running'), ('stage')) l(leaf)
       WHERE gateside_level(site) = $1
     UNION SELECT ARRAY[sensor, 'alarm', alarm, value] FROM alarm_event
       WHERE gateside_level(site) = $1 AND sensor IS NOT NULL AND value IS NOT NULL`,
    [topicLevel(site)],
  );
  return [
    topics.agentState,
    topics.agentStats,
    ...rows.map(({ levels }) => [topics.root, ...levels.map(topicLevel)].join("/")),
  ];
}

async function deleteRows(client: Client, site: string): Promise<void> {
  try {
    await client.query("BEGIN");
    for (const table of ["sensor", "machine", "heard", "box"])
      await client.query(`DELETE FROM ${table} WHERE gateside_level(site) = $1`, [
        topicLevel(site),
      ]);
    // Collectors describe the box anew if it publishes again.
    await client.query("NOTIFY gateside_retired");
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => {});
    throw error;
  }
}

function stateOf(payload: Buffer): string | null {
  try {
    const body: unknown = JSON.parse(payload.toString());
    const state = isJsonObject(body) ? body["state"] : null;
    return typeof state === "string" ? state : null;
  } catch {
    return null;
  }
}
