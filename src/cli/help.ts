import { type Command, type FlagSpec, flagCall } from "./command.ts";
import { table } from "./table.ts";

export function programHelp(commands: readonly Command[]): string {
  return `Usage: gateside COMMAND [--flag value …]

Polls a wireless-sensor gateway, converts readings to engineering units, buffers them, and publishes them over MQTT.

Commands
${table(commands.map(({ name, summary }) => [name, summary]))}
  gateside COMMAND --help   flags, defaults and examples of a command
  gateside --version        version of this program
`;
}

export function commandHelp(command: Command): string {
  const words = usageWords(command.flags);
  const flags = command.flags.map((flag) => {
    const { doc, default: fallback, many } = flag;
    return [
      flagCall(flag),
      `${doc}${fallback === undefined ? "" : ` (default ${fallback})`}${many ? "; may be repeated" : ""}`,
    ];
  });
  const details = command.details === undefined ? "" : `\n${command.details}\n`;
  const examples = command.examples.map((example) => `  ${example}\n`).join("");
  return `Usage: gateside ${[command.name, ...(command.operands === undefined ? [] : [command.operands]), ...words].join(" ")}

${capital(command.summary)}.
${details}
Flags
${table([...flags, ["--help", "this text"]])}
Examples
${examples}`;
}

/** Required flags bare, optional ones in brackets, and `(--a A | --b B)` if one of two is required. */
function usageWords(flags: readonly FlagSpec[]): string[] {
  const listed = new Set<string>();
  return flags.flatMap((flag) => {
    const other = flags.find(({ name }) => name === flag.requiredUnless);
    if (other === undefined) return flag.required ? flagCall(flag) : `[${flagCall(flag)}]`;
    listed.add(flag.name);
    return listed.has(other.name) ? [] : `(${flagCall(flag)} | ${flagCall(other)})`;
  });
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
