/** A PostgreSQL server and the Patroni that keeps it, as processes. */
import { type ChildProcess, spawn } from "node:child_process";
import { chownSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { NOBODY, postgresPrograms } from "../../test/support/postgres.ts";
import { processTree } from "./processes.ts";

export const PATRONI = "/usr/bin/patroni";
/** How long the key of a leader lives that is not heard of; the shortest that Patroni takes, s. */
export const TTL_S = 20;
const isRoot = process.getuid?.() === 0;

/** A program of ours, as the user that PostgreSQL accepts. */
export function start(words: readonly string[], home: string): ChildProcess {
  const asNobody = ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];
  const [program = "", ...rest] = isRoot ? [...asNobody, ...words] : words;
  return spawn(program, rest, {
    cwd: home,
    stdio: ["ignore", "ignore", "ignore"],
    env: { PATH: process.env["PATH"], HOME: home, LC_ALL: "C.UTF-8" },
  });
}

export async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  await new Promise((resolve) => child.once("exit", resolve));
}

/** A PostgreSQL server and the Patroni that keeps it. */
export class Member {
  readonly name: string;
  readonly port: number;
  readonly #rest: number;
  readonly #home: string;
  #patroni: ChildProcess | null = null;

  constructor(name: string, port: number, rest: number, home: string) {
    this.name = name;
    this.port = port;
    this.#rest = rest;
    this.#home = home;
  }

  get data(): string {
    return join(this.#home, "data");
  }

  /** @param etcd address, host and port */
  configure(etcd: string, isSynchronous: boolean): void {
    const quoted = { username: "postgres" };
    const parameters = {
      max_connections: 60,
      shared_buffers: "64MB",
      wal_keep_size: "256MB",
      max_wal_size: "256MB",
      unix_socket_directories: this.#home,
    };
    const pg_hba = ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"];
    // JSON is YAML.
    const configuration = {
      scope: "gateside",
      name: this.name,
      log: { dir: this.#home },
      restapi: { listen: `127.0.0.1:${this.#rest}`, connect_address: `127.0.0.1:${this.#rest}` },
      etcd3: { hosts: [etcd] },
      bootstrap: {
        dcs: {
          ttl: TTL_S,
          loop_wait: 5,
          retry_timeout: 5,
          maximum_lag_on_failover: 2 ** 30,
          synchronous_mode: isSynchronous,
          postgresql: { use_pg_rewind: true, parameters },
        },
        initdb: [{ encoding: "UTF8" }, { auth: "trust" }],
        pg_hba,
      },
      postgresql: {
        listen: `127.0.0.1:${this.port}`,
        connect_address: `127.0.0.1:${this.port}`,
        data_dir: this.data,
        bin_dir: postgresPrograms(),
        pgpass: join(this.#home, "pgpass"),
        authentication: { superuser: quoted, replication: quoted, rewind: quoted },
        pg_hba,
      },
    };
    writeFileSync(join(this.#home, "patroni.yml"), JSON.stringify(configuration));
  }

  start(): void {
    this.#patroni = start([PATRONI, join(this.#home, "patroni.yml")], this.#home);
  }

  async isLeader(): Promise<boolean> {
    return (await this.#status("primary")) === 200;
  }

  /** Follows the primary; with `isSynchronous`, every COMMIT waits for it, and Patroni has written that down. */
  async isFollowing(isSynchronous: boolean): Promise<boolean> {
    return (await this.#status(isSynchronous ? "sync" : "replica?lag=1MB")) === 200;
  }

  /** What Patroni answers; null if it does not. */
  async #status(path: string): Promise<number | null> {
    try {
      const url = `http://127.0.0.1:${this.#rest}/${path}`;
      return (await fetch(url, { signal: AbortSignal.timeout(3000) })).status;
    } catch {
      return null;
    }
  }

  /** Orders the change to the other member. */
  async handOver(candidate: string): Promise<void> {
    const response = await fetch(`http://127.0.0.1:${this.#rest}/switchover`, {
      method: "POST",
      body: JSON.stringify({ leader: this.name, candidate }),
      signal: AbortSignal.timeout(120_000),
    });
    if (response.status >= 300) throw new Error(`no switchover: ${await response.text()}`);
  }

  freeze(): void {
    this.#signal("SIGSTOP", [this.#patroni?.pid ?? 0, this.#postgres]);
  }

  /** PostgreSQL goes on where it was, its Patroni does not. */
  thawPostgres(): void {
    this.#signal("SIGCONT", [this.#postgres]);
  }

  /** As if its machine had lost power. */
  async kill(): Promise<void> {
    const patroni = this.#patroni;
    this.#patroni = null;
    if (patroni === null) return;
    this.#signal("SIGKILL", [patroni.pid ?? 0, this.#postgres]);
    await endOf(patroni);
  }

  /** The server's process, which is no child of Patroni's; 0 if there is none. */
  get #postgres(): number {
    try {
      const pid = Number(readFileSync(join(this.data, "postmaster.pid"), "utf8").split("\n")[0]);
      // After a kill, another process may have the number.
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(this.data) ? pid : 0;
    } catch {
      return 0;
    }
  }

  #signal(signal: NodeJS.Signals, roots: readonly number[]): void {
    for (const pid of roots.filter((root) => root > 0).flatMap(processTree)) {
      try {
        process.kill(pid, signal);
      } catch {
        // It has ended in the meantime.
      }
    }
  }
}

/** A directory that PostgreSQL's user owns. */
export function homeOf(directory: string, name: string): string {
  const home = join(directory, name);
  mkdirSync(home, { mode: 0o700 });
  if (isRoot) chownSync(home, NOBODY, NOBODY);
  return home;
}
