import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Client, type QueryResultRow } from "pg";
import { buildShim } from "./build-shim.ts";
import { deadlineMs } from "./deadline.ts";
import { preloading, programEnvironment } from "./fake-time.ts";
import { freePort } from "./mosquitto.ts";

const ROOT = "/usr/lib/postgresql";
const VERSION = existsSync(ROOT)
  ? readdirSync(ROOT)
      .filter((name) => Number(name) >= 15 && existsSync(join(ROOT, name, "bin", "initdb")))
      .sort()
      .at(-1)
  : undefined;

/** What to give node:test as `skip`: false where PostgreSQL 15 or newer is there. */
export const skipWithoutPostgres: string | false =
  VERSION !== undefined ? false : "PostgreSQL is not installed";

export interface Postgres {
  readonly port: number;
  /** Of the server; its other processes are children of it. */
  readonly pid: number;
  /** A fresh database; its address. */
  createDatabase(name: string): Promise<string>;
  /** Rows of one statement in a database of this server. */
  query<R extends QueryResultRow>(url: string, sql: string): Promise<R[]>;
  /** A script of pg_dump; and its tables in the place of those that are there, in one transaction. */
  dump(url: string): string;
  restore(url: string, script: string): void;
  /** False also where it has ended by itself. */
  readonly isRunning: boolean;
  stop(): void;
  start(): void;
  /** Makes a standby the primary. */
  promote(): void;
  /** SIGQUIT: no checkpoint, every connection cut, as after a crash. */
  crash(): void;
  close(): void;
}

export interface PostgresOptions {
  readonly port?: number;
  /** Where the server's directory is made; the system's temporary one unless given. */
  readonly below?: string;
  /** Waits for the disk at every COMMIT. Killed programs lose nothing without it, only a machine that loses power does. */
  readonly isDurable?: boolean;
  /** Further lines of postgresql.conf. */
  readonly config?: readonly string[];
  /** Copies this server and follows it as a streaming standby. */
  readonly standbyOf?: Postgres;
  /** Starts from a copy of the directory of a server that has ended. */
  readonly copyOf?: string;
}

/** nobody: PostgreSQL's programs refuse root. */
export const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
/** A fresh cluster as initdb makes it, made once and copied by every test: initdb takes more CPU than most of them. */
const TEMPLATE = resolve(".cache", `postgres-${VERSION}-${process.getuid?.() ?? 0}`);

/** LD_PRELOAD of a program whose directory is `home`: where the time is faked, with what makes PostgreSQL's timeouts work nevertheless. */
function preloadIn(home: string): string {
  const waits = join(home, "plain-waits.so");
  return existsSync(waits) ? preloading(waits) : (process.env["LD_PRELOAD"] ?? "");
}

/** The directory of PostgreSQL's programs. */
export const postgresPrograms = () => join(ROOT, VERSION ?? "", "bin");

function run(program: string, args: readonly string[], home: string, input = ""): string {
  const words = [join(postgresPrograms(), program), ...args];
  // Not inherited: it does not survive the change of user.
  const preloaded = ["env", `LD_PRELOAD=${preloadIn(home)}`, ...words];
  const asNobody = ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];
  const [first = "", ...rest] = isRoot ? [...asNobody, ...preloaded] : preloaded;
  const { status, stderr, stdout } = spawnSync(first, rest, {
    cwd: home,
    encoding: "utf8",
    input,
    maxBuffer: 256 << 20,
    env: { ...programEnvironment(), LD_PRELOAD: "", HOME: home, LC_ALL: "C.UTF-8" },
  });
  if (status !== 0) throw new Error(`${program} failed: ${stderr}${stdout}`);
  return stdout;
}

function createCluster(data: string, home: string): void {
  if (!existsSync(TEMPLATE)) {
    const made = join(home, "template");
    run("initdb", ["-D", made, "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8"], home);
    mkdirSync(resolve(".cache"), { recursive: true });
    const copied = `${TEMPLATE}-${process.pid}`;
    copy(made, copied);
    try {
      renameSync(copied, TEMPLATE);
    } catch {
      // Another test was quicker.
      rmSync(copied, { recursive: true, force: true });
    }
    renameSync(made, data);
  } else copy(TEMPLATE, data);
}

/** With owners and rights, which node's own copying does not keep. */
function copy(from: string, to: string): void {
  const { status, stderr } = spawnSync("cp", ["-a", from, to], { encoding: "utf8" });
  if (status !== 0) throw new Error(`cp failed: ${stderr}`);
}

/** A real server in a temporary directory. */
export async function openPostgres(options: PostgresOptions = {}): Promise<Postgres> {
  if (VERSION === undefined) throw new Error("PostgreSQL 15 or newer is not installed");
  const port = options.port ?? (await freePort());
  const directory = mkdtempSync(join(options.below ?? tmpdir(), "gateside-postgres-"));
  const data = join(directory, "data");
  if (isRoot) chownSync(directory, NOBODY, NOBODY);
  if (process.env["LD_PRELOAD"] !== undefined) buildShim(directory, "plain-waits");
  if (options.copyOf !== undefined) {
    copy(options.copyOf, data);
    rmSync(join(data, "postmaster.pid"), { force: true });
  } else if (options.standbyOf === undefined) createCluster(data, directory);
  else {
    const from = ["-h", "127.0.0.1", "-p", String(options.standbyOf.port), "-U", "postgres"];
    run("pg_basebackup", [...from, "-D", data, "-R", "-c", "fast", "--no-sync"], directory);
  }
  const config = [
    `port = ${port}`,
    "listen_addresses = '127.0.0.1'",
    `unix_socket_directories = '${directory}'`,
    "shared_buffers = 64MB",
    `fsync = ${options.isDurable === true ? "on" : "off"}`,
    ...(options.config ?? []),
  ];
  appendFileSync(join(data, "postgresql.conf"), `${config.join("\n")}\n`);
  const seconds = String(Math.ceil(deadlineMs(60_000) / 1000));
  const control = (...words: string[]) =>
    run("pg_ctl", ["-D", data, "-w", "-t", seconds, ...words], directory);
  const start = () => control("-l", join(directory, "log"), "start");
  const stop = (mode: "fast" | "immediate") => control("-m", mode, "stop");
  start();
  let isUp = true;
  const query = async <R extends QueryResultRow>(url: string, sql: string): Promise<R[]> => {
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query<R>(sql)).rows;
    } finally {
      await client.end();
    }
  };
  return {
    port,
    get pid() {
      return Number(readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[0]);
    },
    get isRunning() {
      try {
        control("status");
        return true;
      } catch {
        return false;
      }
    },
    query,
    dump: (url) => run("pg_dump", [url], directory),
    restore(url, script) {
      const clean = "DROP SCHEMA public CASCADE; CREATE SCHEMA public;\n";
      run("psql", ["-q1", "-v", "ON_ERROR_STOP=1", url], directory, clean + script);
    },
    async createDatabase(name) {
      const base = `postgres://postgres@127.0.0.1:${port}`;
      await query(`${base}/postgres`, `CREATE DATABASE ${name}`);
      return `${base}/${name}`;
    },
    stop() {
      stop("fast");
      isUp = false;
    },
    start() {
      start();
      isUp = true;
    },
    promote: () => control("promote"),
    crash() {
      stop("immediate");
      isUp = false;
    },
    close() {
      if (isUp) stop("immediate");
      isUp = false;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
