import type { TextSink } from "../../src/cli/command.ts";
import { runProgram } from "../../src/cli/program.ts";
import type { Environment } from "../../src/config/environment-type.ts";

export interface CommandRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command in this process, as main.ts would. */
export async function runCommand(
  words: readonly string[],
  options: {
    readonly env?: Environment;
    readonly cwd?: string;
    readonly signal?: AbortSignal;
  } = {},
): Promise<CommandRun> {
  const stdout = collector();
  const stderr = collector();
  const code = await runProgram({
    words,
    env: options.env ?? {},
    cwd: options.cwd ?? "/nonexistent",
    signal: options.signal ?? new AbortController().signal,
    stdout,
    stderr,
  });
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

function collector(): TextSink & { text(): string } {
  const parts: string[] = [];
  return {
    write(part) {
      parts.push(typeof part === "string" ? part : Buffer.from(part).toString());
      return true;
    },
    text: () => parts.join(""),
  };
}
