import { publicDatabase } from "../../core/addresses/database-url.ts";
import { messageOf } from "../../core/thrown.ts";
import { openForReading } from "../database/connection.ts";
import { unreachedText } from "../unreached.ts";

/** A row of `machine_now`; times as ISO 8601. */
export interface FleetMachine {
  readonly site: string;
  readonly machine: number;
  readonly name: string | null;
  readonly area: string | null;
  readonly condition: string;
  readonly last_condition: string;
  readonly reason: string | null;
  readonly since: string | null;
  readonly acknowledged: boolean;
  readonly heard: string | null;
}

export interface FleetMachines {
  /** The worst. */
  readonly machines: readonly FleetMachine[];
  readonly total: number;
  /** Of all: in alarm, and not acknowledged. */
  readonly unacknowledged: number;
}

/** The machines of every box in the database. Rejects if it cannot be reached or has older tables. */
export async function readMachines(url: string, worst: number): Promise<FleetMachines> {
  const client = await openForReading(url, "gateside fleet").catch((cause: unknown) => {
    const text = unreachedText(cause, "the database");
    throw text === messageOf(cause)
      ? cause
      : new Error(`${publicDatabase(url)}: ${text}`, { cause });
  });
  try {
    const { rows } = await client.query<{ row: FleetMachine; total: string; open: string }>(
      `WITH all_now AS (SELECT *, count(*) OVER () AS total, count(*) FILTER (WHERE condition = 'alarm' AND NOT acknowledged) OVER () AS open FROM machine_now)
       SELECT to_jsonb(a) - 'total' - 'open' AS row, total, open FROM all_now a ORDER BY rank LIMIT $1`,
      [worst],
    );
    return {
      machines: rows.map(({ row }) => row),
      total: Number(rows[0]?.total ?? 0),
      unacknowledged: Number(rows[0]?.open ?? 0),
    };
  } finally {
    await client.end();
  }
}
