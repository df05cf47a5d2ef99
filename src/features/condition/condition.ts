/** The conditions of the machines over what is stored and judged. */

import type { Uplink } from "../../core/uplink.ts";
import type { OutlookPort } from "../../http/outlook-port.ts";
import type { Alarms } from "../alarms/api.ts";
import type { FindingViews } from "../diagnosis/api.ts";
import type { Feature } from "../feature.ts";
import type { FeatureHost } from "../host.ts";
import type { Wait } from "../machines/api.ts";
import { createBoards, toldBeside } from "./boards.ts";
import { MachineConditions } from "./machine-conditions.ts";
import { MachineTimes } from "./machine-times.ts";
import { servedMachines } from "./operations.ts";
import { registerPort } from "./register-port.ts";
import { machineSeries } from "./series.ts";
import { placeNames, sparkplugMachines } from "./sparkplug-port.ts";

/** What it brings to others. */
interface Brought {
  readonly conditions: MachineConditions;
  readonly registers: ReturnType<typeof registerPort> | null;
  sparkplug(uplink: Uplink): object | null;
}

/** @param findings null, as alarms are: ALARMS_ENABLED is false */
export function createCondition(
  host: FeatureHost,
  wait: Wait,
  alarms: Alarms | null,
  findings: FindingViews | null,
  outlook: OutlookPort | null,
) {
  const { clock, logger, memory, settings, site } = host;
  const conditions = new MachineConditions({
    ...host,
    machineSignals: wait,
    alarms,
    findings,
    outlook: (machine) => outlook?.valuesOf(machine) ?? [],
    timezone: settings.gatewayTimezone,
  });
  alarms?.onJudged((sensors) => {
    for (const sensor of sensors) conditions.judged(sensor);
  });
  alarms?.onEvents(() => conditions.wake());
  const times = new MachineTimes({ memory, clock, logger });
  const feature = {
    conditions,
    /** As registers show them; null while nothing is said of machines. */
    registers: settings.publishMachines && alarms !== null ? registerPort(conditions) : null,
    /** As Sparkplug devices of an uplink; null while nothing is said of machines. */
    sparkplug: (uplink: Uplink) =>
      alarms === null
        ? null
        : {
            machines: sparkplugMachines(uplink, { site, conditions, clock }),
            names: placeNames(site),
          },
    reading: (reading) => conditions.stored(reading),
    run: (signal) => conditions.run(signal),
    heldBeside: (uplink, uplinks) => toldBeside(uplink, uplinks, site),
    publishesMachines: alarms !== null,
    stand: createBoards(host, { conditions, times }, alarms !== null),
    serve: [servedMachines(conditions, findings)],
    async metricText(name) {
      if (alarms === null) return "";
      try {
        await conditions.lookForChanges();
      } catch (err) {
        // The other metrics say why the store cannot be read.
        logger.debug({ err }, "conditions of machines could not be computed for the metrics");
      }
      return machineSeries(name, conditions.current);
    },
  } satisfies Feature & Brought;
  return feature;
}
