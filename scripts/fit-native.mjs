// Makes the SQLite binding fit the Node that runs this: after a change of Node's version, the one that npm installed no longer loads, and
// one compiled against the headers of Node 24.19 or later ends the process (see native/object-wrap.h). If the binding already fits, as
// after `npm ci` with Node 20 or 22, nothing is changed. Plain JavaScript, because the demo runs it before packages are installed.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const installed = join(root, "node_modules/better-sqlite3/build/Release/better_sqlite3.node");

/** Why a compiled binding does not work with this Node; null if it does. */
export function misfit(path) {
  if (!existsSync(path)) return `${path} is missing`;
  if (readFileSync(path).includes("RemoveEnvironmentCleanupHook"))
    return "it was compiled unmodified against Node 24.19 or later, and would end the process";
  // In a separate process: a module loaded here could not be replaced and loaded again.
  const load = `process.dlopen({ exports: {} }, ${JSON.stringify(path)})`;
  const { status } = spawnSync(process.execPath, ["-e", load], { stdio: "ignore" });
  return status === 0 ? null : `it does not load in Node ${process.versions.node}`;
}

/** The headers that came with this Node, if any, so that none have to be downloaded. */
function ownHeaders() {
  const home = dirname(dirname(process.execPath));
  const version = join(home, "include/node/node_version.h");
  if (!existsSync(version)) return {};
  const text = readFileSync(version, "utf8");
  const number = (part) => new RegExp(`NODE_${part}_VERSION (\\d+)`).exec(text)?.[1];
  return ["MAJOR", "MINOR", "PATCH"].map(number).join(".") === process.versions.node
    ? { npm_config_nodedir: home }
    : {};
}

/** How often a running build reports progress. */
const TELL_MS = 30_000;

/** Prints a line now and then until `running` settles, because a compiler prints nothing for minutes. `tell` gets the text. */
export async function withProgress(running, tell, tellMs = TELL_MS) {
  const begunAt = Date.now();
  const timer = setInterval(() => {
    const seconds = Math.round((Date.now() - begunAt) / 1000);
    tell(
      `… still compiling the SQLite binding, ${Math.floor(seconds / 60)} min ${seconds % 60} s so far`,
    );
  }, tellMs);
  try {
    return await running;
  } finally {
    clearInterval(timer);
  }
}

/** The exit status of npm; null if it did not start. */
function npmRebuild(environment) {
  return new Promise((resolve) => {
    const child = spawn("npm", ["rebuild", "better-sqlite3", "--foreground-scripts=false"], {
      cwd: root,
      stdio: ["ignore", 2, 2],
      shell: process.platform === "win32",
      env: { ...process.env, ...environment },
    });
    child.once("error", () => resolve(null));
    child.once("exit", resolve);
  });
}

async function rebuild(environment) {
  const wrap = join(root, "native/object-wrap.h");
  const flags = `${process.env.CXXFLAGS ?? ""} -include '${wrap}'`.trim();
  const running = npmRebuild({ CXXFLAGS: flags, ...ownHeaders(), ...environment });
  const status = await withProgress(running, (text) => console.error(text));
  return status === 0 ? misfit(installed) : "npm rebuild failed";
}

async function main() {
  const fault = misfit(installed);
  if (fault === null) return;
  console.error(`Rebuilding the SQLite binding: ${fault}`);
  // A prebuilt one if one fits, otherwise the compiler.
  let left = await rebuild({});
  if (left !== null) {
    console.error(
      "No prebuilt binding fits, so it is compiled here. This takes 1 to 3 minutes on a PC, and up to 15 on a small machine such as a Raspberry Pi",
    );
    left = await rebuild({ npm_config_build_from_source: "true" });
  }
  if (left !== null) {
    console.error(`error: there is no SQLite binding for Node ${process.versions.node}: ${left}`);
    process.exitCode = 1;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main();
