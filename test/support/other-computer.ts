/**
 * Two computers in a network, for what only shows between two: network namespaces with a pair of virtual interfaces between them. The test itself
 * stays outside both, since a browser in a namespace that gets an interface breaks off all that it loads, and other tests have browsers too.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

/** What to give node:test as `skip`. */
export const skipWithoutNamespaces: string | false =
  process.getuid?.() !== 0
    ? "network namespaces need root"
    : ["/usr/sbin/ip", "/sbin/ip"].some((path) => existsSync(path))
      ? false
      : "iproute2 is not installed";

export interface OtherComputer {
  readonly ipv4: string;
  readonly ipv6: string;
  /** Known to the programs that `knowing` starts. */
  readonly name: string;
  /** Before a command, this runs it on the other computer. */
  readonly prefix: readonly string[];
  /** Before a command, this runs it where `knowing` starts programs. */
  readonly nearPrefix: readonly string[];
  /** A program on the near computer that is `program`, and knows the other one's names. */
  knowing(program: string): string;
}

let made = 0;

/** Nothing leaves this machine: the addresses are those of RFC 2544 (tests of network devices), and nothing forwards them. */
export function openOtherComputer(
  t: TestContext,
  names: readonly string[] = ["box7.plant.test"],
): OtherComputer {
  made += 1;
  // Test files run at the same time.
  const id = `gs${process.pid}-${made}`;
  const number = (process.pid * 8 + made) % 16_384;
  const [high, low] = [number >> 6, (number & 63) * 4];
  const ipv4 = (host: number) => `198.18.${high}.${low + host}`;
  const ipv6 = (host: number) => `fd67:6174:6573:${number.toString(16)}::${host}`;
  const directory = mkdtempSync(join(tmpdir(), "gateside-computer-"));
  const ip = (...args: string[]) =>
    execFileSync("ip", args, { stdio: ["ignore", "ignore", "pipe"] });
  const near = `${id}n`;
  const inside = (namespace: string) => ["ip", "netns", "exec", namespace];
  t.after(() => {
    // The pair goes with the namespaces.
    for (const namespace of [near, id]) ip("netns", "del", namespace);
    rmSync(directory, { recursive: true, force: true });
  });
  for (const namespace of [near, id]) ip("netns", "add", namespace);
  ip("-n", near, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", id);
  for (const [namespace, host] of [
    [near, 1],
    [id, 2],
  ] as const) {
    const set = (...args: string[]) => ip("-n", namespace, ...args);
    set("addr", "add", `${ipv4(host)}/30`, "dev", "eth0");
    // Without "nodad" the address cannot be used for a second or two.
    set("-6", "addr", "add", `${ipv6(host)}/64`, "dev", "eth0", "nodad");
    // The link's own address would come a second later, and a browser sees that as another network.
    set("link", "set", "eth0", "addrgenmode", "none", "up");
    set("link", "set", "lo", "up");
  }

  const hostsFile = join(directory, "hosts");
  const others = names.map((name) => `${ipv4(2)} ${name}\n`).join("");
  writeFileSync(hostsFile, `${readFileSync("/etc/hosts", "utf8")}\n${others}`);
  return {
    ipv4: ipv4(2),
    ipv6: ipv6(2),
    name: names[0] ?? "",
    prefix: inside(id),
    nearPrefix: inside(near),
    knowing(program) {
      const path = join(directory, `knowing-${program.replaceAll("/", "-")}`);
      const mount = `mount --bind ${hostsFile} /etc/hosts && exec ${program} "$@"`;
      writeFileSync(
        path,
        `#!/bin/sh\nexec ${inside(near).join(" ")} unshare --mount sh -c '${mount}' sh "$@"\n`,
      );
      chmodSync(path, 0o755);
      return path;
    },
  };
}
