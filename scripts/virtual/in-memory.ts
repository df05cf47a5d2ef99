/** What the agent holds in memory against what its disk has. */
import type Sqlite from "better-sqlite3";
import type { AgentLife, Inside } from "./agent-life.ts";

/** In memory there may be fewer: what is settled and waits for its commit is no longer pending. */
const ROWS_SQL = `SELECT l.uplink AS uplink, l.format = 'sparkplug' AS isSparkplug, count(*) AS n
  FROM outbox o JOIN lanes l USING (lane) WHERE l.format IN ('json', 'plain', 'sparkplug') GROUP BY 1, 2`;
const IDENTITIES_SQL = `SELECT coalesce(sum(CASE WHEN time_ms = -1 THEN 16 + length(hash) ELSE 24 END), 0)
  FROM forgotten WHERE hour < 4000000000`;

interface Pending {
  readonly uplink: string;
  readonly isSparkplug: number;
  readonly n: number;
}

export function wrongInMemory(
  db: Sqlite.Database,
  inside: Inside,
  { disk }: Pick<AgentLife, "disk">,
): string[] {
  // A transaction that pauses has changed memory and not yet the disk.
  if (disk?.isWriting !== false || disk.fault !== null) return [];
  const rows = db.prepare<[], Pending>(ROWS_SQL).all();
  const pending = inside.status.links.flatMap(({ uplink, name, pending: inMemory }) => {
    const isOf = (row: Pending) =>
      row.uplink === uplink && (row.isSparkplug === 1) === (name === "sparkplug");
    const onDisk = rows.find(isOf)?.n ?? 0;
    return inMemory <= onDisk
      ? []
      : [`${uplink} has ${inMemory} pending, and ${onDisk} rows on disk`];
  });
  const bytes = Number(db.prepare(IDENTITIES_SQL).pluck().get());
  const isSame = inside.identitiesBytes === null || inside.identitiesBytes === bytes;
  return isSame
    ? pending
    : [...pending, `identities take ${inside.identitiesBytes} bytes in memory, ${bytes} on disk`];
}
