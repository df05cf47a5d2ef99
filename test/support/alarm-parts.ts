/** What alarms, findings and conditions bring to HTTP, for tests that have only these. */
import { operationsOf } from "../../src/agent/features.ts";
import { fixedSite, type SiteSource } from "../../src/core/site-source.ts";
import { servedAlarms } from "../../src/features/alarms/operations.ts";
import type { AlarmActions } from "../../src/features/alarms/rules/view.ts";
import { servedMachines } from "../../src/features/condition/operations.ts";
import type { FindingViews } from "../../src/features/diagnosis/api.ts";
import { servedFindings } from "../../src/features/diagnosis/diagnosis.ts";
import type { Feature } from "../../src/features/feature.ts";
import type { HttpParts } from "../../src/http/parts.ts";
import { SITE } from "./http-parts.ts";

interface Given {
  readonly site?: SiteSource;
  readonly alarms?: AlarmActions | null;
  readonly findings?: FindingViews | null;
  readonly conditions?: Parameters<typeof servedMachines>[0];
}

/** @param others features that answer beside them */
export function alarmParts(
  { alarms = null, findings = null, conditions, site = fixedSite(SITE) }: Given,
  gatewayNow: () => number,
  others: readonly Feature[] = [],
): Pick<HttpParts, "alarmCounts" | "operations"> {
  return {
    alarmCounts: alarms === null ? null : () => alarms.counts(),
    operations: operationsOf([
      { serve: alarms === null ? [] : servedAlarms(alarms, gatewayNow) },
      { serve: findings === null ? [] : [servedFindings(findings, site)] },
      { serve: conditions === undefined ? [] : [servedMachines(conditions, findings)] },
      ...others,
    ]),
  };
}
