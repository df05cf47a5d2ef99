/** The database of a run: one server or two, behind relays, a balancer or a pool, and what can be done to it. */
import { spawn, spawnSync } from "node:child_process";
import { rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openPostgres, type Postgres } from "../../test/support/postgres.ts";
import { haproxyFor, pgbouncerFor } from "../../test/support/proxies.ts";
import { openRelay } from "./brokers.ts";
import {
  type CabledDatabase,
  type DatabaseOptions,
  type Fault,
  IDS,
  idsIn,
} from "./cabled-database.ts";
import { openPatroni } from "./patroni.ts";
import { ask } from "./processes.ts";

export const DATABASES = [
  "single",
  "synchronous",
  "asynchronous",
  "balanced",
  "pooled",
  "restored",
  "patroni",
  "patroni-synchronous",
] as const;
export type DatabaseKind = (typeof DATABASES)[number];

/** Throws if a program that the kind needs is not installed. */
export async function openDatabase(
  kind: DatabaseKind,
  options: DatabaseOptions,
): Promise<CabledDatabase> {
  if (kind === "patroni" || kind === "patroni-synchronous")
    return openPatroni(kind === "patroni-synchronous", options);
  return kind === "synchronous" || kind === "asynchronous" || kind === "balanced"
    ? openPair(kind, options)
    : openSingle(kind, options);
}

async function openSingle(
  kind: DatabaseKind,
  { disk, names, random }: DatabaseOptions,
): Promise<CabledDatabase> {
  const postgres = await openPostgres({
    isDurable: true,
    config: ["max_wal_size = 64MB", "min_wal_size = 32MB"],
    ...(disk === null ? {} : { below: disk }),
  });
  for (const name of names) await postgres.createDatabase(name);
  const ends: (() => unknown)[] = [() => postgres.close()];
  const after = (end: () => unknown) => ends.push(end);
  const inner =
    kind === "pooled" ? await pgbouncerFor({ after }, postgres.port, "session") : postgres.port;
  const cable = await openRelay(inner);
  ends.push(() => cable.close());
  const url = (name: string) => `postgres://postgres@127.0.0.1:${postgres.port}/${name}`;
  const mayBeGone = new Set<string>();
  const faults: Fault[] = [
    [
      "crash of PostgreSQL",
      async () => {
        postgres.crash();
        await sleep(500 + random() * 2500);
        postgres.start();
      },
    ],
    [
      "restart of PostgreSQL",
      async () => {
        postgres.stop();
        postgres.start();
      },
    ],
  ];
  if (kind === "restored")
    faults.push([
      "restore from a dump under running collectors",
      async () => {
        const dumps = names.map((name) => [name, postgres.dump(url(name))] as const);
        await sleep(4000 + random() * 4000);
        for (const [name, dump] of dumps)
          for (const id of await restoreOver(url(name), dump)) mayBeGone.add(id);
      },
    ]);
  if (disk !== null)
    faults.push([
      "full disk of PostgreSQL",
      () => fillDisk(disk, postgres, 3000 + random() * 4000),
    ]);
  return {
    url,
    to: (name) => url(name).replace(`:${postgres.port}`, `:${new URL(cable.url).port}`),
    cables: [cable],
    faults,
    mayBeGone,
    async close() {
      for (const end of ends.reverse()) await end();
    },
  };
}

