/**
 * The walls: what each folder of `src` may import, and each folder of `src/pipeline`. Everything else is forbidden, and so is a folder that is not listed here.
 * Rooms know `core`, `lib` and the stages that only compute, never each other; `agent` and `cli` join them.
 */
export interface Room {
  /** Folders of src, and files of src itself. */
  readonly rooms: readonly string[];
  /** Rooms of which it may import types alone. */
  readonly types?: readonly string[];
  /** Single files of others: the seams. */
  readonly files?: readonly string[];
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

/** The folder of a feature, by its name. */
interface FeatureRoom extends Pick<Room, "node" | "packages"> {
  /** Features whose `api.ts` it may import; no circles. */
  readonly uses?: readonly string[];
  /** Single files of surfaces that it alone needs. */
  readonly files?: readonly string[];
  /** Rooms beyond the seams: of encoders, or not yet behind a seam. */
  readonly beyond?: readonly string[];
}
const FEATURES: Readonly<Record<string, FeatureRoom>> = {
  alarms: {
    node: [],
    packages: ["fastify"],
    uses: ["machines"],
    files: [
      "src/cli/shared-flags.ts",
      "src/cli/table.ts",
      "src/config/profiles.ts",
      "src/config/uplinks-sessions.ts",
      "src/pipeline/store/database/store-failure.ts",
      "src/pipeline/store/database/write-job.ts",
    ],
    beyond: ["pipeline/publish"],
  },
  bands: {
    node: ["timers/promises"],
    packages: [],
    uses: ["machines"],
    files: ["src/config/written-parts.ts"],
  },
  commands: {
    node: ["crypto"],
    packages: [],
    files: [
      "src/cli/gateway-access.ts",
      "src/cli/own-store.ts",
      "src/cli/shared-flags.ts",
      "src/http/local-socket.ts",
    ],
  },
  condition: {
    node: [],
    packages: [],
    uses: ["alarms", "diagnosis", "machines"],
    files: [
      "src/config/profiles.ts",
      "src/config/uplinks-sessions.ts",
      "src/http/sensor-series.ts",
    ],
    beyond: ["pipeline/publish"],
  },
  diagnosis: { node: [], packages: [], uses: ["alarms", "machines"] },
  discover: {
    node: ["fs", "path"],
    packages: ["undici"],
    files: [
      "src/cli/flag-address.ts",
      "src/cli/gateway-access.ts",
      "src/cli/progress.ts",
      "src/config/fault.ts",
      "src/config/secrets-of.ts",
      "src/config/site.ts",
      "src/pipeline/poll/one-read.ts",
    ],
  },
  hours: {
    node: [],
    packages: [],
    uses: ["machines"],
    files: ["src/pipeline/store/database/write-job.ts"],
  },
  kept: {
    node: [],
    packages: ["fastify"],
    uses: ["machines"],
    files: ["src/pipeline/store/readings/stored-reading.ts"],
  },
  machines: {
    node: [],
    packages: [],
    files: ["src/pipeline/store/database/store-failure.ts"],
  },
  modbus: { node: ["fs", "path"], packages: [] },
  nodes: {
    node: ["net"],
    packages: ["modbus-serial"],
    files: [
      "src/cli/gateway-access.ts",
      "src/cli/table.ts",
      "src/config/fault.ts",
      "src/config/written-parts.ts",
    ],
  },
  notify: {
    node: ["crypto", "fs", "util"],
    packages: ["nodemailer", "undici"],
    uses: ["alarms"],
  },
  outlook: { node: [], packages: [], uses: ["alarms", "hours", "machines"] },
  platforms: {
    node: ["crypto"],
    packages: [],
    files: ["src/config/fault.ts"],
    beyond: ["pipeline/publish"],
  },
  "query-service": {
    node: ["http", "stream"],
    packages: ["fastify"],
    uses: ["alarms"],
    files: ["src/http/auth.ts", "src/http/client.ts", "src/http/shared-responses.ts"],
  },
  report: { node: ["fs"], packages: [], uses: ["alarms", "condition"] },
  setup: {
    node: ["crypto", "fs", "path"],
    packages: ["#site-schema", "#uplinks-schema", "fastify"],
    files: [
      "src/agent/doctor-publish.ts",
      "src/agent/instance.ts",
      "src/cli/configuration-files.ts",
      "src/cli/own-store.ts",
      "src/cli/probe-messages.ts",
      "src/config/broker-options.ts",
      "src/config/environment.ts",
      "src/config/fault.ts",
      "src/config/settings.ts",
      "src/config/site.ts",
      "src/config/uplinks.ts",
      "src/config/written-file.ts",
      "src/http/audit.ts",
      "src/http/local-socket.ts",
      "src/http/shared-responses.ts",
      "src/pipeline/link/probe-address.ts",
      "src/pipeline/link/try-address.ts",
      "src/pipeline/poll/one-read.ts",
      "src/pipeline/store/audit.ts",
      "src/pipeline/store/database/directory-lock.ts",
      "src/pipeline/store/database/store-failure.ts",
      "src/pipeline/store/read-only-store.ts",
    ],
    beyond: ["pipeline/publish"],
  },
  sparkplug: {
    node: ["assert/strict", "crypto", "timers/promises"],
    packages: ["@bufbuild/protobuf"],
    beyond: ["pipeline/publish"],
  },
};
const STAGES_OF_TYPES = ["gateway", "link", "poll", "publish", "store"].map(
  (stage) => `pipeline/${stage}`,
);
/** What features hang on, as types. */
const SEAM_TYPES = ["features/feature", "features/formats", "features/sessions"];
const SEAM_TYPES_ROOM: Room = {
  rooms: SEAM_TYPES,
  types: [
    "cli",
    "config",
    "core",
    "http",
    "lib",
    "pipeline/publish",
    "pipeline/signal",
    "pipeline/store",
  ],
  node: [],
  packages: [],
};
/** The surfaces' seams. */
const SEAMS = [
  "src/cli/agent-client.ts",
  "src/cli/agent-or-store.ts",
  "src/cli/command.ts",
  "src/cli/configuration.ts",
  "src/cli/environment-flag.ts",
  "src/cli/finding.ts",
  "src/cli/out-file.ts",
  "src/cli/times.ts",
  "src/cli/write-out.ts",
  "src/config/refining.ts",
  "src/config/setting-spec.ts",
  "src/config/uplinks-written.ts",
  "src/http/api-operation.ts",
  "src/http/api-schemas.ts",
  "src/http/outlook-port.ts",
  "src/http/place-trend.ts",
  "src/http/problem.ts",
  "src/http/trial.ts",
];

/** What each feature may import, by default: no other feature, no list, of the surfaces their seams alone. */
function featureRooms(): Record<string, Room> {
  const rooms: Record<string, Room> = {};
  for (const [name, { node, packages, uses = [], files = [], beyond = [] }] of Object.entries(
    FEATURES,
  )) {
    const rules = `features/${name}/rules`;
    rooms[`features/${name}`] = {
      rooms: [...SHARED, ...beyond, rules, ...SEAM_TYPES, "features/host"],
      types: [...STAGES_OF_TYPES, "http"],
      files: [...SEAMS, ...files, ...uses.map((used) => `src/features/${used}/api.ts`)],
      node,
      packages,
    };
    rooms[rules] = {
      rooms: ["core", ...PURE_STAGES],
      files: uses.map((used) => `src/features/${used}/api.ts`),
      node: ["crypto"],
      packages: [],
      isPure: true,
    };
    rooms[`features/${name}/page`] = {
      rooms: ["core", "dashboard", "pipeline/signal", rules],
      node: [],
      packages: [],
    };
  }
  return rooms;
}
const FEATURE_FOLDERS = Object.keys(FEATURES).map((name) => `features/${name}`);

export const ROOMS: Readonly<Record<string, Room>> = {
  ...featureRooms(),
  ...Object.fromEntries(SEAM_TYPES.map((name) => [name, SEAM_TYPES_ROOM])),
  "features/host": {
    rooms: SEAM_TYPES,
    files: ["src/pipeline/poll/one-read.ts"],
    types: ["config", "core", "http", "lib", "pipeline/gateway", "pipeline/store", "pipeline/wire"],
    node: [],
    packages: [],
  },
  "features/specs": {
    rooms: SEAM_TYPES,
    files: Object.keys(FEATURES).map((name) => `src/features/${name}/spec.ts`),
    node: [],
    packages: [],
  },
  "features/all": {
    rooms: [...SEAM_TYPES, "features/host", ...FEATURE_FOLDERS],
    types: ["core", "http"],
    node: [],
    packages: [],
  },
  agent: {
    rooms: [
      ...PURE_STAGES,
      "config",
      "core",
      "pipeline/gateway",
      "http",
      "lib",
      "pipeline/link",
      "features/all",
      "features/host",
      ...SEAM_TYPES,
      "features/specs",
      "pipeline/poll",
      "pipeline/publish",
      "pipeline/store",
    ],
    node: ["crypto", "fs", "os", "path", "util"],
    packages: [],
  },
  cli: {
    rooms: [
      ...PURE_STAGES,
      "collect",
      "config",
      ...SEAM_TYPES,
      "features/specs",
      "core",
      "pipeline/gateway",
      "lib",
      "pipeline/link",
      "pipeline/poll",
      "simulator",
      "pipeline/store",
    ],
    // Of the agent what opens it, or a part of it for one command; of publish what a message is, without a session.
    files: [
      "src/agent/agent.ts",
      "src/agent/assemble.ts",
      "src/agent/doctor-publish.ts",
      "src/agent/polling.ts",
      "src/agent/reload-faults.ts",
      "src/agent/stopped-agent.ts",
      "src/pipeline/publish/formats/create-profile.ts",
      "src/pipeline/publish/formats/gateside.ts",
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
  config: {
    rooms: [...SHARED, ...SEAM_TYPES, "features/specs"],
    node: ["crypto", "fs", "path", "tls", "util"],
    packages: ["#site-schema", "#uplinks-schema", "ajv", "env-schema"],
    readsEnvironment: true,
  },
  core: { rooms: PURE_STAGES, node: ["crypto"], packages: [], isPure: true },
  dashboard: {
    rooms: ["core", "pipeline/signal"],
    node: [],
    packages: ["uplot"],
  },
  "pipeline/gateway": { rooms: SHARED, node: ["net", "stream", "zlib"], packages: ["undici"] },
  http: {
    rooms: [...SHARED, ...SEAM_TYPES, "features/specs"],
    node: ["crypto", "fs", "http", "https", "net", "path", "stream", "tls", "zlib"],
    packages: ["ajv", "fastify"],
  },
  "copy-log": {
    rooms: [],
    types: ["pipeline/store"],
    node: ["worker_threads"],
    packages: ["better-sqlite3"],
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
      "timers/promises",
      "tls",
      "tty",
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
  main: { rooms: ["cli", "config", "lib"], node: [], packages: [] },
  "pipeline/poll": { rooms: SHARED, node: [], packages: [] },
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
  simulator: {
    rooms: SHARED,
    node: ["events", "fs", "http", "net", "path", "stream", "zlib"],
    packages: ["aedes"],
  },
  "pipeline/store": {
    rooms: SHARED,
    node: ["assert/strict", "fs", "path", "timers/promises", "worker_threads"],
    packages: ["better-sqlite3"],
  },
};

/** The lists of pages and of sections, the only files of the dashboard that import features' pages. */
export const PAGE_LISTS = [
  "src/dashboard/features.ts",
  "src/dashboard/feature-pages.ts",
  "src/dashboard/setup-pages.ts",
];

/** The one file that imports a path known only when it runs: the collector's bundle, where there is one. */
export const COMPUTED_IMPORTS = ["src/cli/collect-bundle.ts"];

/** Files outside src that a room may read while it is built. */
export const OUTSIDE: Readonly<Record<string, readonly string[]>> = { lib: ["package.json"] };
