import { existsSync } from "node:fs";
import { join } from "node:path";
import { faultLine } from "../config/fault.ts";
import { bySite, SETTING_NAMES, type SettingName } from "../config/settings-table.ts";
import { publicUrl } from "../core/addresses/public-url.ts";
import { changeLines, withoutSecrets } from "../core/configuration/configuration.ts";
import { laneChangeText, lanesOf } from "../core/delivery/lane-plan.ts";
import { type FirstStart, firstStartOf } from "../core/time/first-start.ts";
import { topicLevel } from "../core/topics/topic-level.ts";
import type { Uplink } from "../core/uplink.ts";
import type { FeatureSpec } from "../features/feature.ts";
import { SPECS } from "../features/specs.ts";
import { nativeBinding } from "../lib/paths.ts";
import { StoreFailure } from "../pipeline/store/database/store-failure.ts";
import { laneChangesAhead } from "../pipeline/store/read-only-store.ts";
import { recognisedReadings } from "../pipeline/store/space/buffer-limits.ts";
import type { CommandContext, TextSink } from "./command.ts";
import { type ConfigurationReport, examineConfiguration } from "./configuration.ts";
import { digestOf } from "./configuration-files.ts";
import { compareWithRunning, type RunningComparison } from "./running-agent.ts";
import { storeAccessFaults } from "./store-access.ts";
import { table } from "./table.ts";
import { duration } from "./times.ts";
import { unjudgedWarnings } from "./unjudged-warnings.ts";

/** Validates environment and site file offline; 0 or 2. */
export async function run(context: CommandContext): Promise<number> {
  const examined = examineConfiguration(context);
  const store = storeAccessFaults(examined.loaded.shown.DATA_DIR);
  const report = {
    ...examined,
    faults: [...examined.faults, ...store],
    warnings: [
      ...examined.warnings,
      ...SPECS.flatMap((spec: FeatureSpec) => spec.warnings?.(examined.loaded.shown) ?? []),
      ...unjudgedWarnings(examined.site, examined.loaded.shown),
    ],
  };
  const running = await compareWithRunning(report, context.signal);
  if (context.flags.has("json")) {
    const output = {
      ...asJson(report),
      firstStart: firstStartAhead(report),
      configuration: digestOf(report),
      running,
    };
    context.stdout.write(`${JSON.stringify(output, null, 2)}\n`);
  } else {
    print(report, context);
    printRunning(report, running, context);
    if (context.flags.has("diff")) printPending(report, context);
  }
  return report.faults.length === 0 ? 0 : 2;
}

/** Whether an agent that runs on DATA_DIR has this configuration in effect, and what differs. */
function printRunning(
  report: ConfigurationReport,
  running: RunningComparison | null,
  { stdout, flags }: CommandContext,
): void {
  const digest = digestOf(report);
  if (digest !== null) stdout.write(`Configuration ${digest}\n`);
  if (running === null) {
    if (flags.has("diff"))
      stdout.write("No agent is running on DATA_DIR; the next start uses this configuration\n");
    return;
  }
  const { changes, pendingRestart, faults, refusal } = running;
  const lines = changes === null ? [] : changeLines(changes);
  if (pendingRestart.length === 0 && lines.length === 0 && changes !== null)
    stdout.write("The running agent uses this configuration\n");
  else stdout.write(`The running agent uses configuration ${running.configuration}\n`);
  for (const fault of faults) stdout.write(`its last reload was refused: ${fault}\n`);
  if (pendingRestart.length > 0) stdout.write(`pending restart: ${pendingRestart.join(", ")}\n`);
  for (const fault of refusal) stdout.write(`a reload would be refused: ${fault}\n`);
  if (changes === null) stdout.write("a reload would be refused because of the faults above\n");
  else if (flags.has("diff")) {
    stdout.write(
      lines.length === 0
        ? "a reload would change nothing\n"
        : `A ${refusal.length > 0 ? "restart" : "reload"} would make these changes\n`,
    );
    for (const line of lines) stdout.write(`  ${line}\n`);
    if (running.pending.length > 0)
      stdout.write("Undelivered readings, after a reload and a restart\n");
    for (const line of running.pending) stdout.write(`  ${line}\n`);
  } else if (lines.length > 0)
    stdout.write(
      `pending ${refusal.length > 0 ? "restart" : "reload"}: ${count(lines.length, "change")}; \`gateside check --diff\` lists them\n`,
    );
}

