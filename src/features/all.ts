/** The running features, in order, and the optional ports that they fill. One that is off is neither loaded nor built. */
import type { SetupPort } from "../core/configuration/setup.ts";
import type { OutlookPort } from "../http/outlook-port.ts";
import { registerPort } from "./condition/register-port.ts";
import { placeNames, sparkplugMachines } from "./condition/sparkplug-port.ts";
import type { Feature } from "./feature.ts";
import type { FeatureHost } from "./host.ts";

export interface Features {
  readonly running: readonly Feature[];
  /** For conditions. */
  readonly outlooks: OutlookPort | null;
  readonly isSetupOn: boolean;
}

export async function createFeatures(host: FeatureHost): Promise<Features> {
  const hours =
    host.counting === null
      ? null
      : (await import("./hours/hours.ts")).createHours(host, host.counting);
  const outlook = (await import("./outlook/outlook.ts")).createOutlook(host);
  const commands = (await import("./commands/commands.ts")).createCommands(host);
  const modbus =
    host.settings.modbusPort === null
      ? null
      : (await import("./modbus/modbus.ts")).createModbus(
          host,
          host.settings.modbusPort,
          host.settings.publishMachines && host.alarms !== null
            ? registerPort(host.conditions)
            : null,
        );
  const report = (await import("./report/report.ts")).createReport(host, outlook);
  const notify = (await import("./notify/notify.ts")).createNotify(host);
  const setup = (await import("./setup/setup.ts")).createSetup(host);
  const actions = actionsOf(setup);
  const discover =
    actions === null
      ? null
      : (await import("./discover/discover.ts")).createDiscover(host, actions);
  const queryService = (await import("./query-service/query-service.ts")).createQueryService();
  const bands = (await import("./bands/bands.ts")).createBands(host);
  const sparkplug = (await import("./sparkplug/sparkplug.ts")).createSparkplug(host, {
    settings: commands,
    machines: (uplink) => ({
      machines: sparkplugMachines(uplink, host),
      names: placeNames(host.site),
    }),
  });
  const nodes = (await import("./nodes/nodes.ts")).createNodes(host, actions);
  const kept =
    host.keeping === null ? null : (await import("./kept/kept.ts")).createKept(host, host.keeping);
  const all: readonly (Feature | null)[] = [
    hours,
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
    isSetupOn: actions !== null,
  };
}

/** Null while SETUP_ENABLED is false. */
const actionsOf = (setup: { readonly actions: SetupPort | null } | null) => setup?.actions ?? null;
