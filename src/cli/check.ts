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

function print(report: ConfigurationReport, { stdout, stderr }: CommandContext): void {
  stdout.write("Settings in effect\n");
  stdout.write(
    table(
      rows(report).map(({ name, value, origin }) => [name, value === "" ? "-" : value, origin]),
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
  const count = (n: number, word: string) => `${n} ${word}${n === 1 ? "" : "s"}`;
  stdout.write(
    `${count(report.faults.length, "fault")}, ${count(report.warnings.length, "warning")}\n`,
  );
}

export interface SettingRow {
  readonly name: string;
  /** Secrets are masked, addresses carry no credentials. */
  readonly value: string;
  readonly origin: string;
}

export function rows({ loaded, configuration }: ConfigurationReport): SettingRow[] {
  const bound: Readonly<Record<string, string | undefined>> = {
    MQTT_CLIENT_ID: configuration?.settings.mqttClientId,
    SPARKPLUG_GROUP_ID: configuration?.settings.sparkplugGroupId,
  };
  return SETTING_NAMES.map((name) => ({
    name,
    value: bound[name] ?? loaded.shown[name],
    origin: loaded.origins[name],
  }));
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
