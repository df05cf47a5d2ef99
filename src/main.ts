// First: the other imports take a good part of a second.
import "./cli/hold-hang-up.ts";
import { runProgram } from "./cli/program.ts";
import { processEnvironment } from "./config/settings.ts";
import { giveAttemptsTime } from "./lib/connecting.ts";
import { isLogOutput } from "./lib/log-output.ts";

giveAttemptsTime();

/** A command that has ended but left something open is given this long, ms. */
const LINGER_MS = 2000;

const stop = new AbortController();
// The agent reads its files after this: until it listens, there is nothing to read again.
let hangUp: (() => void) | null = process.argv[2] === "run" ? () => {} : null;

for (const [name, number] of [
  ["SIGINT", 2],
  ["SIGTERM", 15],
  ["SIGHUP", 1],
] as const) {
  process.on(name, () => {
    // Reloads the configuration if the command supports that (contract: `run`).
    if (name === "SIGHUP" && hangUp !== null && !stop.signal.aborted) return hangUp();
    // The second signal ends the process at once (contract section 2).
    if (stop.signal.aborted) process.exit(128 + number);
    stop.abort(name);
  });
}
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (isLogOutput(stream)) return;
    // `gateside export | head`: the reader has closed the pipe, which is not a failure.
    if (error.code !== "EPIPE") {
      // Usually a full disk behind `> file`. The output is incomplete, so this must not look like success.
      if (stream === process.stdout)
        process.stderr.write(`error: the output cannot be written: ${error.message}\n`);
      process.exit(1);
    }
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
  onHangup: (listener) => {
    hangUp = listener;
  },
}).then((code) => {
  process.exitCode = code;
  setTimeout(() => process.exit(), LINGER_MS).unref();
});
