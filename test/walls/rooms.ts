/**
 * The walls: what each folder of `src` may import. Everything else is forbidden, and so is a folder that is not listed here.
 * Rooms know `core` and `lib`, never each other; `agent` and `cli` join them.
 */
export interface Room {
  /** Folders of src, and files of src itself. */
  readonly rooms: readonly string[];
  /** Modules of Node, without `node:`. */
  readonly node: readonly string[];
  /** Packages, and `#` imports of package.json. */
  readonly packages: readonly string[];
  /** It may not read a clock, the environment, chance or the network: the same input gives the same output. */
  readonly isPure?: true;
  /** It may read `process.env`; all others are handed what they need. */
  readonly readsEnvironment?: true;
}

const SHARED = ["core", "lib"];

export const ROOMS: Readonly<Record<string, Room>> = {
  agent: {
    rooms: [
      "analytics",
      "bands",
      "command",
      "config",
      "core",
      "gateway",
      "http",
      "lib",
      "link",
      "modbus",
      "node-state",
      "notify",
      "poll",
      "publish",
      "setup",
      "store",
    ],
    node: ["crypto", "fs", "os", "path", "util"],
    packages: ["#site-schema", "#uplinks-schema"],
  },
  analytics: { rooms: SHARED, node: [], packages: ["undici"] },
  bands: { rooms: SHARED, node: ["timers/promises"], packages: [] },
  cli: {
    rooms: [
      "agent",
      "analytics",
      "collect",
      "command",
      "config",
      "core",
      "gateway",
      "lib",
      "link",
      "modbus",
      "node-state",
      "poll",
      "setup",
      "simulator",
      "store",
    ],
    node: [
      "crypto",
      "fs",
      "fs/promises",
      "http",
      "https",
      "net",
      "os",
      "path",
      "stream/consumers",
      "timers/promises",
      "tls",
      "url",
      "util",
      "zlib",
    ],
    packages: [],
  },
  collect: {
    rooms: SHARED,
    node: ["crypto", "http", "net", "stream", "tls"],
    packages: [
      "amqplib",
      "hyparquet-writer",
      "mqtt-packet",
      "pg",
      "pg-copy-streams",
      "prom-client",
    ],
  },
  command: { rooms: ["core"], node: ["crypto"], packages: [] },
  config: {
    rooms: SHARED,
    node: ["crypto", "fs", "path", "tls", "util"],
    packages: ["#site-schema", "#uplinks-schema", "ajv", "env-schema"],
    readsEnvironment: true,
  },
  core: { rooms: [], node: ["crypto"], packages: [], isPure: true },
  dashboard: { rooms: ["core"], node: [], packages: ["uplot"] },
  gateway: { rooms: SHARED, node: ["net", "stream", "zlib"], packages: ["undici"] },
  http: {
    rooms: SHARED,
    node: ["crypto", "fs", "http", "https", "net", "path", "stream", "tls", "zlib"],
    packages: ["ajv", "fastify"],
  },
  launch: { rooms: ["lib"], node: ["path"], packages: [] },
  lib: {
    rooms: ["core"],
    node: [
      "child_process",
      "crypto",
      "fs",
      "module",
      "net",
      "os",
      "path",
      "perf_hooks",
      "tls",
      "util",
      "v8",
      "vm",
      "zlib",
    ],
    packages: ["pino", "prom-client", "undici", "xxhash-wasm"],
  },
  link: {
    rooms: SHARED,
    node: ["crypto", "http", "net", "stream", "tls"],
    packages: ["mqtt"],
  },
  main: { rooms: ["cli", "config"], node: [], packages: [] },
  modbus: { rooms: SHARED, node: ["fs", "net", "path", "timers/promises"], packages: [] },
  "node-state": { rooms: SHARED, node: ["net"], packages: ["modbus-serial"] },
  notify: { rooms: SHARED, node: ["crypto", "util"], packages: ["nodemailer", "undici"] },
  poll: { rooms: SHARED, node: [], packages: [] },
  publish: {
    rooms: SHARED,
    node: ["assert/strict", "crypto", "os", "timers/promises"],
    packages: ["@bufbuild/protobuf"],
  },
  setup: {
    rooms: SHARED,
    node: ["crypto", "fs", "path"],
    packages: ["#site-schema", "#uplinks-schema"],
  },
  simulator: {
    rooms: SHARED,
    node: ["events", "fs", "http", "net", "path", "stream", "zlib"],
    packages: ["aedes"],
  },
  store: {
    rooms: SHARED,
    node: ["assert/strict", "fs", "path", "timers/promises"],
    packages: ["better-sqlite3"],
  },
};

/** The one file that imports a path known only when it runs: the collector's bundle, where there is one. */
export const COMPUTED_IMPORTS = ["src/cli/collect-bundle.ts"];

/** Files outside src that a room may read while it is built. */
export const OUTSIDE: Readonly<Record<string, readonly string[]>> = { lib: ["package.json"] };