/** The effect of a start with these settings on pending readings: removing a format or uplink may drop them. */
function printPending({ configuration }: ConfigurationReport, { stdout }: CommandContext): void {
  if (configuration === null) return;
  const { settings, uplinks } = configuration;
  if (!existsSync(join(settings.dataDir, "gateside.db"))) return;
  const wanted = uplinks.map((uplink) => ({
    name: uplink.name,
    lanes: lanesOf(uplink),
    startFrom: uplink.startFrom,
  }));
  try {
    const changes = laneChangesAhead(settings.dataDir, wanted, nativeBinding());
    if (changes.length > 0) stdout.write("Undelivered readings, at the next start or reload\n");
    for (const change of changes) stdout.write(`  ${laneChangeText(change)}\n`);
  } catch (error) {
    if (!(error instanceof StoreFailure)) throw error;
    stdout.write(`Undelivered readings cannot be shown: ${error.message}\n`);
  }
}

/** Faults come first. While there are any, nothing is in effect, and the settings as they were read are printed on request. */
function print(report: ConfigurationReport, { flags, stdout, stderr }: CommandContext): void {
  const counts = `${count(report.faults.length, "fault")}, ${count(report.warnings.length, "warning")}`;
  const isWell = report.faults.length === 0;
  for (const fault of report.faults) stderr.write(`error: ${faultLine(fault)}\n`);
  for (const warning of report.warnings) stderr.write(`warning: ${faultLine(warning)}\n`);
  if (!isWell) stderr.write(`\n${counts}: fix the faults above and run \`gateside check\` again\n`);
  if (isWell || flags.has("settings")) printSettings(report, stdout);
  if (isWell) stdout.write(`${counts}\n`);
}

function printSettings(report: ConfigurationReport, stdout: TextSink): void {
  stdout.write(
    report.faults.length === 0 ? "Settings in effect\n" : "Settings as they were read\n",
  );
  stdout.write(
    table(
      rows(report).map(({ name, value, origin, fault }) => {
        if (fault === "missing") return [name, "MISSING", ""];
        return [name, fault === "rejected" ? "REJECTED" : value === "" ? "-" : value, origin];
      }),
    ),
  );
  if (report.site) {
    stdout.write(`\nSite ${report.site.site || "(none yet)"}\n`);
    const sensors = report.site.sensors.map((sensor) => [
      sensor.code,
      `type ${sensor.type}`,
      sensor.kinds.join(" "),
      sensor.name ?? "",
    ]);
    stdout.write(table(sensors));
    const streams = report.site.sensors.reduce((sum, { kinds }) => sum + kinds.length, 0);
    const memory = memoryLine(report.configuration?.settings.bufferMaxMb, streams);
    if (memory !== null) stdout.write(memory);
  }
  const uplinks = report.configuration?.uplinks ?? [];
  if (uplinks.length > 0) {
    stdout.write("\nUplinks\n");
    stdout.write(
      table(
        uplinks.map(({ name, formats, urls, clientId }) => [
          name,
          formats.join(" "),
          urls.map(publicUrl).join(" "),
          clientId,
        ]),
      ),
    );
  }
  for (const line of firstStartLines(report)) stdout.write(`\n${line}\n`);
  for (const note of notesOf(report)) stdout.write(`\nnote: ${note}\n`);
  stdout.write("\n");
}

