/** The outlook of a machine from what is stored (plant section 19). */

import { firstReadingMs, placeSpans } from "../../core/query/place.ts";
import type { Kind } from "../../core/sensor.ts";
import { served } from "../../http/api-operation.ts";
import type { OutlookPort } from "../../http/outlook-port.ts";
import { refuse } from "../../http/problem.ts";
import type { Alarms } from "../alarms/api.ts";
import type { Feature } from "../feature.ts";
import type { FeatureHost } from "../host.ts";
import type { Wait } from "../machines/api.ts";
import { machineOutlook } from "./rules/machine-outlook.ts";
import type { MachineOutlook } from "./rules/words.ts";
import { OUTLOOK } from "./spec.ts";

/** Relearned baselines are among this many actions. */
const ACTIONS_MAX = 10_000;

type OutlookSources = Pick<
  FeatureHost,
  "site" | "dayMedians" | "history" | "hours" | "gatewayNow"
> & {
  readonly alarms: Alarms | null;
  readonly wait: Pick<Wait, "stateOf">;
};

export function createOutlook(
  host: Omit<OutlookSources, "alarms" | "wait">,
  wait: Pick<Wait, "stateOf">,
  alarms: Alarms | null,
): Feature & OutlookPort {
  const sources = { ...host, alarms, wait };
  return {
    serve: [
      served(OUTLOOK, (request, reply) => {
        const { id } = request.params;
        const outlook = outlookFor(id, sources);
        if (outlook !== null) return reply.send(outlook);
        return refuse(reply, 404, `the site file has no machine ${id}`);
      }),
    ],
    valuesOf: (machine) => outlookFor(machine, sources)?.values ?? [],
  };
}

/** Null for a machine that neither the machines nor a sensor's location name. */
function outlookFor(id: number, parts: OutlookSources): MachineOutlook | null {
  const { site, alarms, dayMedians, wait } = parts;
  const { machines = [], sensors } = site.current;
  const own = sensors.filter(({ location }) => location?.machine === id);
  if (own.length === 0 && !machines.some((machine) => machine.id === id)) return null;
  const nowMs = parts.gatewayNow();
  const isStanding = wait.stateOf(id, nowMs) === "standing";
  const from = {
    rows: dayMedians,
    newest: (sensor: string, kind: Kind) => parts.history.latest(sensor, kind),
    spans: (sensor: string) => placeSpans(sensors, sensor, (code) => firstReadingMs(parts, code)),
    limits: (sensor: string) => alarms?.limits(sensor) ?? [],
    baselines: (sensor: string) => alarms?.baselines(sensor) ?? [],
    actions: () => alarms?.actions(ACTIONS_MAX) ?? [],
  };
  return machineOutlook(id, own, from, nowMs, isStanding);
}
