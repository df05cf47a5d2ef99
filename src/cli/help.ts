import type { Command } from "./command.ts";
import { table } from "./table.ts";

export function programHelp(commands: readonly Command[]): string {
  return `Usage: gateside COMMAND [--flag value …]

Reads a wireless-sensor gateway, converts readings to engineering units, buffers them and publishes them to MQTT.

Commands
${table(commands.map(({ name, summary }) => [name, summary]))}
  gateside COMMAND --help   flags, defaults and examples of a command
  gateside --version        version of this program
`;
}

export function commandHelp(command: Command): string {
  const words = command.flags.map(({ name, value, required }) => {
    const flag = value === undefined ? `--${name}` : `--${name} ${value}`;
    return required ? flag : `[${flag}]`;
  });
  const flags = command.flags.map(({ name, value, doc, default: fallback, many }) => [
    `--${name}${value === undefined ? "" : ` ${value}`}`,
    `${doc}${fallback === undefined ? "" : ` (default ${fallback})`}${many ? "; may be repeated" : ""}`,
  ]);
  const details = command.details === undefined ? "" : `\n${command.details}\n`;
  const examples = command.examples.map((example) => `  ${example}\n`).join("");
  return `Usage: gateside ${[command.name, ...words].join(" ")}

${capital(command.summary)}.
${details}
Flags
${table([...flags, ["--help", "this text"]])}
Examples
${examples}`;
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