/** What this configuration could have and has not. */
function notesOf({ configuration }: Pick<ConfigurationReport, "configuration">): string[] {
  if (configuration === null) return [];
  return SPECS.flatMap((spec: FeatureSpec) => spec.notes?.(configuration) ?? []);
}

/** What the first start will send; null if DATA_DIR has a store, because the first start is then over. */
function firstStartAhead({ configuration }: ConfigurationReport): FirstStart[] | null {
  if (configuration === null) return null;
  const { settings, site, uplinks } = configuration;
  if (existsSync(join(settings.dataDir, "gateside.db"))) return null;
  return firstStartOf(site, uplinks, settings.backfillDays);
}

function firstStartLines(report: ConfigurationReport): string[] {
  const ahead = (firstStartAhead(report) ?? []).filter(({ messages }) => messages > 0);
  if (ahead.length === 0) return [];
  const days = report.configuration?.settings.backfillDays ?? 0;
  const lines = ahead.map(({ uplink, messages, bytes, seconds }) => {
    const pace =
      seconds === null
        ? "as fast as the broker accepts them"
        : `${duration(seconds * 1000)} at its rate`;
    const megabytes = Math.max(1, Math.round(bytes / 1e6)).toLocaleString("en");
    return `  ${uplink}: up to about ${messages.toLocaleString("en")} messages, ${megabytes} MB, ${pace}`;
  });
  return [
    [
      `First start: today and BACKFILL_DAYS (${days}) days before it are read and sent; live readings are always sent first`,
      ...lines,
      "  if sensors send as often as the simulated ones. For a slow connection, or if many boxes start on the same day, set MQTT_BACKLOG_RATE (messages per second) or reduce BACKFILL_DAYS",
    ].join("\n"),
  ];
}

/** How many removed readings are still remembered. */
function memoryLine(bufferMaxMb: number | undefined, streams: number): string | null {
  if (bufferMaxMb === undefined || streams === 0) return null;
  const readings = recognisedReadings(bufferMaxMb * 2 ** 20);
  const days = readings / (streams * 1440);
  const shown = days < 10 ? days.toFixed(1) : Math.floor(days).toLocaleString("en");
  return `\nBuffer: remembers about ${readings.toLocaleString("en")} readings after removing them, so that they are not sent twice. For this site, that is ${shown} days at one reading per minute for each sensor and kind\n`;
}

const count = (n: number, word: string) => `${n} ${word}${n === 1 ? "" : "s"}`;

export interface SettingRow {
  readonly name: string;
  /** Secrets are masked, URLs carry no credentials. */
  readonly value: string;
  readonly origin: string;
  /** What is wrong with it, if a fault names it: the value is then not in effect, and not shown. */
  readonly fault?: "rejected" | "missing";
}

export function rows({ loaded, configuration }: ConfigurationReport): SettingRow[] {
  const site = configuration === null ? null : topicLevel(configuration.site.site);
  const faulty = new Set(loaded.faults.map(({ place }) => place));
  const valueOf = (name: SettingName) =>
    loaded.shown[name] || (site === null ? "" : (bySite(name, site) ?? ""));
  return SETTING_NAMES.map((name) => {
    const origin = loaded.origins[name];
    if (!faulty.has(name) && !faulty.has(`${name}_FILE`))
      return { name, value: valueOf(name), origin };
    return { name, value: "", origin, fault: origin === "default" ? "missing" : "rejected" };
  });
}

/** Also part of the support bundle. */
export function asJson(report: ConfigurationReport): object {
  return {
    faults: report.faults,
    warnings: report.warnings,
    notes: notesOf(report),
    settings: rows(report),
    site: report.site,
    uplinks: (report.configuration?.uplinks ?? []).map(shownUplink),
  };
}

/** An uplink without its secrets. */
function shownUplink(uplink: Uplink): object {
  const { username, password, sasKey } = uplink;
  return {
    ...withoutSecrets(uplink),
    hasUsername: username !== null,
    hasPassword: password !== null,
    hasSasKey: sasKey !== null,
  };
}
