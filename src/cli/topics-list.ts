import { FORMAT_TOPICS } from "../config/formats.ts";
import { platformOf } from "../config/profiles.ts";
import { csvField } from "../core/text/csv.ts";
import { publishedTopics } from "../core/topics/published.ts";
import type { PublishedTopic } from "../core/topics/published-row.ts";
import { MAIN_UPLINK } from "../core/uplink.ts";
import type { FeatureSpec } from "../features/feature.ts";
import { SPECS } from "../features/specs.ts";
import type { ComparedConfiguration } from "./configuration.ts";

export interface ListedTopic extends PublishedTopic {
  readonly uplink: string;
}

/** Uplink after uplink, the agent's own topics before the sensors'. */
export function listTopics({ settings, uplinks, site }: ComparedConfiguration): ListedTopic[] {
  const takesDocuments = SPECS.some((spec: FeatureSpec) => spec.takesDocuments?.(settings));
  const alarms = SPECS.some((spec: FeatureSpec) => spec.publishesAlarms?.(settings));
  return uplinks.flatMap((uplink) => {
    // Like commands: on `main`, and on uplinks that enable them.
    const documents = takesDocuments && (uplink.name === MAIN_UPLINK || uplink.commands);
    const commands = uplink.commands && settings.commandsEnabled;
    return publishedTopics(
      { ...uplink, commands, documents, alarms },
      site,
      platformOf,
      FORMAT_TOPICS,
    ).map((topic) => ({
      uplink: uplink.name,
      ...topic,
    }));
  });
}

/** RFC 4180; null is an empty cell. */
export function csvLine(cells: readonly (string | number | boolean | null)[]): string {
  return `${cells.map((cell) => csvField(cell)).join(",")}\n`;
}
