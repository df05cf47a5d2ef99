// The one command of a fresh clone: installs and builds what is missing or outdated, then runs the demo.
// Plain JavaScript without packages, because it runs before there are any.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { misfit } from "./fit-native.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const bundle = join(root, "dist", "gateside.js");

function fail(message) {
  console.error(`error: ${message}`);
  process.exit(1);
}

/** What package.json says under engines. */
function isSupported() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  return (major === 20 && minor >= 20) || (major === 22 && minor >= 12) || major >= 24;
}

/** Newest change below a path, ms; 0 if there is nothing. */
function changedAt(path) {
  if (!existsSync(path)) return 0;
  const about = statSync(path);
  if (!about.isDirectory()) return about.mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => changedAt(join(path, name))));
}

function packagesOf(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")).packages : {};
}

/** True if every package of the lock file is installed in its version; those for other platforms may be missing. */
function isInstalled() {
  const wanted = packagesOf(join(root, "package-lock.json"));
  const there = packagesOf(join(root, "node_modules", ".package-lock.json"));
  return Object.entries(wanted).every(
    ([path, { version, optional }]) =>
      path === "" || there[path]?.version === version || (optional && !there[path]),
  );
}

function step(what, npmWords) {
  console.error(`${what}: npm ${npmWords.join(" ")}`);
  // npm's own messages go to stderr, so that stdout carries only readings.
  const { status, error } = spawnSync("npm", npmWords, {
    cwd: root,
    stdio: ["ignore", 2, 2],
    shell: process.platform === "win32",
  });
  if (status !== 0) fail(`${what} failed${error ? ` (${error.message})` : ""}`);
}

if (!isSupported())
  fail(
    `Node 20.20, 22.12 or 24 is required, or a newer release of these; this is ${process.versions.node}`,
  );

if (!isInstalled()) step("Installing packages", ["ci", "--no-audit", "--no-fund"]);

const sources = [
  "src",
  "package.json",
  "package-lock.json",
  join("config", "site.schema.json"),
  join("config", "uplinks.schema.json"),
];
const sourceAt = Math.max(
  changedAt(join(root, "scripts", "build.ts")),
  ...sources.map((path) => changedAt(join(root, path))),
);
// Also after a change of Node's version: the build replaces a SQLite binding that does not fit.
if (changedAt(bundle) < sourceAt || misfit(join(root, "dist", "better_sqlite3.node")) !== null)
  step("Building", ["run", "build", "--silent"]);

const demo = spawn(process.execPath, [bundle, "demo", ...process.argv.slice(2)], {
  stdio: "inherit",
});
// Ctrl-C in a terminal reaches the demo directly; other signals are forwarded, and this process waits for it.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => demo.kill("SIGTERM"));
demo.on("exit", (code, signal) => process.exit(signal ? 1 : (code ?? 1)));
