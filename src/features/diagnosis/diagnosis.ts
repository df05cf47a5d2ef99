/** Findings of machines: their engine, which the alarms drive, and how people see them. */

import { siteMachines } from "../../core/site-machines.ts";
import type { SiteSource } from "../../core/site-source.ts";
import { type ServedOperation, served } from "../../http/api-operation.ts";
import { refuse } from "../../http/problem.ts";
import type { Diagnosing } from "../alarms/api.ts";
import type { Feature } from "../feature.ts";
import type { FeatureHost } from "../host.ts";
import type { Wait } from "../machines/api.ts";
import { FindingEngine } from "./rules/engine.ts";
import {
  type FindingViews,
  type MachineNow,
  machineFindings,
  machineView,
  stagesOf,
  unmeasuredFindings,
} from "./rules/view.ts";
import { FINDING_LIST } from "./spec.ts";

type DiagnosisHost = Pick<FeatureHost, "gatewayNow" | "metrics" | "site">;

export function createDiagnosis(host: DiagnosisHost, wait: Wait) {
  const { gatewayNow, metrics, site } = host;
  const findings = new FindingEngine(site.current, { wait });
  const machineNow: MachineNow = (machine) => {
    const now = gatewayNow();
    return { state: wait.stateOf(machine.id, now), speedRpm: wait.speedAt(machine.id, now) };
  };
  const views: FindingViews = {
    machines: () => findings.machines.map((machine) => machineView(findings, machine, machineNow)),
    stagesOf: (sensor) => stagesOf(findings, sensor),
    findingsOf(id) {
      const machine = findings.machines.find((candidate) => candidate.id === id);
      return machine === undefined ? null : machineFindings(findings, machine, machineNow);
    },
  };
  return {
    findings,
    counted() {
      const stages = findings.stages();
      for (const stage of [1, 2, 3] as const) {
        const count = stages.filter((one) => one === stage).length;
        metrics.findingsActive.set({ stage: `${stage}` }, count);
      }
    },
    views,
    wantedTones: (sensor) => findings.wantedTones(sensor),
    serve: [servedFindings(views, site)],
  } satisfies Feature & Diagnosing & { readonly views: FindingViews };
}

export const servedFindings = (
  views: Pick<FindingViews, "findingsOf">,
  site: SiteSource,
): ServedOperation =>
  served(FINDING_LIST, (request, reply) => {
    const { id } = request.params;
    const found = views.findingsOf(id);
    if (found !== null) return reply.send(found);
    const mounted = siteMachines(site.current).find((machine) => machine.id === id);
    if (mounted !== undefined) return reply.send(unmeasuredFindings(mounted));
    return refuse(reply, 404, `the site file has no machine ${id}`);
  });
