/**
 * A process that checks configurations with schemas that ajv compiles now: `[{ env, cwd }]` by standard input, what each check says by standard output.
 * `--import tsx test/support/check-child.ts`
 */
import { readFileSync } from "node:fs";
import { type CommandRun, runCommand } from "./run-command.ts";

type Configuration = Parameters<typeof runCommand>[1];

const runs: CommandRun[] = [];
for (const one of JSON.parse(readFileSync(0, "utf8")) as Configuration[])
  runs.push(await runCommand(["check", "--json"], one));
process.stdout.write(JSON.stringify(runs));
