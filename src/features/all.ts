/** The running features, in order, and the optional ports that they fill. One that is off is neither loaded nor built. */
import type { AlarmCounts } from "../core/alarm/shown.ts";
import type { SetupPort } from "../core/configuration/setup.ts";
import type { OutlookPort } from "../http/outlook-port.ts";
import type { Feature } from "./feature.ts";
import type { FeatureHost } from "./host.ts";

export interface Features {
  readonly running: readonly Feature[];
  readonly outlooks: OutlookPort | null;
  /** Null while alarms are off. */
  readonly alarmCounts: (() => AlarmCounts) | null;
  readonly isSetupOn: boolean;
}

export async function createFeatures(host: FeatureHost): Promise<Features> {
  const machines = (await import("./machines/machines.ts")).createMachines(host);
  const hours =
    host.counting === null
      ? null
      : (await import("./hours/hours.ts")).createHours(host, machines.wait, host.counting);
  const diagnosis = host.settings.alarmsEnabled
    ? (await import("./diagnosis/diagnosis.ts")).createDiagnosis(host, machines.wait)
    : null;
  const alarms = (await import("./alarms/alarms.ts")).createAlarms(host, machines.wait, diagnosis);
  const outlook = (await import("./outlook/outlook.ts")).createOutlook(
    host,
    machines.wait,
    onOf(alarms),
  );
  const condition = (await import("./condition/condition.ts")).createCondition(
    host,
    machines.wait,
    onOf(alarms),
    viewsOf(diagnosis),
    outlook,
  );
  const commands = (await import("./commands/commands.ts")).createCommands(host);
  const modbus =
    host.settings.modbusPort === null
      ? null
      : (await import("./modbus/modbus.ts")).createModbus(
          host,
          host.settings.modbusPort,
          registersOf(condition),
        );
  const report = (await import("./report/report.ts")).createReport(host, {
    alarms: onOf(alarms),
    findings: viewsOf(diagnosis),
    conditions: conditionsOf(condition),
    outlook,
  });
  const notify = (await import("./notify/notify.ts")).createNotify(
    host,
    onOf(alarms),
    conditionsOf(condition),
  );
  const setup = (await import("./setup/setup.ts")).createSetup(host);
  const actions = actionsOf(setup);
  const discover =
    actions === null
      ? null
      : (await import("./discover/discover.ts")).createDiscover(host, actions);
  const queryService = (await import("./query-service/query-service.ts")).createQueryService(
    onOf(alarms),
  );
  const bands = (await import("./bands/bands.ts")).createBands(host, machines.wait);
  const sparkplug = (await import("./sparkplug/sparkplug.ts")).createSparkplug(host, {
    settings: commands,
    alarms: sparkplugOf(alarms),
    machines: sparkplugOf(condition),
  });
  const nodes = (await import("./nodes/nodes.ts")).createNodes(host, actions);
  const kept =
    host.keeping === null
      ? null
      : (await import("./kept/kept.ts")).createKept(host, machines.wait, host.keeping);
  const all: readonly (Feature | null)[] = [
    machines,
    hours,
    alarms,
    diagnosis,
    condition,
    outlook,
    commands,
    modbus,
    notify,
    report,
    setup,
    discover,
    queryService,
    bands,
    sparkplug,
    nodes,
    kept,
  ];
  return {
    running: all.filter((one) => one !== null),
    outlooks: outlook,
    alarmCounts: countsOf(alarms),
    isSetupOn: actions !== null,
  };
}

/** Null while SETUP_ENABLED is false. */
const actionsOf = (setup: { readonly actions: SetupPort | null } | null) => setup?.actions ?? null;
/** What features bring to others; null without them, or while ALARMS_ENABLED is false. */
const onOf = <T>(alarms: { readonly on: T | null } | null) => alarms?.on ?? null;
const countsOf = <T>(alarms: { readonly counts: T | null } | null) => alarms?.counts ?? null;
const viewsOf = <T>(diagnosis: { readonly views: T } | null) => diagnosis?.views ?? null;
const conditionsOf = <T>(condition: { readonly conditions: T } | null) =>
  condition?.conditions ?? null;
const registersOf = <T>(condition: { readonly registers: T | null } | null) =>
  condition?.registers ?? null;
const sparkplugOf = <T>(feature: { readonly sparkplug: T | null } | null) =>
  feature?.sparkplug ?? null;