async function openPair(
  kind: DatabaseKind,
  { names, random }: DatabaseOptions,
): Promise<CabledDatabase> {
  const isSynchronous = kind !== "asynchronous";
  const config = ["wal_keep_size = 256MB", "max_wal_size = 256MB"];
  const standbyConfig = [...config, ...(isSynchronous ? ["synchronous_standby_names = '*'"] : [])];
  let primary = await openPostgres({ isDurable: true, config });
  for (const name of names) await primary.createDatabase(name);
  let standby = await openPostgres({ standbyOf: primary, isDurable: true, config: standbyConfig });
  const url = (name: string) => `postgres://postgres@127.0.0.1:${primary.port}/${name}`;
  if (isSynchronous) {
    await ask(url("postgres"), "ALTER SYSTEM SET synchronous_standby_names = '*'");
    await ask(url("postgres"), "SELECT pg_reload_conf()");
  }
  const ends: (() => unknown)[] = [];
  const servers = [primary.port, standby.port];
  const cables = await Promise.all(servers.map((port) => openRelay(port)));
  const ports = cables.map(({ url: address }) => Number(new URL(address).port));
  const hosts =
    kind === "balanced"
      ? `127.0.0.1:${await haproxyFor({ after: (end) => ends.push(end) }, ports)}`
      : ports.map((port) => `127.0.0.1:${port}`).join(",");
  const cableOf = (server: Postgres) => cables[servers.indexOf(server.port)];
  const mayBeGone = new Set<string>();
  const failOver = async () => {
    const [old, next] = [primary, standby];
    old.crash();
    if (!isSynchronous) {
      // What only the old one had, read where no collector can reach it.
      cableOf(old)?.shut();
      old.start();
      for (const name of names)
        for (const id of await idsIn(`postgres://postgres@127.0.0.1:${old.port}/${name}`))
          mayBeGone.add(id);
      old.crash();
      cableOf(old)?.open();
    }
    next.promote();
    primary = next;
    await sleep(1000 + random() * 3000);
    old.close();
    standby = await openPostgres({
      standbyOf: next,
      port: old.port,
      isDurable: true,
      config: standbyConfig,
    });
  };
  const standbyAway = async () => {
    standby.stop();
    await sleep(5000 + random() * 5000);
    standby.start();
  };
  return {
    url,
    to: (name) => `postgres://postgres@${hosts}/${name}?target_session_attrs=read-write`,
    cables,
    faults: [
      [`fail-over to the ${isSynchronous ? "synchronous" : "asynchronous"} standby`, failOver],
      ["fail-over back", failOver],
      ["standby away", standbyAway],
    ],
    mayBeGone,
    async close() {
      for (const end of ends.reverse()) await end();
      await Promise.all(cables.map((cable) => cable.close()));
      standby.close();
      primary.close();
    },
  };
}

/** Who writes meanwhile loses a deadlock: the server looks for one after a second in the other session. */
const LOCK_ALL = `SET deadlock_timeout = '100s';
DO $$ DECLARE one text; BEGIN
  FOR one IN SELECT format('%I', relname) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') LOOP
    EXECUTE 'LOCK TABLE ONLY ' || one || ' IN ACCESS EXCLUSIVE MODE';
  END LOOP;
END $$;
`;
const CLEAN = "DROP SCHEMA public CASCADE; CREATE SCHEMA public;\n";

/** The dump in the place of what is there, in one transaction. Returns the ids of the readings that were stored at that moment. */
function restoreOver(url: string, dump: string): Promise<string[]> {
  const psql = spawn("psql", ["-q1At", "-v", "ON_ERROR_STOP=1", url], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  let out = "";
  psql.stdout.on("data", (chunk: Buffer) => {
    out += chunk;
  });
  psql.stdin.end(`${LOCK_ALL}${IDS};\n${CLEAN}${dump}`);
  return new Promise((resolve, reject) => {
    psql.once("error", reject);
    psql.once("close", (code) =>
      code === 0
        ? resolve(out.split("\n").filter((line) => /^[0-9a-f]{32}$/.test(line)))
        : reject(new Error(`psql ended with ${code}`)),
    );
  });
}

async function fillDisk(disk: string, postgres: Postgres, ms: number): Promise<void> {
  const ballast = join(disk, "ballast");
  const { bavail, bsize } = statfsSync(disk);
  const count = `count=${Math.ceil((bavail * bsize) / 2 ** 20)}`;
  spawnSync("dd", ["if=/dev/zero", `of=${ballast}`, "bs=1M", count]);
  await sleep(ms);
  rmSync(ballast);
  // Without room for its log, PostgreSQL exits.
  if (!postgres.isRunning) postgres.start();
}
