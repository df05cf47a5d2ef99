/** The one state of each machine: page, API, topics, metric. */
import type { Refining } from "../../config/refining.ts";
import type { Site } from "../../core/site.ts";
import { siteMachines } from "../../core/site-machines.ts";
import { hasMachines, type Uplink } from "../../core/uplink.ts";
import type { FeatureSpec } from "../feature.ts";
import { MACHINE_LIST } from "./operations.ts";
import { CONDITION_METRIC } from "./series.ts";

interface Noted {
  readonly settings: { readonly alarmsEnabled: boolean };
  readonly site: Site;
  readonly uplinks: readonly Pick<Uplink, "machines" | "sparkplug">[];
}

function refine(
  raw: { readonly PUBLISH_MACHINES: boolean; readonly ALARMS_ENABLED: boolean },
  { warn }: Pick<Refining, "warn">,
) {
  if (raw.PUBLISH_MACHINES && !raw.ALARMS_ENABLED)
    warn(
      "PUBLISH_MACHINES",
      "has no effect while ALARMS_ENABLED is false",
      "set ALARMS_ENABLED=true, or remove it",
    );
  return {};
}

export const CONDITION_SPEC = {
  name: "condition",
  refine,
  operations: [MACHINE_LIST],
  metrics: [CONDITION_METRIC],
  notes({ settings, site, uplinks }: Noted) {
    const isOffered =
      settings.alarmsEnabled &&
      uplinks.length > 0 &&
      siteMachines(site).length > 0 &&
      !uplinks.some(hasMachines);
    if (!isOffered) return [];
    return [
      "PUBLISH_MACHINES=true publishes the condition of each machine, with its reason (docs/mqtt.md); no uplink has it",
    ];
  },
  after: { operations: "/api/v1/backfill" },
} as const satisfies FeatureSpec;
