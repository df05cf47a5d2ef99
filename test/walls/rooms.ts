/**
 * The walls: what each folder of `src` may import, and each folder of `src/pipeline`. Everything else is forbidden, and so is a folder that is not listed here.
 * Rooms know `core`, `lib` and the stages that only compute, never each other; `agent` and `cli` join them.
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

/** The stages that only compute: they import core and earlier ones of themselves. */
const PURE_STAGES = ["pipeline/convert", "pipeline/decode", "pipeline/signal", "pipeline/wire"];
const SHARED = ["core", "lib", ...PURE_STAGES];

export const ROOMS: Readonly<Record<string, Room>> = {
  agent: {
    rooms: [
      ...PURE_STAGES,
      "features/discover",
      "features/bands",
      "features/commands",
      "features/condition",
      "config",
      "core",
      "pipeline/gateway",
      "http",
      "lib",
      "pipeline/link",
      "features/modbus",
      "features/nodes",
      "features/notify",
      "features/report",
      "features/sparkplug",
      "pipeline/poll",
      "pipeline/publish",
      "features/setup",
      "pipeline/store",
    ],
    node: ["crypto", "fs", "os", "path", "util"],
    packages: ["#site-schema", "#uplinks-schema"],
  },
  "features/discover": { rooms: SHARED, node: [], packages: ["undici"] },
  "features/bands": { rooms: SHARED, node: ["timers/promises"], packages: [] },
  cli: {
    rooms: [
      ...PURE_STAGES,
      "agent",
      "features/discover",
      "collect",
      "features/commands",
      "config",
      "core",
      "pipeline/gateway",
      "lib",
      "pipeline/link",
      "features/modbus",
      "features/nodes",
      "pipeline/poll",
      "features/setup",
      "simulator",
      "pipeline/store",
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
  "features/condition": { rooms: SHARED, node: [], packages: [] },
  "features/commands": { rooms: ["core", "pipeline/wire"], node: ["crypto"], packages: [] },
  config: {
    rooms: SHARED,
    node: ["crypto", "fs", "path", "tls", "util"],
    packages: ["#site-schema", "#uplinks-schema", "ajv", "env-schema"],
    readsEnvironment: true,
  },
  core: { rooms: PURE_STAGES, node: ["crypto"], packages: [], isPure: true },
  dashboard: {
    rooms: ["core", "features/condition", "pipeline/signal"],
    node: [],
    packages: ["uplot"],
  },
  "pipeline/gateway": { rooms: SHARED, node: ["net", "stream", "zlib"], packages: ["undici"] },
  http: {
    rooms: [...SHARED, "features/condition", "features/report"],
    node: ["crypto", "fs", "http", "https", "net", "path", "stream", "tls", "zlib"],
    packages: ["ajv", "fastify"],
  },
  launch: { rooms: ["lib"], node: ["path"], packages: [] },
  lib: {
    rooms: ["core", "pipeline/decode"],
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
  "pipeline/link": {
    rooms: SHARED,
    node: ["crypto", "http", "net", "stream", "tls"],
    packages: ["mqtt"],
  },
  main: { rooms: ["cli", "config"], node: [], packages: [] },
  "features/modbus": {
    rooms: SHARED,
    node: ["fs", "net", "path", "timers/promises"],
    packages: [],
  },
  "features/nodes": { rooms: SHARED, node: ["net"], packages: ["modbus-serial"] },
  "features/notify": {
    rooms: SHARED,
    node: ["crypto", "util"],
    packages: ["nodemailer", "undici"],
  },
  "pipeline/poll": { rooms: SHARED, node: [], packages: [] },
  "features/report": { rooms: SHARED, node: [], packages: [], isPure: true },
  "features/sparkplug": {
    rooms: [...SHARED, "pipeline/publish"],
    node: ["assert/strict", "crypto", "timers/promises"],
    packages: ["@bufbuild/protobuf"],
  },
  "pipeline/publish": {
    rooms: SHARED,
    node: ["assert/strict", "crypto", "os", "timers/promises"],
    packages: [],
  },
  "pipeline/convert": {
    rooms: ["core", "pipeline/signal", "pipeline/wire"],
    node: ["crypto"],
    packages: [],
    isPure: true,
  },
  "pipeline/decode": {
    rooms: ["core", "pipeline/wire"],
    node: ["crypto"],
    packages: [],
    isPure: true,
  },
  "pipeline/signal": { rooms: ["core"], node: [], packages: [], isPure: true },
  "pipeline/wire": { rooms: ["core"], node: [], packages: [], isPure: true },
  "features/setup": {
    rooms: SHARED,
    node: ["crypto", "fs", "path"],
    packages: ["#site-schema", "#uplinks-schema"],
  },
  simulator: {
    rooms: SHARED,
    node: ["events", "fs", "http", "net", "path", "stream", "zlib"],
    packages: ["aedes"],
  },
  "pipeline/store": {
    rooms: SHARED,
    node: ["assert/strict", "fs", "path", "timers/promises"],
    packages: ["better-sqlite3"],
  },
};

/** The one file that imports a path known only when it runs: the collector's bundle, where there is one. */
export const COMPUTED_IMPORTS = ["src/cli/collect-bundle.ts"];

/** Files outside src that a room may read while it is built. */
export const OUTSIDE: Readonly<Record<string, readonly string[]>> = { lib: ["package.json"] };
