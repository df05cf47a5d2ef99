import { writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { faultLine } from "../config/fault.ts";
import type { FeatureSpec } from "../features/feature.ts";
import { SPECS } from "../features/specs.ts";
import { VERSION } from "../lib/version.ts";
import { AgentFailure, createAgentClient } from "./agent-client.ts";
import { asJson } from "./check.ts";
import type { CommandContext } from "./command.ts";
import {
  type ComparedConfiguration,
  ConfigurationError,
  examineConfiguration,
} from "./configuration.ts";
import { checkBrokers } from "./doctor-broker.ts";
import { checkGateway } from "./doctor-gateway.ts";
import { checkHttp, doctorView, heldBy } from "./doctor-http.ts";
import { checkClock, checkDisk, checkRuntime } from "./doctor-machine.ts";
import type { Finding } from "./finding.ts";
import { outFile } from "./out-file.ts";
import { duration } from "./times.ts";

const FEATURE_SPECS: readonly FeatureSpec[] = SPECS;

/**
 * check, then gateway, every sensor's read, broker, disk and clock: 0 everything works, 1 something does not, 2 wrong
 * settings.
 */
export async function run(context: CommandContext): Promise<number> {
  const { flags, stdout, stderr, signal } = context;
  const bundle = flags.text("bundle");
  const bundlePath = bundle === null ? null : outFile("bundle", bundle, context.cwd);
  const report = examineConfiguration(context);
  const findings: Finding[] = [];
  const found = (finding: Finding) => {
    findings.push(finding);
    if (!flags.has("json")) stdout.write(line(finding));
  };
  for (const warning of report.warnings)
    found({ what: "check", state: "warning", detail: faultLine(warning) });
  // Reported on stderr at the end, as by every command, and not twice.
  for (const fault of report.faults)
    findings.push({ what: "check", state: "failed", detail: faultLine(fault) });
  const { configuration } = report;
  const isUsable = configuration !== null && report.faults.length === 0;
  if (isUsable) {
    const { sensors } = configuration.site;
    found({
      what: "check",
      state: "ok",
      detail: `settings and site file, ${sensors.length} sensors`,
    });
    await examine(configuration, context.env["CREDENTIALS_DIRECTORY"] ?? null, found, signal);
    for (const { trial } of FEATURE_SPECS)
      if (trial !== undefined && flags.has(trial.flag.name) && !signal.aborted)
        for (const one of await trial.run(configuration.settings, configuration.site.site, signal))
          found(one);
    // Nothing has failed of what was not tried.
    if (signal.aborted)
      found({
        what: "doctor",
        state: "failed",
        detail: "ended early: what has no line above was not tried",
      });
  } else {
    const detail = "not tried: fix the faults in the settings and the site file first";
    for (const what of ["gateway", "sensors", "broker", "http", "disk", "clock"])
      found({ what, state: "skipped", detail });
  }

  if (bundlePath !== null) {
    const agent = configuration ? await agentView(configuration, signal) : null;
    const content = { version: VERSION, node: process.version, platform: platform(), findings };
    const text = JSON.stringify({ ...content, configuration: asJson(report), agent }, null, 2);
    await writeFile(bundlePath, await promisify(gzip)(text), { mode: 0o600 });
    stderr.write(`support bundle: ${bundlePath}\n`);
  }
  const isWell = findings.every(({ state }) => state !== "failed");
  if (flags.has("json")) stdout.write(`${JSON.stringify({ ok: isWell, findings }, null, 2)}\n`);
  if (!isUsable) throw new ConfigurationError(report.faults);
  return isWell ? 0 : 1;
}

async function examine(
  configuration: ComparedConfiguration,
  credentialsDirectory: string | null,
  found: (finding: Finding) => void,
  signal: AbortSignal,
): Promise<void> {
  const { skewMs, isLost } = await checkGateway(configuration, found, signal);
  // Loaded here, because few sites need the clients of such reads.
  for (const { reads } of FEATURE_SPECS)
    if (reads !== undefined && configuration.site.sensors.some(reads.of))
      await (await reads.load()).doctor(configuration, isLost, found, signal);
  await checkBrokers(configuration, credentialsDirectory, found, signal);
  await checkHttp(configuration.settings, found, signal);
  const ask = doctorView(configuration.settings, signal);
  for (const spec of FEATURE_SPECS)
    for (const one of (await spec.doctor?.(configuration.settings, ask)) ?? []) found(one);
  await checkDisk(configuration.settings, found, () => heldBy(ask));
  checkClock(skewMs, found);
  checkRuntime(found);
}

function line({ what, state, detail }: Finding): string {
  const mark = { ok: "ok     ", warning: "warning", failed: "FAILED ", skipped: "skipped" }[state];
  return `${mark}  ${what.padEnd(22)}  ${detail}\n`;
}

/** What the running agent reports about itself; it shows no secrets over HTTP. */
async function agentView(
  { settings }: ComparedConfiguration,
  signal: AbortSignal,
): Promise<object> {
  const view: Record<string, unknown> = {};
  try {
    const agent = createAgentClient(settings);
    view["status"] = await agent.get("/api/v1/status", signal);
    view["ready"] = await agent.get("/readyz", signal);
  } catch (error) {
    if (!(error instanceof AgentFailure)) throw error;
    view["error"] = error.message;
  }
  return view;
}

function platform(): object {
  const { platform: system, arch } = process;
  return { system, arch, upFor: duration(process.uptime() * 1000) };
}
