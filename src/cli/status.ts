import {
  type AgentStatus,
  isGatewayWell,
  isUntried,
  type LinkState,
  type LinkStatus,
} from "../core/agent-status.ts";
import type { AlarmCounts } from "../core/alarm/shown.ts";
import { renewedBy } from "../core/configuration/configuration.ts";
import { uplinkTitle } from "../core/delivery/link-title.ts";
import { because } from "../core/status/box-fault.ts";
import { certificateTitle, endingText } from "../core/status/certificate.ts";
import type { FeatureSpec } from "../features/feature.ts";
import { SPECS } from "../features/specs.ts";
import { createAgentClient, givenAddress, reportFailure } from "./agent-client.ts";
import type { CommandContext } from "./command.ts";
import { loadProcessSettings } from "./configuration.ts";
import { machineLines, readMachines, type StatusMachine } from "./status-machines.ts";
import { table } from "./table.ts";
import { duration } from "./times.ts";

const FEATURE_SPECS: readonly FeatureSpec[] = SPECS;

/** The agent's response; null: alarms are disabled. Agents before 0.2 report no alarms. */
type SaidStatus = AgentStatus & { readonly alarms?: AlarmCounts | null };

/** The running agent at a glance: 0 everything works, 1 something does not, or no response. */
export async function run(context: CommandContext): Promise<number> {
  const { flags, stdout, signal } = context;
  const url = givenAddress(flags.text("url"));
  const settings = loadProcessSettings(context);
  let status: SaidStatus;
  let machines: readonly StatusMachine[] | null;
  try {
    const client = createAgentClient(settings, url);
    status = await client.get<SaidStatus>("/api/v1/status", signal);
    machines = await readMachines(client, signal);
  } catch (error) {
    return reportFailure(error, context);
  }
  const told = machines === null ? status : { ...status, machines };
  stdout.write(
    flags.has("json") ? `${JSON.stringify(told, null, 2)}\n` : statusText(status, machines ?? []),
  );
  return isWell(status) ? 0 : 1;
}

export function isWell(status: AgentStatus): boolean {
  return (
    isGatewayWell(status.gateway) &&
    status.links.every(
      (link) =>
        link.isConnected &&
        link.hostOnline !== false &&
        !link.refused &&
        !link.stolen &&
        !link.otherAgent,
    ) &&
    status.buffer.isWritable &&
    status.buffer.alarm === null &&
    (status.daysSetAside ?? []).length === 0 &&
    status.configurationFaults.length === 0 &&
    (status.certificates ?? []).every(({ state }) => state !== "ended") &&
    status.http.lastError === null &&
    (status.notifications ?? []).every(({ lastError }) => lastError === null) &&
    SPECS.every((spec: FeatureSpec) => (spec.status?.fault?.(status) ?? null) === null)
  );
}

