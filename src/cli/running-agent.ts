/** The configuration in effect in the agent that holds DATA_DIR, next to what a command finds in settings and files. */
import { randomBytes } from "node:crypto";
import { renamed } from "../agent/reload-faults.ts";
import { faultLine } from "../config/fault.ts";
import type { AgentStatus } from "../core/agent-status.ts";
import {
  type ConfigurationChanges,
  changesOf,
  type PublicUplink,
  uplinksDifference,
  withoutSecrets,
  withRenewedMain,
} from "../core/configuration/configuration.ts";
import { uplinkDigests } from "../core/configuration/configuration-digest.ts";
import { siteDifference } from "../core/configuration/site-difference.ts";
import type { LaneDepth } from "../core/delivery/delivery.ts";
import { laneChangeText, lanesOf, parseLaneName, planLanes } from "../core/delivery/lane-plan.ts";
import type { Site } from "../core/site.ts";
import { MAIN_UPLINK, type Uplink } from "../core/uplink.ts";
import { AgentFailure, createAgentClient } from "./agent-client.ts";
import type { ConfigurationReport } from "./configuration.ts";
import { settingDigests } from "./configuration-files.ts";

const NONCE_BYTES = 32;

interface InEffect {
  readonly configuration: string;
  readonly pendingRestart: readonly string[];
  readonly faults: readonly string[];
  readonly site: Site;
  readonly uplinks: readonly PublicUplink[];
}

export interface RunningComparison {
  readonly configuration: string;
  /** Settings that differ from the running ones, as seen by this command or by the agent itself. */
  readonly pendingRestart: readonly string[];
  /** Why the agent refused its last reload. */
  readonly faults: readonly string[];
  /** What a reload would change; null if the files have faults, so that it would be refused. */
  readonly changes: ConfigurationChanges | null;
  /** Why a reload would refuse files without faults: the site has another name. */
  readonly refusal: readonly string[];
  /** What happens to formats and uplinks with pending readings once everything is in effect, one line each. */
  readonly pending: readonly string[];
}

/** Null if no agent is running on DATA_DIR, or this user may not query it. */
export async function compareWithRunning(
  { loaded, configuration }: ConfigurationReport,
  signal: AbortSignal,
): Promise<RunningComparison | null> {
  if (loaded.settings === null) return null;
  // Only by the socket: another instance's agent may be listening on the port.
  const client = createAgentClient({ ...loaded.settings, httpPort: null });
  try {
    const running = await client.get<InEffect>("/api/v1/configuration", signal);
    const nonce = randomBytes(NONCE_BYTES).toString("hex");
    const wanted = configuration?.uplinks ?? [];
    const digests = { ...settingDigests(nonce, loaded), ...uplinkDigests(nonce, wanted) };
    const body = { nonce, digests };
    const path = "/api/v1/configuration/compare";
    const comparison = await client.post<{ differing: readonly string[] }>(path, body, signal);
    const isOfUplink = (name: string) => name.startsWith("uplinks.");
    const settings = comparison.differing.filter((name) => !isOfUplink(name));
    const pendingRestart = [...new Set([...settings, ...running.pendingRestart])];
    const secrets = comparison.differing.filter(isOfUplink);
    const uplinks = wanted.map((uplink) => withDiffering(withoutSecrets(uplink), secrets));
    const main = (list: readonly PublicUplink[]) =>
      list.find(({ name }) => name === MAIN_UPLINK) ?? null;
    const changes =
      configuration === null
        ? null
        : changesOf(
            siteDifference(running.site, configuration.site),
            withRenewedMain(
              uplinksDifference(running.uplinks, uplinks),
              main(running.uplinks),
              main(uplinks),
            ),
          );
    const refusal = renamed(running.site, configuration?.site ?? null).map(faultLine);
    const { configuration: digest, faults } = running;
    type Buffered = Pick<AgentStatus, "buffer">;
    const { buffer } = await client.get<Buffered>("/api/v1/status", signal);
    const pending = configuration === null ? [] : pendingOf(buffer.lanes, configuration.uplinks);
    return { configuration: digest, pendingRestart, faults, changes, refusal, pending };
  } catch (error) {
    if (error instanceof AgentFailure) return null;
    throw error;
  }
}

/** Marks the secrets that differ, so that they count as members that differ. */
function withDiffering(uplink: PublicUplink, differing: readonly string[]): PublicUplink {
  const start = `uplinks.${uplink.name}.`;
  const own = differing.filter((name) => name.startsWith(start));
  return Object.assign(
    uplink,
    Object.fromEntries(own.map((name) => [name.slice(start.length), "another"])),
  );
}

/** Lanes, as the agent stores pending readings by them. */
function pendingOf(
  lanes: Readonly<Record<string, LaneDepth>>,
  uplinks: readonly Uplink[],
): readonly string[] {
  const known = Object.entries(lanes).flatMap(([name, { readings }]) => {
    const parsed = parseLaneName(name);
    return parsed === null ? [] : [{ ...parsed, readings }];
  });
  const wanted = uplinks.map((uplink) => ({ ...uplink, lanes: lanesOf(uplink) }));
  return planLanes(known, wanted)
    .filter(({ what }) => what !== "added")
    .map(laneChangeText);
}
