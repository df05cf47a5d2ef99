import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { circlesOf, faultsOf, roomOf } from "./check.ts";
import { ROOMS } from "./rooms.ts";

const root = resolve(import.meta.dirname, "../..");
const files = new Map(
  readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => [`src/${name}`, readFileSync(join(root, "src", name), "utf8")]),
);

test("walls – every file of src imports what its room may", () => {
  const faults = [...files].flatMap(([file, text]) => faultsOf(file, text));
  assert.deepEqual(faults, []);
});

test("walls – every room that is listed exists", () => {
  const rooms = new Set([...files.keys()].map(roomOf));
  assert.deepEqual(
    // Not every feature has rules of its own, or a page.
    Object.keys(ROOMS).filter((room) => !rooms.has(room) && !room.startsWith("features/")),
    [],
  );
});

test("walls – no circles of imports, of types neither", () => {
  assert.deepEqual(circlesOf(files), []);
});

/** Texts of one file, whose spelling is one, or objects. `Streams` and `RegisterMap` spell as the site does. */
const COMPARE_TEXT = [
  "src/core/alarm/compile.ts",
  "src/config/site-semantics-names.ts",
  "src/features/nodes/node-states.ts",
  "src/features/sparkplug/devices.ts",
];

test("walls – codes of sensors are compared in their normal form, without leading zeros", () => {
  const compares =
    /\.(?:code|sensor) (?:===|!==) (?:\w+\.)*(?:\w*[cC]ode|\w*[sS]ensor|wanted|former)\b/;
  const faults = [...files].flatMap(([file, text]) =>
    /^src\/(?:dashboard|simulator|collect)\//.test(file) || COMPARE_TEXT.includes(file)
      ? []
      : text.split("\n").flatMap((line, i) => (compares.test(line) ? `${file}:${i + 1}` : [])),
  );
  assert.deepEqual(faults, []);
});

/** The store’s own files, streams of exports, and the code cache, which may be lost; others use `durableFiles`. */
const RENAMES =
  /^src\/(?:lib\/(?:durable-file|code-cache)|cli\/export-day-files|pipeline\/store\/(?:database\/database-file|recovery\/set-aside))\.ts$/;

