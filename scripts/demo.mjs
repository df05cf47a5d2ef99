// The one command of a fresh clone: installs and builds what is missing or outdated, then runs the demo.
// Plain JavaScript without packages, because it runs before there are any.
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { misfit } from "./fit-native.mjs";
import { npmStep } from "./set-up-step.mjs";

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

async function step(what, usual, words) {
  // stdout carries only readings.
  const fault = await npmStep({
    what,
    usual,
    words,
    cwd: root,
    tell: (text) => console.error(text),
  });
  if (fault !== null) fail(fault);
}

if (!isSupported())
  fail(
    `this is Node ${process.versions.node}; Gateside needs Node 22.12 or newer (24 is best; 20.20 works until its support ends). Install one, for example with nvm: nvm install 24`,
  );

if (!isInstalled())
  await step(
    "Installing packages",
    "20 s to 2 min, on a Raspberry Pi up to 15 min where SQLite has to be compiled",
    ["ci", "--no-audit", "--no-fund"],
  );

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
  await step("Building", "5 s, on a Raspberry Pi 30 s", ["run", "build", "--silent"]);

const demo = spawn(process.execPath, [bundle, "demo", ...process.argv.slice(2)], {
  stdio: "inherit",
});
// Ctrl-C in a terminal reaches the demo directly; other signals are forwarded, and this process waits for it.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => demo.kill("SIGTERM"));
demo.on("exit", (code, signal) => process.exit(signal ? 1 : (code ?? 1)));
