import type { Logger } from "../../../core/ports.ts";
import { topicLevel } from "../../../core/topics/topic-level.ts";
import type { Uplink } from "../../../core/uplink.ts";
import type { Meta } from "../database/meta.ts";

const NAME = "site-name";

/** After a start under another name: the retained topics of the former one stay at the brokers, and how they go. */
export function noteSiteName(
  meta: Pick<Meta, "get" | "keep">,
  site: string,
  uplinks: readonly Pick<Uplink, "formats" | "retain" | "topicPrefix">[],
  logger: Logger,
): void {
  if (site === "") return;
  const before = meta.get(NAME);
  if (before === site) return;
  if (before !== null) {
    const retaining = uplinks.filter(
      ({ formats, retain }) => retain && formats.some((format) => format !== "sparkplug"),
    );
    const topics = retaining.map(({ topicPrefix }) => `${topicPrefix}/${topicLevel(before)}/#`);
    for (const topic of new Set(topics))
      logger.warn(
        { before, site, topic },
        `the site was called ${JSON.stringify(before)}: what was retained below ${topic} stays at the broker; clear it with \`mosquitto_sub -h BROKER -t '${topic}' --retained-only --remove-retained -W 10\`, or \`gateside fleet retire\``,
      );
  }
  // On a full disk the next start says it again.
  meta.keep(NAME, site).catch(() => {});
}
