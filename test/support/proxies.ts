/** haproxy and PgBouncer in front of PostgreSQL. */
import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { programEnvironment } from "./fake-time.ts";
import { freePort } from "./mosquitto.ts";
import { waitUntil } from "./wait-until.ts";

const HAPROXY = "/usr/sbin/haproxy";
const PGBOUNCER = "/usr/sbin/pgbouncer";
/** Who closes what was started. */
interface Ends {
  after(end: () => unknown): void;
}
export const skipWithoutHaproxy: string | false = existsSync(HAPROXY)
  ? false
  : "haproxy is not installed";
export const skipWithoutPgbouncer: string | false = existsSync(PGBOUNCER)
  ? false
  : "PgBouncer is not installed";

/** A balancer that knows nothing of roles: each connection goes to the next server. Its port. */
export async function haproxyFor(t: Ends, ports: readonly number[]): Promise<number> {
  const port = await freePort();
  const servers = ports.map((to, n) => `  server s${n} 127.0.0.1:${to}`);
  const timeouts = ["connect 5s", "client 1h", "server 1h"].map((one) => `  timeout ${one}`);
  const config = ["defaults", "  mode tcp", ...timeouts, "listen db", `  bind 127.0.0.1:${port}`];
  await start(
    t,
    port,
    `${[...config, "  balance roundrobin", ...servers].join("\n")}\n`,
    (file) => [HAPROXY, "-db", "-q", "-f", file],
  );
  return port;
}

/** PgBouncer in front of the server at this port. Its own port. */
export async function pgbouncerFor(
  t: Ends,
  to: number,
  mode: "session" | "transaction" | "statement",
): Promise<number> {
  const port = await freePort();
  const config = `[databases]
* = host=127.0.0.1 port=${to}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = USERS
pool_mode = ${mode}
`;
  await start(t, port, config, (file) => [PGBOUNCER, ...asNobody, file]);
  return port;
}

const asNobody = process.getuid?.() === 0 ? ["-u", "nobody"] : [];

async function start(
  t: Ends,
  port: number,
  config: string,
  command: (file: string) => readonly string[],
): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "gateside-proxy-"));
  const file = join(directory, "config");
  const users = join(directory, "users");
  writeFileSync(users, '"postgres" ""\n');
  writeFileSync(file, config.replace("USERS", users));
  chmodSync(directory, 0o755);
  const [program = "", ...words] = command(file);
  const child: ChildProcess = spawn(program, words, {
    stdio: ["ignore", "ignore", "pipe"],
    env: programEnvironment(),
  });
  let said = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    said += chunk;
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  t.after(async () => {
    child.kill("SIGKILL");
    await ended;
    rmSync(directory, { recursive: true, force: true });
  });
  await waitUntil(
    () => `${program} does not listen: ${said}`,
    () => listens(port),
  );
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
