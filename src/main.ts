import { runProgram } from "./cli/program.ts";
import { processEnvironment } from "./config/settings.ts";

/** A command that has ended but left something open is given this long, ms. */
const LINGER_MS = 2000;

const stop = new AbortController();

for (const [name, number] of [
  ["SIGINT", 2],
  ["SIGTERM", 15],
  ["SIGHUP", 1],
] as const) {
  process.on(name, () => {
    // The second signal ends the process at once (contract 2).
    if (stop.signal.aborted) process.exit(128 + number);
    stop.abort(name);
  });
}
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    // `gateside export | head`: nobody reads on, which is an end and no failure.
    if (error.code !== "EPIPE") throw error;
    stop.abort("EPIPE");
  });
}

void runProgram({
  words: process.argv.slice(2),
  env: processEnvironment(),
  cwd: process.cwd(),
  stdout: process.stdout,
  stderr: process.stderr,
  signal: stop.signal,
}).then((code) => {
  process.exitCode = code;
  setTimeout(() => process.exit(), LINGER_MS).unref();
});