/** @param machines worst first */
export function statusText(status: SaidStatus, machines: readonly StatusMachine[] = []): string {
  const { gateway, links, buffer, sensors, nowMs, clock } = status;
  const lines: string[][] = [
    [
      "site",
      `${status.site === "" ? "no name yet" : status.site}, Gateside ${status.version}, up ${duration(nowMs - status.startedAtMs)}`,
    ],
    [
      "gateway",
      isUntried(gateway)
        ? `not contacted yet (${gateway.url})`
        : `${gateway.isUp ? "responds" : `DOWN${because(gateway.lastError)}`} (${gateway.url}, last response ${ago(gateway.lastAnswerAtMs, nowMs)})`,
    ],
    ...links.map((link) => [
      uplinkTitle(link, links),
      `${link.isConnected ? "connected" : `DOWN${because(link.lastError)}`} (${link.url})${link.retainAvailable === false ? ", the broker does NOT store retained messages" : ""}${hostText(link)}${refusedText(link)}${otherText(link)}${otherAddresses(link)}${pendingText(link, status)}`,
    ]),
    ["buffer", bufferText(status)],
    ["clock", clockText(clock)],
  ];
  // Times of readings are the gateway's, not those of this machine's clock.
  const gatewayNowMs = nowMs + (clock.skewMs ?? 0);
  const shown = machineLines(machines, (timeMs) => ago(timeMs, gatewayNowMs));
  if (machines.length > 0) lines.push(["machines", shown.counts]);
  if (status.alarms !== undefined) lines.push(["alarms", alarmsText(status.alarms)]);
  for (const { status: member } of FEATURE_SPECS) lines.push(...(member?.lines?.(status) ?? []));
  for (const { name, lastError } of status.notifications ?? [])
    if (lastError !== null) lines.push([name, `FAILS: ${lastError}`]);
  for (const certificate of status.certificates ?? [])
    lines.push(["certificate", `${certificateTitle(certificate)} ${endingText(certificate)}`]);
  lines.push(["configuration", configurationText(status)]);
  const { configurationFaults } = status;
  if (configurationFaults.length > 0) {
    lines.push([
      "reload",
      `LAST RELOAD REFUSED, the previous configuration stays in effect: ${configurationFaults.join("; ")}; correct this and run \`gateside reload\` again`,
    ]);
  }
  if (status.http.lastError !== null) lines.push(["http", `DOWN: ${status.http.lastError}`]);
  if (buffer.alarm !== null) lines.push(["alarm", buffer.alarm]);
  if (buffer.notLasting !== undefined) lines.push(["DATA_DIR", buffer.notLasting]);
  for (const { sensor, kind, day, untilMs } of status.daysSetAside ?? []) {
    lines.push([
      "alarm",
      `the agent stopped while reading ${sensor} ${kind} of ${day}; the next attempt is in ${duration(untilMs - nowMs)}`,
    ]);
  }
  const rows = sensors.map((sensor) => [
    sensor.code,
    sensor.name ?? "",
    sensor.state,
    `last reading ${ago(sensor.lastReadingMs, gatewayNowMs)}`,
    sensor.batteryV === null ? "" : `${sensor.batteryV} V`,
    sensor.kinds
      .flatMap((kind) => (kind.lastError === null ? [] : [`${kind.kind}: ${kind.lastError}`]))
      .join("; "),
  ]);
  const blocks = [table(lines, ""), shown.rows, table(rows, "")];
  const text = blocks.filter((block, at) => at !== 1 || block !== "").join("\n");
  return isTriedByDoctor(status) ? `${text}\n\`gateside doctor\` looks for the cause\n` : text;
}

/** Something that `doctor` tries does not work: the gateway, a destination, or a sensor that never sent anything. */
function isTriedByDoctor({ gateway, links, sensors }: AgentStatus): boolean {
  return (
    (!gateway.isUp && !isUntried(gateway)) ||
    links.some(({ isConnected }) => !isConnected) ||
    sensors.some(({ state }) => state === "unknown")
  );
}

function alarmsText(counts: AlarmCounts | null): string {
  if (counts === null) return "off (ALARMS_ENABLED is false)";
  const { alarm, warning, acknowledged, shelved } = counts;
  const words = [
    [alarm, alarm === 1 ? "alarm" : "alarms"],
    [warning, warning === 1 ? "warning" : "warnings"],
    [acknowledged, "acknowledged"],
    [shelved, "shelved"],
  ] as const;
  const shown = words.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`);
  return shown.length === 0 ? "none" : `${shown.join(", ")}; \`gateside alarms\` lists them`;
}

/** Clocks that agree differ by less. */
const FUTURE_MS = 60_000;

/** Addresses other than the one shown whose last attempt failed. */
function otherAddresses({ url, addresses = [] }: LinkState): string {
  const failed = addresses.filter((address) => address.url !== url && address.lastError !== null);
  return failed.map((address) => `; ${address.url}: ${address.lastError}`).join("");
}

function configurationText(status: AgentStatus): string {
  const { configuration, pendingRestart, pendingReload } = status;
  const renewed = renewedBy(status);
  const parts = [configuration];
  if (pendingRestart.length > 0) parts.push(`pending restart: ${pendingRestart.join(", ")}`);
  if (pendingReload.length > 0) parts.push(`pending reload: ${pendingReload.join(", ")}`);
  if (renewed.length > 0)
    parts.push(`copies of the start, renewed by a restart: ${renewed.join(", ")}`);
  return parts.join("; ");
}

