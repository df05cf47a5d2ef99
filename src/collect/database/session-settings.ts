import type { Client } from "pg";
import { ConnectionFailure } from "./failure.ts";

/** The tables are elsewhere, or cannot be made here; waiting would not help. */
export class DatabaseUnfit extends ConnectionFailure {
  readonly code = "database_unfit";
}

/** What server, database or role may have set otherwise; texts, numbers and times would read differently, or statements end. */
const SETTINGS = {
  datestyle: "ISO, MDY",
  intervalstyle: "postgres",
  timezone: "UTC",
  array_nulls: "on",
  bytea_output: "hex",
  extra_float_digits: "1",
  standard_conforming_strings: "on",
  quote_all_identifiers: "off",
  transform_null_equals: "off",
  default_transaction_isolation: "read committed",
  default_transaction_deferrable: "off",
  statement_timeout: "0",
  lock_timeout: "0",
  idle_in_transaction_session_timeout: "0",
  idle_session_timeout: "0",
  client_min_messages: "warning",
  // With a table for each week, a plan has thousands of expressions: compiling them took 115 of 120 s.
  jit: "off",
} as const;

const SET = Object.entries(SETTINGS)
  .map(([name, value]) => `SET ${name} = ${name === "datestyle" ? value : `'${value}'`}`)
  .join("; ");

/** By address: the schema of this process's first connection. */
const SCHEMAS = new Map<string, string>();

/** Sets the session to what this program relies on. `address`: of the database; `asked`: COLLECT_SCHEMA. */
export async function prepareSession(
  client: Client,
  address: string,
  asked: string | null,
): Promise<void> {
  await client.query(SET);
  const schema = asked ?? SCHEMAS.get(address) ?? (await firstSchema(client));
  const { rows } = await client.query<{ is_there: boolean; has_ours: boolean; others: string[] }>(
    `SELECT to_regnamespace(quote_ident($1)) IS NOT NULL AS is_there,
       to_regclass(quote_ident($1) || '.gateside_schema') IS NOT NULL AS has_ours,
       ARRAY(SELECT n.nspname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE c.relname = 'gateside_schema' AND c.relkind = 'r' AND c.relpersistence = 'p' AND n.nspname <> $1
           AND has_schema_privilege(n.oid, 'USAGE') ORDER BY 1) AS others`,
    [schema],
  );
  const [found] = rows;
  if (found?.is_there !== true)
    throw new DatabaseUnfit(`there is no schema ${schema}: create it, or correct COLLECT_SCHEMA`);
  if (!found.has_ours && asked === null && found.others.length > 0)
    throw new DatabaseUnfit(
      `the schema ${schema}, which this role finds first, has no tables of Gateside, and ${found.others.join(", ")} has them: set COLLECT_SCHEMA to the one that is meant`,
    );
  await client.query("SELECT set_config('search_path', quote_ident($1), false)", [schema]);
  SCHEMAS.set(address, schema);
}

async function firstSchema(client: Client): Promise<string> {
  const { rows } = await client.query<{ here: string | null }>("SELECT current_schema() AS here");
  const here = rows[0]?.here ?? null;
  if (here !== null) return here;
  throw new DatabaseUnfit(
    "the search_path of this role names no schema that exists: set COLLECT_SCHEMA, or correct it",
  );
}

const ENCODINGS = ["UTF8", "SQL_ASCII"];

/** The encoding of the database where it cannot hold every text; null where it can. */
export async function poorEncoding(client: Pick<Client, "query">): Promise<string | null> {
  const { rows } = await client.query<{ encoding: string }>(
    "SELECT current_setting('server_encoding') AS encoding",
  );
  const encoding = rows[0]?.encoding ?? "UTF8";
  return ENCODINGS.includes(encoding) ? null : encoding;
}
