/** Real reverse proxies in front of an agent: nginx and haproxy, in the foreground, on ports of loopback. */
import { spawn } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Certificates } from "./certificates.ts";
import { tempDirectory } from "./temp-database.ts";
import { until } from "./wait-until.ts";

const NGINX = "/usr/sbin/nginx";
const HAPROXY = "/usr/sbin/haproxy";

/** What to give node:test as `skip`. */
export const skipWithoutProxies: string | false =
  existsSync(NGINX) && existsSync(HAPROXY) ? false : "nginx or haproxy is not installed";

/** `servers`: the server blocks, each listening on a port of 127.0.0.1. */
export async function startNginx(
  t: TestContext,
  servers: string,
  ports: readonly number[],
): Promise<void> {
  const directory = tempDirectory(t);
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${join(directory, name)};`,
  );
  const file = join(directory, "nginx.conf");
  writeFileSync(
    file,
    `daemon off; master_process off; pid ${join(directory, "pid")}; error_log stderr warn;
events {}
http { access_log off; ${paths.join(" ")}
${servers}
}
`,
  );
  await start(t, NGINX, ["-e", "stderr", "-c", file], ports);
}

/** `sections`: frontends and backends. `certificates` are at \`site.pem\` in its directory. */
export async function startHaproxy(
  t: TestContext,
  sections: string,
  ports: readonly number[],
  certificates: Certificates,
): Promise<void> {
  const directory = tempDirectory(t);
  const pair = Buffer.concat([certificates.read("serverCert"), certificates.read("serverKey")]);
  writeFileSync(join(directory, "site.pem"), pair);
  const file = join(directory, "haproxy.cfg");
  writeFileSync(
    file,
    `defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
${sections.replaceAll("site.pem", join(directory, "site.pem"))}
`,
  );
  await start(t, HAPROXY, ["-db", "-f", file], ports);
}

async function start(
  t: TestContext,
  program: string,
  args: readonly string[],
  ports: readonly number[],
): Promise<void> {
  const child = spawn(program, args, { stdio: ["ignore", "ignore", "pipe"] });
  let complaints = "";
  child.stderr.on("data", (text) => {
    complaints += text;
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  t.after(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  for (const port of ports)
    await until(`${program} on port ${port}`, async () => {
      if (child.exitCode !== null) throw new Error(`${program} has ended: ${complaints}`);
      return (await isListening(port)) ? true : undefined;
    });
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const done = (is: boolean) => {
      socket.destroy();
      resolve(is);
    };
    socket.once("connect", () => done(true));
    socket.once("error", () => done(false));
  });
}
