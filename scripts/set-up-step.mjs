// One step of setting a checkout up: says what it does and how long that usually takes, shows that it is still at work, and turns
// a failure into one sentence with what to do. Plain JavaScript without packages, because it runs before there are any.
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

/** How often a step that prints nothing says that it is still at work. */
const STILL_MS = 10_000;
/** Of what a program prints: the end, which says why it failed. */
const OUTPUT_MAX = 200_000;

const isThere = (program) =>
  spawnSync(program, ["--version"], { stdio: "ignore" }).error === undefined;

/** What node-gyp needs and this machine lacks, as Debian calls the packages. */
function missingTools() {
  return [
    ["g++", "g++"],
    ["make", "make"],
    ["python3", "python3"],
  ]
    .filter(([program]) => !isThere(program))
    .map(([, name]) => name);
}

const REGISTRY =
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ERR_SOCKET_TIMEOUT|CERT_[A-Z_]+|SELF_SIGNED_CERT_IN_CHAIN)\b/;
const FOLDER = /\b(EROFS|EACCES|EPERM)\b/;

/**
 * What to do about a failed `npm`, in one sentence or two; null where its output has to speak for itself.
 * @param {string} output what npm printed
 * @param {readonly string[]} missing build tools that are not installed
 */
export function adviceOf(output, missing) {
  if (/\bENOSPC\b/.test(output))
    return "The disk is full: free about 600 MB and run the command again.";
  if (/gyp ERR!/.test(output)) {
    const why = "No prebuilt SQLite binding could be fetched, so it has to be compiled";
    return missing.length > 0
      ? `${why}, and ${missing.join(", ")} ${missing.length > 1 ? "are" : "is"} missing. Install them (Debian, Ubuntu, Raspberry Pi OS: sudo apt-get install -y ${missing.join(" ")}) and run the command again.`
      : `${why}, and that failed. What the compiler said stands above.`;
  }
  if (FOLDER.test(output))
    return "This folder or npm's cache cannot be written: clone into a folder of your own, or give it back to you (sudo chown -R $USER . ~/.npm).";
  const [code] = REGISTRY.exec(output) ?? [];
  if (code !== undefined)
    return `The package registry does not answer (${code}). Check the network; behind a proxy set HTTPS_PROXY, with a mirror: npm config set registry ADDRESS.`;
  return null;
}

/** npm shows nothing of what a package's own build does; this file is there from the moment node-gyp compiles. */
const isCompiling = (cwd) =>
  existsSync(join(cwd, "node_modules", "better-sqlite3", "build", "Makefile"));

const seconds = (ms) => `${Math.round(ms / 1000)} s`;

/**
 * Runs npm. Its output is shown only where it failed and no advice fits, or always where `isLoud`.
 * @returns {Promise<string | null>} what went wrong, as a sentence; null if nothing
 */
export async function npmStep({ what, usual, words, cwd, tell, stillMs = STILL_MS }) {
  tell(`${what} (npm ${words.join(" ")}): usually ${usual}`);
  const begunAt = Date.now();
  const timer = setInterval(
    () =>
      tell(
        `… still at it, ${seconds(Date.now() - begunAt)} so far${words[0] === "ci" && isCompiling(cwd) ? "; compiling SQLite, since no prebuilt one could be fetched" : ""}`,
      ),
    stillMs,
  );
  let output = "";
  const code = await new Promise((resolve) => {
    const child = spawn("npm", words, {
      cwd,
      stdio: ["ignore", "pipe", "pipe"],
      shell: process.platform === "win32",
    });
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text) => {
        output = (output + text).slice(-OUTPUT_MAX);
        // The build of the SQLite binding says by itself how far it is.
        if (words[0] === "run") process.stderr.write(text);
      });
    child.once("error", (error) => {
      output += `\n${error.message}`;
      resolve(null);
    });
    child.once("close", resolve);
  });
  clearInterval(timer);
  if (code === 0) {
    tell(`${what}: done in ${seconds(Date.now() - begunAt)}`);
    return null;
  }
  const advice = adviceOf(output, missingTools());
  if (advice !== null && !advice.endsWith("above.")) return `${what} failed. ${advice}`;
  if (words[0] !== "run") process.stderr.write(output);
  return `${what} failed. ${advice ?? "What npm said stands above."}`;
}
