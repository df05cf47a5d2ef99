import { faultLine } from "../config/fault.ts";
import { SETTING_NAMES } from "../config/settings-table.ts";
import type { CommandContext } from "./command.ts";
import { type ConfigurationReport, examineConfiguration } from "./configuration.ts";
import { table } from "./table.ts";

/** Validates environment and site file offline; 0 or 2. */
export async function run(context: CommandContext): Promise<number> {
  const report = examineConfiguration(context);
  if (context.flags.has("json"))
    context.stdout.write(`${JSON.stringify(asJson(report), null, 2)}\n`);
  else print(report, context);
  return report.faults.length === 0 ? 0 : 2;
}

/** Faults come last, where the terminal stands, and are counted on the stream that they are told on. */
function print(report: ConfigurationReport, { stdout, stderr }: CommandContext): void {
  const faults = count(report.faults.length, "fault");
  const counts = `${faults}, ${count(report.warnings.length, "warning")}`;
  const isWell = report.faults.length === 0;
  stdout.write(
    isWell
      ? "Settings in effect\n"
      : `Settings as they were read; ${faults} (told below, on stderr) keep the agent from starting\n`,
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
    stdout.write(`\nSite ${report.site.site}\n`);
    const sensors = report.site.sensors.map((sensor) => [
      sensor.code,
      `type ${sensor.type}`,
      sensor.kinds.join(" "),
      sensor.name ?? "",
    ]);
    stdout.write(table(sensors));
  }
  stdout.write("\n");
  for (const warning of report.warnings) stderr.write(`warning: ${faultLine(warning)}\n`);
  for (const fault of report.faults) stderr.write(`error: ${faultLine(fault)}\n`);
  if (isWell) stdout.write(`${counts}\n`);
  else stderr.write(`\n${counts}: mend what is named above and run \`gateside check\` again\n`);
}

const count = (n: number, word: string) => `${n} ${word}${n === 1 ? "" : "s"}`;

export interface SettingRow {
  readonly name: string;
  /** Secrets are masked, addresses carry no credentials. */
  readonly value: string;
  readonly origin: string;
  /** What is wrong with it, where a fault names it: the value is in force nowhere then, and not shown. */
  readonly fault?: "rejected" | "missing";
}

export function rows({ loaded, configuration }: ConfigurationReport): SettingRow[] {
  const bound: Readonly<Record<string, string | undefined>> = {
    MQTT_CLIENT_ID: configuration?.settings.mqttClientId,
    SPARKPLUG_GROUP_ID: configuration?.settings.sparkplugGroupId,
  };
  const faulty = new Set(loaded.faults.map(({ place }) => place));
  return SETTING_NAMES.map((name) => {
    const origin = loaded.origins[name];
    if (!faulty.has(name) && !faulty.has(`${name}_FILE`))
      return { name, value: bound[name] ?? loaded.shown[name], origin };
    return { name, value: "", origin, fault: origin === "default" ? "missing" : "rejected" };
  });
}

/** Also part of the support bundle. */
export function asJson(report: ConfigurationReport): object {
  return {
    faults: report.faults,
    warnings: report.warnings,
    settings: rows(report),
    site: report.site,
  };
}
