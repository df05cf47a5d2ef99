import { changeLines, type ReloadReport, renewedBy } from "../core/configuration/configuration.ts";
import { faultText } from "../core/configuration/configuration-fault.ts";
import { createAgentClient, reportFailure } from "./agent-client.ts";
import type { CommandContext } from "./command.ts";
import { loadProcessSettings, UNHEARD } from "./configuration.ts";

/** Closing and opening sessions takes longer than a query. */
const RELOAD_TIMEOUT_MS = 60_000;

/** Makes the running agent read its files again: 0 applied or unchanged, 1 refused or no response. */
export async function run(context: CommandContext): Promise<number> {
  const { flags, stdout, signal } = context;
  // Warnings about settings come with the agent's response.
  const client = createAgentClient(loadProcessSettings({ ...context, stderr: UNHEARD }));
  let report: ReloadReport;
  try {
    report = await client.post<ReloadReport>("/api/v1/reload", {}, signal, RELOAD_TIMEOUT_MS);
  } catch (error) {
    return reportFailure(error, context);
  }
  if (flags.has("json")) stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  else print(report, context);
  return report.outcome === "refused" ? 1 : 0;
}

function print(report: ReloadReport, { stdout, stderr }: CommandContext): void {
  const { outcome, configuration, changes, faults, warnings, pendingRestart } = report;
  for (const warning of warnings) stderr.write(`warning: ${faultText(warning)}\n`);
  for (const fault of faults) stderr.write(`error: ${faultText(fault)}\n`);
  if (outcome === "refused") {
    stderr.write(`\nreload refused; configuration ${configuration} stays in effect\n`);
  } else {
    for (const line of changeLines(changes)) stdout.write(`${line}\n`);
    const what = outcome === "unchanged" ? "nothing has changed" : "applied";
    stdout.write(`${what}: configuration ${configuration} is in effect\n`);
  }
  if (pendingRestart.length > 0)
    stdout.write(`waiting for a restart: ${pendingRestart.join(", ")}\n`);
  const renewed = renewedBy(report);
  if (renewed.length > 0)
    stdout.write(
      `copies of the start below $CREDENTIALS_DIRECTORY, renewed by a restart: ${renewed.join(", ")}\n`,
    );
}
