import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";

/** Where this Node's headers lie: beside the program, or nowhere. */
const HEADERS = resolve(dirname(process.execPath), "../include/node");

/** What to give node:test as `skip`. */
export const skipWithoutNatives: string | false =
  process.platform !== "linux"
    ? "systemd is Linux"
    : spawnSync("gcc", ["--version"]).status !== 0
      ? "gcc is missing"
      : existsSync(join(HEADERS, "node_api.h"))
        ? false
        : `Node's headers are not in ${HEADERS}`;

export function temporaryDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "gateside-notify-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Builds the module as scripts/package.ts does. */
export function buildSdNotify(path: string): string {
  compile(["-shared", "-fPIC", `-I${HEADERS}`, "native/sdnotify.c", "-o", path]);
  return path;
}

function compile(words: readonly string[]): void {
  const { status, stderr } = spawnSync("gcc", ["-O2", "-Wall", "-Wextra", "-Werror", ...words], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
}

export interface NotifySocket {
  /** What came since the last call of `next`, a line break shown as `|`. */
  next(): Promise<string>;
  close(): Promise<void>;
}

/** A manager's side of sd_notify; Node has no datagrams of this family, so a small C program listens. */
export async function openNotifySocket(t: TestContext, address: string): Promise<NotifySocket> {
  const program = join(temporaryDirectory(t), "notify-socket");
  compile(["test/support/notify-socket.c", "-o", program]);
  const child = spawn(program, [address], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise<void>((done) => child.once("exit", () => done()));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => {
    const line = await lines.next();
    if (line.done) throw new Error("the notify socket was closed");
    return line.value;
  };
  const close = async () => {
    child.stdin.end();
    await ended;
  };
  t.after(close);
  if ((await next()) !== "listening") throw new Error(`cannot listen on ${address}`);
  return { next, close };
}
