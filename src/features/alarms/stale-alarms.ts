/**
 * Clears retained alarm topics that belong to no active alarm of this uplink: states were lost with a damaged store, a
 * closing event was dropped because the disk was full, or the sensor left the uplink's selection while the agent was stopped.
 */
import type { Logger, MessageLink } from "../../core/ports.ts";
import { topicLevel } from "../../core/topics/topic-level.ts";
import type { Topics } from "../../core/topics/topics.ts";
import { standingMessage } from "../../pipeline/publish/formats/alarm-messages.ts";
import type { RetainedReader } from "../../pipeline/publish/retained-query.ts";
import { BATCH } from "../../pipeline/publish/turns.ts";

export interface StaleAlarmsParts {
  readonly link: Pick<MessageLink, "publish">;
  readonly logger: Logger;
  readonly topics: Pick<Topics, "root" | "agentEvent" | "alarm">;
  /** Codes of the sensors whose topics are this uplink's alone: others belong to someone else. */
  readonly sensors: () => readonly string[];
  /** Payloads of the alarms of this uplink whose topics are to stay. */
  readonly active: () => readonly string[];
  /** True while events of a sensor are pending for this uplink: the closing event clears the topic itself. */
  readonly owesEvents: (sensor: string) => boolean;
  /** True while another agent publishes as this site: a topic may be its own. */
  readonly hasOther: () => boolean;
}

export class StaleAlarms implements RetainedReader {
  readonly #parts: StaleAlarmsParts;
  /** Retained topics of alarms, as the broker sent them in this session. */
  readonly #seen = new Set<string>();

  constructor(parts: StaleAlarmsParts) {
    this.#parts = parts;
  }

  begin(): string {
    this.#seen.clear();
    return `${this.#parts.topics.root}/+/alarm/+/+`;
  }

  received(topic: string): void {
    if (alarmedLevel(this.#parts.topics.root, topic) !== null) this.#seen.add(topic);
  }

  async look(): Promise<void> {
    const { link, logger, hasOther } = this.#parts;
    if (this.#seen.size === 0 || hasOther()) return;
    let cleared = 0;
    // A batch at a time, looked up again for each and sent in one go: an alarm may be raised while others are being cleared.
    for (let batch = this.#stale(); batch.length > 0; batch = this.#stale()) {
      const sent = batch.map((topic) => link.publish({ topic, payload: "", qos: 1, retain: true }));
      const outcomes = await Promise.all(sent);
      if (outcomes.some(({ result }) => result === "lost")) return;
      for (const topic of batch) this.#seen.delete(topic);
      cleared += batch.length;
    }
    if (cleared > 0)
      logger.info({ topics: cleared }, "cleared retained alarm topics that had no active alarm");
  }

  /** The first of the topics of our sensors without an active alarm. The others need no second look, unless events are pending. */
  #stale(): string[] {
    const { active, owesEvents, sensors, topics } = this.#parts;
    const codes = new Map(sensors().map((code) => [topicLevel(code), code]));
    const wanted = new Set(active().map((payload) => standingMessage(topics, payload).topic));
    const stale: string[] = [];
    for (const topic of this.#seen) {
      if (stale.length === BATCH) break;
      const code = codes.get(alarmedLevel(topics.root, topic) ?? "");
      if (code !== undefined && owesEvents(code)) continue;
      if (code === undefined || wanted.has(topic)) this.#seen.delete(topic);
      else stale.push(topic);
    }
    return stale;
  }
}

/** The sensor's level of `{root}/{code}/alarm/{name}/{value}`; null for other topics. */
function alarmedLevel(root: string, topic: string): string | null {
  if (!topic.startsWith(`${root}/`)) return null;
  const [code, word, ...rest] = topic.slice(root.length + 1).split("/");
  return word === "alarm" && rest.length === 2 ? (code ?? null) : null;
}
