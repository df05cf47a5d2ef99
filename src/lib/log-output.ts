/** Where the lines of the log go. A reader that stops (a full pipe, Ctrl-S, a stuck log driver) never stops who writes. */
import { fstatSync } from "node:fs";
import { isatty } from "node:tty";
import { type DestinationStream, pino } from "pino";

/** Lines wait up to this many bytes while nobody takes them; further ones are lost, counted and told. */
const UNWRITTEN_MAX = 1 << 20;
const STDOUT = 1;

/** Of this process. */
export const logLines = { dropped: 0 };

/** What `process.stdout` is, and tests are given. */
interface Output {
  readonly writableLength: number;
  write(text: string): boolean;
  on(event: "drain" | "error", act: () => void): unknown;
}

/** Output that is written as far as it is taken, and never waited for. */
export class LogOutput implements DestinationStream {
  readonly #output: Output;
  readonly #now: () => Date;
  #untold = 0;

  constructor(output: Output, now: () => Date = () => new Date()) {
    this.#output = output;
    this.#now = now;
    output.on("drain", () => this.#tell());
    // Whoever read it is gone: that is no reason to stop.
    output.on("error", () => {});
  }

  write(line: string): void {
    if (this.#output.writableLength + line.length <= UNWRITTEN_MAX) {
      this.#output.write(line);
      return;
    }
    logLines.dropped += 1;
    this.#untold += 1;
  }

  #tell(): void {
    if (this.#untold === 0) return;
    const msg = `${this.#untold} lines were not written: nothing took the log's output`;
    this.#untold = 0;
    this.#output.write(`${JSON.stringify({ level: 40, time: this.#now().toISOString(), msg })}\n`);
  }
}

let isUsed = false;

/** Whether the log goes to this stream: its failures end nothing. */
export const isLogOutput = (stream: unknown): boolean => isUsed && stream === process.stdout;

export function openStdout(): DestinationStream {
  const stat = fstatSync(STDOUT);
  if (stat.isFIFO() || stat.isSocket() || isatty(STDOUT)) {
    isUsed = true;
    // Of a terminal, Node waits for each write.
    const handle: unknown = Reflect.get(process.stdout, "_handle");
    if (isatty(STDOUT) && isBlockable(handle)) handle.setBlocking(false);
    return new LogOutput(process.stdout);
  }
  const stdout = pino.destination({ dest: STDOUT, sync: true, maxLength: UNWRITTEN_MAX });
  stdout.on("drop", () => {
    logLines.dropped += 1;
  });
  // A full disk behind the log is no reason to stop measuring; the lines wait.
  stdout.on("error", () => {});
  return stdout;
}

const isBlockable = (handle: unknown): handle is { setBlocking(isBlocking: boolean): void } =>
  typeof handle === "object" && handle !== null && "setBlocking" in handle;
