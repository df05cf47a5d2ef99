import {
  type AgentClient,
  AgentFailure,
  createAgentClient,
  givenAddress,
  reportFailure,
} from "../../cli/agent-client.ts";
import { type CommandContext, type Flags, UsageError } from "../../cli/command.ts";
import { loadProcessSettings } from "../../cli/configuration.ts";
import { table } from "../../cli/table.ts";
import type { AgentStatus } from "../../core/agent-status.ts";
import type { AlarmLists, BaselineView, ShownAlarm } from "../../core/alarm/shown.ts";
import { withTimes } from "../../core/text/times-in-text.ts";
import { wallClockText } from "../../core/time/time-zone.ts";
import { userName } from "../../lib/user-name.ts";
import { FINDING_ALARM, NORMAL_STATE } from "./rules/finding-alarms.ts";

/** Flags that perform an action; without one of them alarms are listed. */
const DEEDS = ["ack", "shelve", "unshelve", "relearn", "baselines"] as const;
const SHELF_MINUTES = 480;

/** Alarms of the running agent: 0 done, or none active; 1 some are active, refused, or no response. */
export async function run(context: CommandContext): Promise<number> {
  const { flags } = context;
  const given = DEEDS.filter((deed) => flags.has(deed));
  if (given.length > 1) {
    throw new UsageError(`--${given[0]} and --${given[1]} cannot be combined`);
  }
  const deed = given[0] ?? (flags.has("note") ? "note" : "list");
  for (const [name, owner] of [
    ["minutes", "shelve"],
    ["id", "note"],
  ] as const)
    if (flags.has(name) && deed !== owner) throw new UsageError(`--${name} belongs to --${owner}`);
  const url = givenAddress(flags.text("url"));
  const client = createAgentClient(loadProcessSettings(context), url);
  try {
    return await perform(context, client, deed);
  } catch (error) {
    const shown = flags.has("json") ? error : await withZonedTimes(error, client, context.signal);
    return reportFailure(shown, context);
  }
}

/** A refusal that names an instant has it in the gateway's zone, as the lists do. */
async function withZonedTimes(
  error: unknown,
  client: AgentClient,
  signal: AbortSignal,
): Promise<unknown> {
  if (!(error instanceof AgentFailure) || withTimes(error.message, () => "") === error.message)
    return error;
  const zone = await zoneOf(client, signal).catch(() => null);
  if (zone === null) return error;
  const message = withTimes(error.message, (ms) => `${zone.at(ms)} ${zone.timezone}`);
  return new AgentFailure(error.code, message, error);
}

async function perform(
  context: CommandContext,
  client: AgentClient,
  deed: (typeof DEEDS)[number] | "note" | "list",
): Promise<number> {
  switch (deed) {
    case "list":
      return list(context, client);
    case "baselines":
      return baselines(context, client);
    case "relearn":
      return relearn(context, client);
    case "ack":
      return act(context, client, "acknowledge", context.flags.required("ack"), {});
    case "shelve": {
      const minutes = context.flags.number("minutes", { min: 1, max: 44_640 }) ?? SHELF_MINUTES;
      return act(context, client, "shelve", context.flags.required("shelve"), { minutes });
    }
    case "unshelve":
      return act(context, client, "unshelve", context.flags.required("unshelve"), {});
    case "note":
      return act(context, client, "note", context.flags.required("id"), {});
  }
}

async function list(
  { flags, stdout, signal }: CommandContext,
  client: AgentClient,
): Promise<number> {
  const history = flags.number("history", { min: 0, max: 1000, isInteger: true }) ?? 0;
  const lists = await client.get<AlarmLists>(`/api/v1/alarms?history=${history}`, signal);
  if (flags.has("json")) stdout.write(`${JSON.stringify(lists, null, 2)}\n`);
  else stdout.write(listText(lists, await zoneOf(client, signal)));
  return lists.active.length > 0 ? 1 : 0;
}

/** How the agent's own zone writes an instant, and its name. */
async function zoneOf(client: AgentClient, signal: AbortSignal) {
  const { timezone } = await client.get<Pick<AgentStatus, "timezone">>("/api/v1/status", signal);
  return { timezone, at: (ms: number) => wallClockText(ms, timezone) };
}