test("walls – files are replaced by durable-file alone, which keeps owner, mode and link and writes them whole", () => {
  const faults = [...files].filter(
    ([file, text]) => !RENAMES.test(file) && /\brename(?:Sync)?\(/.test(text),
  );
  assert.deepEqual(
    faults.map(([file]) => file),
    [],
  );
});

/** A file, and a line that it may not have. */
const FORBIDDEN: readonly (readonly [file: string, line: string])[] = [
  ["src/core/probe.ts", `import "node:fs";`],
  ["src/http/probe.ts", `const both = AbortSignal.any([signal, AbortSignal.timeout(1_000)]);`],
  ["src/pipeline/store/probe.ts", `export const read = (text: string) => JSON.parse(text);`],
  ["src/core/alarm/probe.ts", `export const read = (text: string) => JSON.parse(text);`],
  ["src/core/probe.ts", `import mqtt from "mqtt";`],
  ["src/core/probe.ts", `import "#site-schema";`],
  ["src/core/probe.ts", `import "../lib/clock.ts";`],
  ["src/pipeline/signal/probe.ts", `import "../../lib/clock.ts";`],
  ["src/core/probe.ts", `export const env = process.env;`],
  ["src/core/probe.ts", `export const now = () => Date.now();`],
  ["src/core/probe.ts", `export const now = () => new Date();`],
  ["src/core/probe.ts", `export const get = () => fetch("http://localhost");`],
  ["src/core/probe.ts", `export const chance = () => Math.random();`],
  ["src/core/probe.ts", `export const later = (act: () => void) => setTimeout(act, 1);`],
  ["src/pipeline/poll/probe.ts", `import "../store/store.ts";`],
  ["src/pipeline/poll/probe.ts", `import "./../store/store.ts";`],
  ["src/pipeline/poll/probe.ts", `import "../../src/pipeline/store/store.ts";`],
  ["src/pipeline/poll/probe.ts", `export type Store = import("../store/store.ts").Store;`],
  ["src/pipeline/poll/probe.ts", `import type { Store } from "../store/store.ts";`],
  ["src/pipeline/poll/probe.ts", `export { Store } from "../store/store.ts";`],
  ["src/pipeline/poll/probe.ts", `export * from "../store/store.ts";`],
  ["src/pipeline/poll/probe.ts", `export const store = () => import("../store/store.ts");`],
  [
    "src/pipeline/poll/probe.ts",
    `const name = "../store/store.ts"; export const store = import(name);`,
  ],
  ["src/pipeline/poll/probe.ts", `export const store = require("../store/store.ts");`],
  ["src/pipeline/poll/probe.ts", `import { createRequire } from "node:module";`],
  ["src/pipeline/poll/probe.ts", `import "better-sqlite3";`],
  ["src/pipeline/poll/probe.ts", `export const prefix = process.env["PREFIX"];`],
  ["src/pipeline/poll/probe.ts", `import "../../test/support/deadline.ts";`],
  ["src/pipeline/store/outbox/probe.ts", `import "../../publish/publisher.ts";`],
  ["src/pipeline/publish/probe.ts", `import "../../dashboard/words.ts";`],
  ["src/pipeline/publish/probe.ts", `import "mqtt";`],
  ["src/cli/probe.ts", `import "mqtt";`],
  ["src/lib/probe.ts", `import "../pipeline/poll/days.ts";`],
  ["src/dashboard/probe.ts", `import "../http/server.ts";`],
  ["src/dashboard/probe.ts", `import "node:fs";`],
  ["src/dashboard/probe.ts", `export const ask = () => fetch("api/v1/status");`],
  ["src/dashboard/probe.ts", `export const ask = () => request("status", {});`],
  ["src/dashboard/probe.ts", `export const free = new AbortController().signal as Asking;`],
  ["src/dashboard/probe.ts", `export const free = signal as unknown as Asking;`],
  ["src/features/outlook/page/probe.ts", `export const ask = () => fetch("api/v1/status");`],
  ["src/agent/probe.ts", `import "../dashboard/words.ts";`],
  ["src/collect/probe.ts", `import "../pipeline/store/store.ts";`],
  ["src/shared/probe.ts", `export const answer = 42;`],
  ["src/features/unknown/probe.ts", `export const answer = 42;`],
  ["src/features/outlook/probe.ts", `import "../notify/digest.ts";`],
  ["src/features/outlook/probe.ts", `import "../notify/rules/words.ts";`],
  ["src/features/outlook/probe.ts", `import "../all.ts";`],
  ["src/features/outlook/probe.ts", `import "../../http/server.ts";`],
  ["src/features/outlook/probe.ts", `import "../../pipeline/store/sqlite-store.ts";`],
  ["src/features/outlook/probe.ts", `import "../../agent/agent.ts";`],
  ["src/features/outlook/rules/probe.ts", `export const now = () => Date.now();`],
  ["src/features/outlook/rules/probe.ts", `import "../../../http/problem.ts";`],
  ["src/features/outlook/rules/probe.ts", `import "../../../lib/clock.ts";`],
  ["src/features/outlook/page/probe.ts", `import "../../../http/problem.ts";`],
  ["src/http/probe.ts", `import "../features/outlook/outlook.ts";`],
  ["src/http/probe.ts", `import "../features/all.ts";`],
  ["src/pipeline/store/probe.ts", `import "../../features/specs.ts";`],
  ["src/pipeline/poll/probe.ts", `import type { Feature } from "../../features/feature.ts";`],
  ["src/core/probe.ts", `import "../features/outlook/rules/words.ts";`],
  ["src/dashboard/probe.ts", `import "../features/outlook/page/outlook-section.ts";`],
];
const ALLOWED: typeof FORBIDDEN = [
  ["src/core/probe.ts", `import { createHash } from "node:crypto";`],
  ["src/pipeline/signal/probe.ts", `import { x } from "../../core/unit.ts";`],
  ["src/core/probe.ts", `export const at = (ms: number) => new Date(ms).getTime();`],
  ["src/core/probe.ts", `export interface Parts { readonly fetch: () => void; process(): void }`],
  ["src/pipeline/store/outbox/probe.ts", `import "../database/database.ts";`],
  ["src/pipeline/poll/probe.ts", `import "../../lib/clock.ts";`],
  ["src/pipeline/link/probe.ts", `import "mqtt";`],
  ["src/dashboard/probe.ts", `import "../core/unit.ts";`],
  ["src/dashboard/refresh.ts", `export const own = new AbortController().signal as Asking;`],
  ["src/agent/probe.ts", `import "../pipeline/store/store.ts";`],
  ["src/agent/probe.ts", `import "../features/all.ts";`],
  ["src/http/probe.ts", `import "../features/specs.ts";`],
  ["src/features/outlook/probe.ts", `import "../../http/api-operation.ts";`],
  ["src/features/outlook/probe.ts", `import type { Store } from "../../pipeline/store/store.ts";`],
  ["src/features/outlook/rules/probe.ts", `import "../../../pipeline/signal/fft.ts";`],
  ["src/dashboard/features.ts", `import "../features/outlook/page/outlook-section.ts";`],
];

test("walls – each forbidden form is found", () => {
  for (const [file, line] of FORBIDDEN)
    assert.notDeepEqual(faultsOf(file, line), [], `${file}: ${line}`);
});

test("walls – what a room may have passes", () => {
  for (const [file, line] of ALLOWED) assert.deepEqual(faultsOf(file, line), []);
});

test("walls – a circle of types is found", () => {
  const circle = new Map([
    ["src/core/a.ts", `import type { B } from "./b.ts";`],
    ["src/core/b.ts", `export type B = import("./c.ts").C;`],
    ["src/core/c.ts", `import "./a.ts";`],
  ]);
  assert.deepEqual(circlesOf(circle), [[...circle.keys()]]);
});
