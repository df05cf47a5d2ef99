/** What others do to the chain: a box that uses its rights against the rest, messages of every malformed shape, and an owner's hand in the database. */
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { IClientOptions } from "mqtt";
import { Client } from "pg";
import { MALFORMED } from "../../test/support/malformed.ts";
import { dieWith, publishing, subscribing, tries } from "../../test/support/rights.ts";
import type { CabledBroker } from "./brokers.ts";
import type { CabledDatabase, Fault } from "./cabled-database.ts";
import { ask, type Kept } from "./processes.ts";

/** The site of the malformed messages; no box of the run has it. */
export const HARMFUL_SITE = "plant-7";
const WAIT_MS = 5000;

/** Faults of one prefix; `victims` are its sites. */
export function harmFaults(
  broker: CabledBroker,
  database: CabledDatabase,
  cell: { readonly prefix: string; readonly name: string },
  victims: readonly string[],
  collectors: readonly Kept[],
  random: () => number,
): Fault[] {
  const { prefix, name } = cell;
  const address = () => database.url(name);
  return [
    ["messages of every malformed shape", () => poison(broker, prefix)],
    [
      "a box with its rights against another",
      () => attack(broker, prefix, victims[Math.floor(random() * victims.length)] ?? ""),
    ],
    ["this week's tables dropped, their rows put back", () => dropThisWeek(address(), random)],
    ["old weeks leave beside a reader", () => oldWeeks(address(), collectors)],
  ];
}

async function poison(broker: CabledBroker, prefix: string): Promise<void> {
  const options = broker.login(HARMFUL_SITE, prefix);
  const publish = async (client: Parameters<ReturnType<typeof publishing>>[0]) => {
    for (const { topic, payload } of MALFORMED)
      await client.publishAsync(`${prefix}/${topic}`, payload, { qos: 1 });
  };
  // Another fault may have the broker down; then there is nothing to poison.
  await Promise.race([tries(broker.clientUrl, options, publish), sleep(6 * WAIT_MS)]);
}

/** Throws if the broker allows anything of it. What it would do shows in the database, too. */
async function attack(broker: CabledBroker, prefix: string, victim: string): Promise<void> {
  const own = broker.login(HARMFUL_SITE, prefix);
  const below = `${prefix}/${victim}`;
  const forged = JSON.stringify({
    v: 1,
    id: createHash("md5").update(`${victim} ${Math.random()}`).digest("hex"),
    site: victim,
    sensor: "1",
    kind: "rpm",
    time: new Date().toISOString(),
    values: { rpm: 1 },
    units: { rpm: "rpm" },
    quality: {},
    attributes: {},
    historical: false,
  });
  const offline = JSON.stringify({ site: victim, state: "offline", time: new Date(), reason: "x" });
  const attempts: [string, () => Promise<"allowed" | "refused">][] = [];
  const as = (what: string, options: IClientOptions, use: Parameters<typeof tries>[2]) =>
    attempts.push([what, () => tries(broker.clientUrl, options, use)]);
  for (const isRetained of [false, true]) {
    as("a reading of another site", own, publishing(`${below}/1/rpm`, isRetained, forged));
    as("another's state", own, publishing(`${below}/agent/state`, isRetained, offline));
  }
  as("clearing another's state", own, publishing(`${below}/agent/state`, true, ""));
  as("a command for another", own, publishing(`${below}/agent/cmd/saveSettings`, false, "{}"));
  for (const group of ["gateside", "g"])
    for (const filter of [`${prefix}/#`, `${below}/#`])
      as(`$share/${group}`, own, subscribing(`$share/${group}/${filter}`));
  for (const filter of ["#", `${prefix}/#`, `${below}/#`, `${prefix}/+/agent/cmd/#`])
    as(filter, own, subscribing(filter));
  const stolen = { ...own, clientId: broker.login(victim, prefix).clientId ?? "" };
  as("another's client id", stolen, subscribing(`${prefix}/${HARMFUL_SITE}/agent/cmd/#`));
  for (const [what, attempt] of attempts)
    if ((await attempt()) === "allowed") throw new Error(`the broker allows ${what}`);
  const will = { topic: `${below}/agent/state`, payload: Buffer.from(offline), qos: 1 as const };
  await dieWith(broker.clientUrl, own, will);
  // What is allowed, and must not be believed: another's reading below its own topics.
  await tries(broker.clientUrl, own, publishing(`${prefix}/${HARMFUL_SITE}/1/rpm`, false, forged));
}

/** Collectors find the tables gone that they remember, and what arrives anew is the same as what is put back. */
async function dropThisWeek(url: string, random: () => number): Promise<void> {
  const tables = await ask<{ name: string; parent: string }>(
    url,
    `SELECT c.relname AS name, p.relname AS parent FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
     WHERE p.relname LIKE 'reading_%' AND c.relname LIKE '%' || to_char(date_trunc('week', now() AT TIME ZONE 'UTC'), '_YYYYMMDD') AND c.relkind = 'r'`,
  );
  const each = (sql: (table: { name: string; parent: string }) => string) =>
    tables.map(sql).join("; ");
  await ask(
    url,
    `SET deadlock_timeout = '100s'; BEGIN; ${each(({ parent }) => `LOCK TABLE ${parent} IN ACCESS EXCLUSIVE MODE`)};
     ${each(({ name }) => `CREATE TABLE kept_${name} AS SELECT * FROM ${name}; DROP TABLE ${name}`)}; COMMIT`,
  );
  await sleep(1000 + random() * 3000);
  await ask(
    url,
    `SET deadlock_timeout = '100s'; BEGIN; SELECT gateside_make_partitions(now());
     ${each(({ name, parent }) => `INSERT INTO ${parent} SELECT * FROM kept_${name} ON CONFLICT DO NOTHING`)};
     INSERT INTO hour_mark (hour, stream) SELECT DISTINCT date_trunc('hour', time, 'UTC'), stream FROM (${each(({ name }) => `SELECT time, stream FROM kept_${name}`).replaceAll(";", " UNION ALL")}) r ORDER BY 1, 2 ON CONFLICT DO NOTHING;
     ${each(({ name }) => `DROP TABLE kept_${name}`)}; COMMIT`,
  );
}

/** Tables of the spring before last, which collectors with `--keep-days` drop, while somebody reads all of them. */
async function oldWeeks(url: string, collectors: readonly Kept[]): Promise<void> {
  for (const weeks of [52, 53])
    await ask(url, `SELECT gateside_make_partitions(now() - interval '${weeks} weeks')`);
  const reader = new Client({ connectionString: url });
  reader.on("error", () => {});
  await reader.connect();
  try {
    await reader.query("BEGIN; SELECT count(*) FROM reading; SELECT count(*) FROM waveform");
    // They look for such weeks when they start, and each minute.
    await collectors[0]?.kill();
    await sleep(WAIT_MS);
    await reader.query("COMMIT");
  } finally {
    await reader.end();
  }
}