function listText(
  { active, acknowledged, shelved, history }: AlarmLists,
  { timezone, at }: Awaited<ReturnType<typeof zoneOf>>,
): string {
  const row = (state: string, { id, severity, raised, text, alarm, value, sensor }: ShownAlarm) => [
    id,
    state,
    severity ?? "",
    raised ?? "",
    text ?? `${alarm} on ${value} of sensor ${sensor}`,
  ];
  const rows = [
    ...active.map((view) => row("active", view)),
    ...acknowledged.map((view) => row(`acknowledged by ${view.acknowledged?.by}`, view)),
    ...shelved.map((view) => row(`shelved until ${view.shelved?.until}`, view)),
  ];
  const events = history.map(({ time, text }) => [String(time), String(text)]);
  const tableOf = (lines: readonly string[][]) =>
    table(
      lines.map((line) => line.map((text) => withTimes(text, at))),
      "",
    );
  const none = rows.length === 0 ? "no alarm is active or shelved\n" : tableOf(rows);
  const all = events.length === 0 ? none : `${none}\n${tableOf(events)}`;
  return rows.length + events.length === 0 ? all : `${all}\ntimes in ${timezone}\n`;
}

async function act(
  { flags, stdout, signal }: CommandContext,
  client: AgentClient,
  word: string,
  id: string,
  more: object,
): Promise<number> {
  if (!/^[0-9a-f]{32}$/.test(id))
    throw new UsageError(
      `${JSON.stringify(id)} is not an alarm id: 32 digits 0-9a-f, the first column of \`gateside alarms\``,
    );
  const note = flags.text("note");
  const body = { by: whoIs(flags), ...(note === null ? {} : { note }), ...more };
  const path = `/api/v1/alarms/${encodeURIComponent(id)}/${word}`;
  const response = await client.post<Acted>(path, body, signal);
  if (flags.has("json")) stdout.write(`${JSON.stringify(response, null, 2)}\n`);
  else if (word !== "shelve") stdout.write("done\n");
  else stdout.write(shelvedText(response, await zoneOf(client, signal)));
  return 0;
}

interface Acted {
  readonly alarm?: Pick<ShownAlarm, "shelved">;
}

/** A shelf without a duration gets the default one. */
function shelvedText({ alarm }: Acted, { timezone, at }: Awaited<ReturnType<typeof zoneOf>>) {
  const until = alarm?.shelved?.until;
  return until === undefined
    ? "done\n"
    : `done, shelved until ${at(Date.parse(until))} ${timezone}\n`;
}

async function relearn(
  { flags, stdout, signal }: CommandContext,
  client: AgentClient,
): Promise<number> {
  const parts = flags.required("relearn").split("/");
  if (parts.length === 2 && parts[1] === FINDING_ALARM) parts.push(NORMAL_STATE);
  if (parts.length !== 3 || parts.includes("")) {
    throw new UsageError(
      "--relearn takes SENSOR/ALARM/VALUE, as --baselines lists them, or SENSOR/finding",
    );
  }
  const path = `/api/v1/baselines/${parts.map(encodeURIComponent).join("/")}/relearn`;
  const body = { by: whoIs(flags) };
  const response = await client.post<{ readonly detail: string }>(path, body, signal);
  stdout.write(`${flags.has("json") ? JSON.stringify(response) : response.detail}\n`);
  return 0;
}

async function baselines(
  { flags, stdout, signal }: CommandContext,
  client: AgentClient,
): Promise<number> {
  type Listed = { readonly baselines: readonly BaselineView[] };
  const response = await client.get<Listed>("/api/v1/baselines", signal);
  if (flags.has("json")) stdout.write(`${JSON.stringify(response, null, 2)}\n`);
  else if (response.baselines.length === 0)
    stdout.write("no baseline is learned or being learned\n");
  else stdout.write(table(response.baselines.map(baselineRow), ""));
  return 0;
}

function baselineRow(one: BaselineView): string[] {
  const unit = one.unit === null || one.unit === "1" ? "" : ` ${one.unit}`;
  const number = (value: number | null) =>
    value === null ? "–" : `${Number(value.toPrecision(4))}${unit}`;
  return [
    `${one.sensor}/${one.alarm}/${one.value}`,
    one.record === null ? one.machineState : `${one.machineState}, ${one.record}`,
    one.status === "learning" ? `learning ${one.learned} of ${one.wanted}` : one.status,
    `median ${number(one.median)}`,
    one.low === null
      ? `limit ${number(one.high)}`
      : `limits ${number(one.low)} and ${number(one.high)}`,
  ];
}

function whoIs(flags: Flags): string {
  return flags.text("by") ?? userName() ?? `user ${process.getuid?.() ?? ""}`.trim();
}
