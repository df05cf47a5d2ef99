/** Where the files beside the program are: next to the bundle once built, in the project's dist during development. */
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

/** Set by scripts/build.ts. */
declare const __BUNDLED__: boolean | undefined;

const isBundled: boolean = typeof __BUNDLED__ !== "undefined" && __BUNDLED__;

/** A file shipped beside the bundle; null during development, when packages find their own. */
function besideBundle(name: string): string | null {
  return isBundled ? join(__dirname, name) : null;
}

/** A bundle shipped beside the program, loaded: by `require`, because the package's launcher compiles the program without an `import()`. Null during development. */
export function loadBesideBundle(name: string): unknown {
  const path = besideBundle(name);
  return path === null ? null : createRequire(path)(path);
}

/** The program itself: the bundle, or during development the source that starts it. */
export function programPath(): string {
  return besideBundle("gateside.js") ?? resolve("src", "main.ts");
}

/** The thread that copies a long log of the store. */
export function copyLogPath(): string {
  return besideBundle("copy-log.js") ?? resolve("src", "copy-log.ts");
}

/** Absolute path for better-sqlite3's `nativeBinding`; undefined lets the package search itself. */
export function nativeBinding(): string | undefined {
  return besideBundle("better_sqlite3.node") ?? undefined;
}

/** Directory of the built dashboard. */
export function dashboardDirectory(): string {
  return besideBundle("dashboard") ?? resolve("dist", "dashboard");
}

/** The sd_notify module; only packages contain it. */
export function sdNotifyPath(): string {
  return besideBundle("sdnotify.node") ?? resolve("dist", "sdnotify.node");
}

/** In DATA_DIR: where the commands on this machine reach the agent that holds the directory. */
export function agentSocketPath(dataDir: string): string {
  return join(dataDir, "gateside.sock");
}

const SOCKET_PATH_BYTES_MAX = process.platform === "darwin" ? 103 : 107;

/** Whether the system takes all of it: Node 20 cuts a longer one, which then names a file in a directory above. */
export function isSocketPath(path: string): boolean {
  return Buffer.byteLength(path) <= SOCKET_PATH_BYTES_MAX;
}
