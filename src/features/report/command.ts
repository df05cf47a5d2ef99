/** The report on a machine, written to a file or to stdout. */
import { writeFileSync } from "node:fs";
import { reportFailure } from "../../cli/agent-client.ts";
import { agentOrStore } from "../../cli/agent-or-store.ts";
import { type CommandContext, UsageError } from "../../cli/command.ts";
import { loadProcessSettings } from "../../cli/configuration.ts";
import { outFile } from "../../cli/out-file.ts";
import { parseTime } from "../../cli/times.ts";
import { writeOut } from "../../cli/write-out.ts";
import { DAY_MS } from "../../core/time-units.ts";

interface ReportedMachine {
  readonly id: number | null;
  readonly name: string | null;
}

const REPORT_TIMEOUT_MS = 120_000;
/** As long as hourly values may be kept. */
const DAYS_MAX = 3650;

/** The report on a machine as one HTML document: 0 written, 1 unknown machine, or neither an agent nor a store. */
export async function run(context: CommandContext): Promise<number> {
  const { flags, stdout, stderr, signal, cwd } = context;
  const wanted = flags.text("machine") ?? "";
  const out = flags.text("out") ?? "-";
  const path = out === "-" ? null : outFile("out", out, cwd);
  const settings = loadProcessSettings(context);
  const range = rangeOf(flags, settings.gatewayTimezone);
  const agent = agentOrStore(context, settings);
  try {
    type List = { readonly machines: readonly ReportedMachine[] };
    const list = await agent.get<List>("/api/v1/machines?sort=worst");
    const machines = list.machines.filter(({ id }) => id !== null);
    const found = machines.find(({ id, name }) => String(id) === wanted || name === wanted);
    if (found === undefined) {
      stderr.write(unknownMachine(wanted, machines));
      return 1;
    }
    const address = `/api/v1/machines/${found.id}/report?${range.toString()}`;
    const { html } = await agent.get<{ readonly html: string }>(address, REPORT_TIMEOUT_MS);
    if (path === null) await writeOut(stdout, html, signal);
    else writeFileSync(path, html);
    return 0;
  } catch (error) {
    return reportFailure(error, context);
  } finally {
    await agent.close();
  }
}

/** As parameters of the operation. Days and times without a zone are the gateway's. */
function rangeOf(flags: CommandContext["flags"], zone: string): URLSearchParams {
  const [from, to] = [flags.text("from"), flags.text("to")];
  const days = flags.number("days", { min: 1, max: DAYS_MAX, isInteger: true });
  if (days !== null && from !== null)
    throw new UsageError("--days and --from both say where the period begins; leave out one");
  const toMs = to === null ? null : parseTime("to", to, zone, true);
  const startMs = days === null ? null : (toMs ?? Date.now()) - days * DAY_MS;
  const fromMs = from === null ? startMs : parseTime("from", from, zone, false);
  if (fromMs !== null && fromMs >= (toMs ?? Date.now()))
    throw new UsageError("--from is not before --to");
  const query = new URLSearchParams({ units: flags.choice("units", ["metric", "us"]) ?? "metric" });
  if (fromMs !== null) query.set("from", new Date(fromMs).toISOString());
  if (toMs !== null) query.set("to", new Date(toMs).toISOString());
  return query;
}

function unknownMachine(wanted: string, machines: readonly ReportedMachine[]): string {
  const known = machines
    .toSorted((a, b) => Number(a.id) - Number(b.id))
    .map(({ id, name }) => `  ${String(id)}  ${name ?? ""}`.trimEnd());
  const first = `error: there is no machine ${JSON.stringify(wanted)}; `;
  if (known.length === 0)
    return `${first}the site file names none: add machines, or the locations of sensors\n`;
  return `${first}there are\n${known.join("\n")}\n`;
}
