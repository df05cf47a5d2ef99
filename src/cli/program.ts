import { faultLine } from "../config/fault.ts";
import { codeOf } from "../core/thrown.ts";
import { likely } from "../lib/nearest.ts";
import { VERSION } from "../lib/version.ts";
import { StoreFailure } from "../pipeline/store/database/store-failure.ts";
import { UNFIT } from "./collect-bundle.ts";
import { type Command, type CommandContext, type TextSink, UsageError } from "./command.ts";
import { COMMANDS, TRAINING } from "./commands.ts";
import { ConfigurationError } from "./configuration.ts";
import { commandHelp, programHelp } from "./help.ts";
import { parseFlags } from "./parse-flags.ts";

export interface ProgramContext extends Omit<CommandContext, "flags" | "operands"> {
  /** Arguments after the program's name. */
  readonly words: readonly string[];
}

/** Exit codes: 0 done, 1 tried and failed, 2 wrong command line, settings or site file. */
export async function runProgram(
  context: ProgramContext,
  commands: readonly Command[] = COMMANDS,
): Promise<number> {
  const { words, stdout, stderr } = context;
  const [name, ...rest] = words;
  if (name === undefined) {
    stderr.write(programHelp(commands));
    return 2;
  }
  const isHelp = name === "--help" || name === "-h" || name === "help";
  const helped = isHelp ? rest[0] : undefined;
  if (isHelp && (helped === undefined || commands.some((c) => c.name === helped))) {
    const command = commands.find((c) => c.name === helped);
    stdout.write(command ? commandHelp(command) : programHelp(commands));
    return 0;
  }
  if (name === "--version" || name === "-v") {
    stdout.write(`${VERSION}\n`);
    return 0;
  }
  const wanted = helped ?? name;
  const command = [...commands, TRAINING].find((c) => c.name === wanted);
  if (!command) {
    const known = [...commands.map((c) => c.name), "--help", "--version"];
    const closest = likely(wanted, known);
    const advice =
      wanted.startsWith("-") && closest === null
        ? "flags follow the command, such as `gateside check --json`; "
        : closest === null
          ? ""
          : `did you mean ${closest}? `;
    stderr.write(
      `error: unknown command ${JSON.stringify(wanted)}; ${advice}\`gateside --help\` lists them\n`,
    );
    return 2;
  }
  if (rest.includes("--help") || rest.includes("-h")) {
    stdout.write(commandHelp(command));
    return 0;
  }
  try {
    const firstFlag = rest.findIndex((word) => word.startsWith("-"));
    const count = command.operands === undefined ? 0 : firstFlag < 0 ? rest.length : firstFlag;
    const operands = rest.slice(0, count);
    const flags = parseFlags(rest.slice(count), command.flags);
    const { run } = await command.load();
    return await run({ ...context, flags, operands });
  } catch (error) {
    return report(error, command, stderr);
  }
}

function report(error: unknown, command: Command, stderr: TextSink): number {
  if (error instanceof ConfigurationError) {
    for (const fault of error.faults) stderr.write(`error: ${faultLine(fault)}\n`);
    return 2;
  }
  if (error instanceof UsageError) {
    stderr.write(`error: ${error.message} (\`gateside ${command.name} --help\`)\n`);
    return 2;
  }
  // A DATA_DIR that no agent could use is a wrong setting, whichever command finds it.
  if (error instanceof StoreFailure && error.code === "unusable") {
    stderr.write(`error: ${error.message}\n`);
    return 2;
  }
  if (error instanceof Error) {
    // Expected failures carry a code and a message for people; everything else is our bug and shows where.
    const isExpected = "code" in error;
    stderr.write(`error: ${isExpected ? error.message : (error.stack ?? error.message)}\n`);
    return codeOf(error) === UNFIT ? 2 : 1;
  }
  throw error;
}
