import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openStoppedAgent } from "../agent/stopped-report.ts";
import type { UnboundSettings } from "../config/settings.ts";
import { PRESETS } from "../core/read-units.ts";
import { DAY_MS } from "../core/time-units.ts";
import { silentLogger } from "../lib/logger.ts";
import { StoreFailure } from "../pipeline/store/database/store-failure.ts";
import { AgentFailure, createAgentClient, givenAddress } from "./agent-client.ts";
import { type CommandContext, UsageError } from "./command.ts";
import { loadConfiguration, loadProcessSettings, UNHEARD } from "./configuration.ts";
import { outFile } from "./out-file.ts";
import { parseTime } from "./times.ts";
import { writeOut } from "./write-out.ts";

interface ReportedMachine {
  readonly id: number | null;
  readonly name: string | null;
}

/** Null: until now, or the 30 days before. */
interface Range {
  readonly fromMs: number | null;
  readonly toMs: number | null;
  readonly units: keyof typeof PRESETS;
}

/** Where a report comes from: the running agent, or its store while it is stopped. */
interface ReportSource {
  machines(): Promise<readonly ReportedMachine[]>;
  /** Null for a machine that nothing names. */
  report(id: number, range: Range): Promise<string | null>;
  close(): Promise<void>;
}

const REPORT_TIMEOUT_MS = 120_000;
const REPORT_DAYS = 30;
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
  try {
    const source = await sourceOf(context, settings);
    try {
      const machines = (await source.machines()).filter(({ id }) => id !== null);
      const found = machines.find(({ id, name }) => String(id) === wanted || name === wanted);
      const html = found === undefined ? null : await source.report(Number(found.id), range);
      if (html === null) {
        stderr.write(unknownMachine(wanted, machines));
        return 1;
      }
      if (path === null) await writeOut(stdout, html, signal);
      else writeFileSync(path, html);
      return 0;
    } finally {
      await source.close();
    }
  } catch (error) {
    if (!(error instanceof AgentFailure || error instanceof StoreFailure)) throw error;
    stderr.write(`error: ${error.message}\n`);
    return 1;
  }
}

/** Days and times without a zone are the gateway's. */
function rangeOf(flags: CommandContext["flags"], zone: string): Range {
  const [from, to] = [flags.text("from"), flags.text("to")];
  const days = flags.number("days", { min: 1, max: DAYS_MAX, isInteger: true });
  if (days !== null && from !== null)
    throw new UsageError("--days and --from both say where the period begins; leave out one");
  const toMs = to === null ? null : parseTime("to", to, zone, true);
  const startMs = days === null ? null : (toMs ?? Date.now()) - days * DAY_MS;
  const fromMs = from === null ? startMs : parseTime("from", from, zone, false);
  if (fromMs !== null && fromMs >= (toMs ?? Date.now()))
    throw new UsageError("--from is not before --to");
  return { fromMs, toMs, units: flags.choice("units", ["metric", "us"]) ?? "metric" };
}

async function sourceOf(context: CommandContext, settings: UnboundSettings): Promise<ReportSource> {
  const { flags, signal } = context;
  const url = givenAddress(flags.text("url"));
  const client = createAgentClient(settings, url);
  try {
    type List = { readonly machines: readonly ReportedMachine[] };
    const { machines } = await client.get<List>("/api/v1/machines?sort=worst", signal);
    return {
      machines: () => Promise.resolve(machines),
      async report(id, { fromMs, toMs, units }) {
        const query = new URLSearchParams({ units });
        if (fromMs !== null) query.set("from", new Date(fromMs).toISOString());
        if (toMs !== null) query.set("to", new Date(toMs).toISOString());
        const address = `/api/v1/machines/${id}/report?${query.toString()}`;
        const page = await client.get<{ html: string }>(address, signal, REPORT_TIMEOUT_MS);
        return page.html;
      },
      close: () => Promise.resolve(),
    };
  } catch (error) {
    const isStopped = error instanceof AgentFailure && error.code !== "refused";
    if (!isStopped || url !== null || !existsSync(join(settings.dataDir, "gateside.db")))
      throw error;
    return whileStopped(context);
  }
}

async function whileStopped(context: CommandContext): Promise<ReportSource> {
  // Those of the settings have been printed.
  const configuration = loadConfiguration({ ...context, stderr: UNHEARD });
  const agent = await openStoppedAgent({ ...configuration, logger: silentLogger });
  return {
    machines: () => agent.machines(),
    report(id, { fromMs, toMs, units }) {
      const endMs = toMs ?? Date.now();
      const startMs = fromMs ?? endMs - REPORT_DAYS * DAY_MS;
      return agent.report({ id, fromMs: startMs, toMs: endMs, units: PRESETS[units] });
    },
    close: () => agent.close(),
  };
}

function unknownMachine(wanted: string, machines: readonly ReportedMachine[]): string {
  const known = machines
    .toSorted((a, b) => Number(a.id) - Number(b.id))
    .map(({ id, name }) => `  ${String(id)}  ${name ?? ""}`.trimEnd());
  return `error: there is no machine ${JSON.stringify(wanted)}; there are\n${known.join("\n")}\n`;
}