/** Pending readings are listed per uplink if there are several; otherwise the buffer line says it. */
function pendingText({ pending, oldestTimeMs }: LinkStatus, { links, nowMs }: AgentStatus): string {
  if (pending === 0 || links.every(({ uplink }) => uplink === links[0]?.uplink)) return "";
  const oldest = oldestTimeMs === null ? "" : `, oldest ${ago(oldestTimeMs, nowMs)}`;
  return `, ${pending} waiting${oldest}`;
}

function refusedText({ isConnected, refused, stolen }: LinkState): string {
  const theft = stolen ? `, SESSION ${stolen}` : "";
  return isConnected && refused ? `${theft}, REFUSED: ${refused.text}` : theft;
}

function otherText({ otherAgent }: LinkState): string {
  return otherAgent ? `, CONFLICT: ${otherAgent}` : "";
}

function hostText({ isConnected, hostOnline, hostDoubt }: LinkState): string {
  if (!isConnected || (hostOnline !== false && !hostDoubt)) return "";
  const why = hostDoubt ? `: ${hostDoubt}` : "";
  return `, primary host ${hostOnline === false ? "OFFLINE" : "online"}${why}`;
}

function clockText({ isPlausible, isConfirmed, skewMs }: AgentStatus["clock"]): string {
  if (!isPlausible) return "IMPLAUSIBLE: set this machine's clock";
  return isConfirmed
    ? `confirmed${skewText(skewMs)}`
    : `not confirmed by the gateway or a new record: nothing is removed by age${skewText(skewMs)}`;
}

function skewText(skewMs: number | null): string {
  if (skewMs === null) return "";
  const seconds = Math.round(skewMs / 1000);
  if (Math.abs(seconds) < 2) return "; the gateway's clock agrees";
  return `; the gateway's clock is ${Math.abs(seconds)} s ${seconds < 0 ? "behind" : "ahead"}`;
}

function bufferText({ buffer, delivered, nowMs, clock }: AgentStatus): string {
  const gatewayNowMs = nowMs + (clock.skewMs ?? 0);
  const lanes = Object.entries(buffer.lanes).map(
    ([lane, depth]) =>
      `${lane} ${depth.readings}${depth.oldestTimeMs === null ? "" : ` (oldest ${ago(depth.oldestTimeMs, gatewayNowMs)})`}`,
  );
  const dropped = Object.values(buffer.dropped).reduce((sum, n) => sum + n, 0);
  const left =
    buffer.hoursUntilFull === null
      ? ""
      : `, room for ${Math.floor(buffer.hoursUntilFull)} h offline`;
  const mb = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0)} MB`;
  // An agent of an earlier version does not send it.
  const kept =
    buffer.kept === undefined
      ? ""
      : `; ${buffer.kept.measurements} measurements kept for years, ${mb(buffer.kept.bytes)} of ${mb(buffer.kept.limitBytes)}${buffer.kept.isFull ? ", no room for new ones" : ""}`;
  const { bytes, oldestHourMs, oldestDayMs } = buffer.hours;
  const since = (ms: number | null) =>
    ms === null ? "none" : new Date(ms).toISOString().slice(0, 13);
  const hours = `hourly values ${mb(bytes)}, hours since ${since(oldestHourMs)}, days since ${since(oldestDayMs).slice(0, 10)} UTC`;
  return `${buffer.isWritable ? "" : "NOT WRITABLE, "}waiting: ${lanes.join(", ") || "nothing"}; ${buffer.readings} stored, ${mb(buffer.databaseBytes)} of ${mb(buffer.limitBytes)}${left}; ${delivered} delivered, ${dropped} dropped${kept}; ${hours}`;
}

function ago(timeMs: number | null, nowMs: number): string {
  if (timeMs === null) return "never";
  // A reading dated ahead of the gateway's own clock is not "0 s ago".
  return timeMs - nowMs > FUTURE_MS
    ? `${duration(timeMs - nowMs)} ahead of the gateway's clock`
    : `${duration(nowMs - timeMs)} ago`;
}
