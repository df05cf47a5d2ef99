import { type PublishedTopic, publishedTopics } from "../core/topics/published.ts";
import type { Configuration } from "./configuration.ts";

export interface ListedTopic extends PublishedTopic {
  readonly uplink: string;
}

/** Uplink after uplink, the agent's own topics before the sensors'. */
export function listTopics({ settings, uplinks, site }: Configuration): ListedTopic[] {
  const documents = settings.configPublicKeyFile !== null;
  const alarms = settings.alarmsEnabled;
  return uplinks.flatMap((uplink) =>
    publishedTopics({ ...uplink, documents, alarms }, site).map((topic) => ({
      uplink: uplink.name,
      ...topic,
    })),
  );
}

/** RFC 4180; null is an empty cell. */
export function csvLine(cells: readonly (string | number | boolean | null)[]): string {
  const texts = cells.map((cell) => {
    const text = cell === null ? "" : String(cell);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  });
  return `${texts.join(",")}\n`;
}
