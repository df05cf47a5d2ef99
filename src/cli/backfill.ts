import type { BackfillProgress } from "../core/query/ports.ts";
import { isJsonObject } from "../core/record.ts";
import { sameCode } from "../core/sensor.ts";
import { systemClock } from "../lib/clock.ts";
import { type AgentClient, AgentFailure, findAgent } from "./agent-client.ts";
import { backfillHere } from "./backfill-here.ts";
import { type CommandContext, UsageError, unknownSensor } from "./command.ts";
import { type ComparedConfiguration, loadConfiguration } from "./configuration.ts";
import { ProgressLine } from "./progress.ts";
import { parseDay } from "./times.ts";

/** Interval at which a running agent is asked for its progress, ms. */
const ASK_MS = 500;
/** A busy box may miss a request now and then; after this long without any response the agent is considered gone, ms. */
const SILENT_MS = 60_000;

/** Re-reads days through the running agent if one holds DATA_DIR, otherwise in this process. */
export async function run(context: CommandContext): Promise<number> {
  const { flags, stdout, stderr, signal } = context;
  const from = parseDay("from", flags.required("from"));
  const to = parseDay("to", flags.required("to"));
  if (to < from) throw new UsageError(`--to ${to} is before --from ${from}`);
  const configuration = loadConfiguration(context);
  const sensor = sensorOf(flags.text("sensor"), configuration);
  const request = { from, to, sensor };

  const progress = new ProgressLine(stderr);
  const show = (now: BackfillProgress) =>
    progress.show(`${now.reads.done} of ${now.reads.total} reads, ${now.stored} readings stored`);
  const report = (line: string) => {
    progress.end();
    stderr.write(`${line}\n`);
  };
  let end: BackfillProgress;
  try {
    const agent = await findAgent(configuration, signal);
    end =
      agent === null
        ? await backfillHere(configuration, request, show, signal)
        : await through(agent, request, { show, report }, signal);
  } finally {
    progress.end();
  }
  if (flags.has("json")) stdout.write(`${JSON.stringify(end, null, 2)}\n`);
  else {
    for (const note of end.notes) stderr.write(`${note}\n`);
    stdout.write(
      `${end.state}: ${end.reads.done} of ${end.reads.total} reads (${end.reads.failed} failed), ${end.stored} readings stored, ${end.duplicates} were already stored\n`,
    );
  }
  return end.state === "done" && end.reads.failed === 0 ? 0 : 1;
}

function sensorOf(code: string | null, { site }: ComparedConfiguration): string | null {
  if (code === null) return null;
  const sensor = site.sensors.find((s) => sameCode(s.code, code));
  if (!sensor) throw unknownSensor(code, site);
  return sensor.code;
}

interface Screen {
  /** Redrawn in place, only on a terminal. */
  readonly show: (now: BackfillProgress) => void;
  /** A line that stays, wherever stderr goes. */
  readonly report: (line: string) => void;
}

async function through(
  agent: AgentClient,
  request: BackfillProgress["request"],
  { show, report }: Screen,
  signal: AbortSignal,
): Promise<BackfillProgress> {
  let job = jobOf(await agent.post("/api/v1/backfill", request, signal).catch(asUsage));
  const number = job.job;
  let heldBy: string | null = null;
  const ask = patient(agent, signal);
  while (job.state === "running" && !signal.aborted) {
    const hold = holdOf(await ask("/api/v1/status"));
    if (hold !== heldBy && hold !== null)
      report(`waiting for the gateway: ${hold}; the agent continues after Ctrl-C`);
    heldBy = hold;
    show(job);
    await systemClock.sleep(ASK_MS, signal);
    if (signal.aborted) break;
    job = jobOf(await ask("/api/v1/backfill"));
    if (job.job !== number)
      throw new AgentFailure("refused", "the agent was restarted before the backfill ended");
  }
  return job;
}

/** Retries until there is a response or the agent has been silent too long. */
function patient(agent: AgentClient, signal: AbortSignal): (path: string) => Promise<unknown> {
  let answeredAt = systemClock.monotonic();
  return async (path) => {
    for (;;) {
      try {
        const response = await agent.get(path, signal);
        answeredAt = systemClock.monotonic();
        return response;
      } catch (error) {
        const isSilent = error instanceof AgentFailure && error.code === "unreachable";
        const isLong = systemClock.monotonic() - answeredAt >= SILENT_MS;
        if (!isSilent || isLong || signal.aborted) throw error;
        await systemClock.sleep(ASK_MS, signal);
      }
    }
  };
}

/** The agent knows the gateway's current day and the site: a refused request must not be repeated unchanged. */
function asUsage(error: unknown): never {
  throw error instanceof AgentFailure && error.status === 400
    ? new UsageError(error.message)
    : error;
}

/** Why the gateway currently returns nothing; null while it responds. */
function holdOf(status: unknown): string | null {
  const gateway = isJsonObject(status) ? status["gateway"] : null;
  if (!isJsonObject(gateway) || gateway["isUp"] !== false) return null;
  const why = gateway["lastError"];
  return typeof why === "string" ? why : "it does not respond";
}

function jobOf(response: unknown): BackfillProgress {
  const job: unknown = isJsonObject(response) ? response["job"] : null;
  if (typeof job !== "object" || job === null)
    throw new AgentFailure("refused", "the agent was restarted before the backfill ended");
  return job as BackfillProgress;
}
