import { writeFileSync } from "node:fs";
import { AgentFailure, createAgentClient, givenAddress } from "./agent-client.ts";
import { type CommandContext, UsageError } from "./command.ts";
import { loadProcessSettings } from "./configuration.ts";
import { outFile } from "./out-file.ts";

interface Machine {
  readonly id: number | null;
  readonly name: string | null;
}

const REPORT_TIMEOUT_MS = 120_000;

/** The report on a machine of the running agent as one HTML document: 0 written, 1 unknown machine or no response. */
export async function run(context: CommandContext): Promise<number> {
  const { flags, stdout, stderr, signal, cwd } = context;
  const wanted = flags.text("machine") ?? "";
  const out = flags.text("out") ?? "-";
  const units = flags.text("units") ?? "metric";
  if (units !== "metric" && units !== "us")
    throw new UsageError(`--units ${JSON.stringify(units)} is neither metric nor us`);
  const path = out === "-" ? null : outFile("out", out, cwd);
  const client = createAgentClient(loadProcessSettings(context), givenAddress(flags.text("url")));
  try {
    const list = await client.get("/api/v1/machines?sort=worst", signal);
    const machines = (list as { machines: readonly Machine[] }).machines.filter(
      ({ id }) => id !== null,
    );
    machines.sort((a, b) => Number(a.id) - Number(b.id));
    const found = machines.find(({ id, name }) => String(id) === wanted || name === wanted);
    if (found === undefined) {
      const known = machines.map(({ id, name }) => `  ${String(id)}  ${name ?? ""}`.trimEnd());
      stderr.write(
        `error: there is no machine ${JSON.stringify(wanted)}; there are\n${known.join("\n")}\n`,
      );
      return 1;
    }
    const query = new URLSearchParams({ units });
    for (const name of ["from", "to"]) {
      const text = flags.text(name);
      if (text !== null) query.set(name, instantOf(name, text));
    }
    const report = `/api/v1/machines/${String(found.id)}/report?${query.toString()}`;
    const { html } = (await client.get(report, signal, REPORT_TIMEOUT_MS)) as { html: string };
    if (path === null) stdout.write(html);
    else writeFileSync(path, html);
    return 0;
  } catch (error) {
    if (!(error instanceof AgentFailure)) throw error;
    stderr.write(`error: ${error.message}\n`);
    return 1;
  }
}

/** A day is that day in UTC. */
function instantOf(flag: string, text: string): string {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new UsageError(`--${flag} ${JSON.stringify(text)} is not a time`);
  return new Date(ms).toISOString();
}
