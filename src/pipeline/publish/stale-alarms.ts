/**
 * Clears retained alarm topics that belong to no active alarm of this uplink: states were lost with a damaged store, a
 * closing event was dropped because the disk was full, or the sensor left the uplink's selection while the agent was stopped.
 */
import type { Logger, MessageLink } from "../../core/ports.ts";
import { topicLevel } from "../../core/topic-level.ts";
import type { Topics } from "../../core/topics/topics.ts";
import { standingMessage } from "./formats/alarm-messages.ts";
import type { RetainedReader } from "./retained-query.ts";

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
    // One at a time, and looked up again for each: an alarm may be raised while another topic is being cleared.
    for (let [topic] = this.#stale(); topic !== undefined; [topic] = this.#stale()) {
      const { result } = await link.publish({ topic, payload: "", qos: 1, retain: true });
      if (result === "lost") return;
      this.#seen.delete(topic);
      cleared += 1;
    }
    if (cleared > 0)
      logger.info({ topics: cleared }, "cleared retained alarm topics that had no active alarm");
  }

  /** Topics of our sensors without an active alarm. The others need no second look, unless events are pending. */
  #stale(): string[] {
    const { active, owesEvents, sensors, topics } = this.#parts;
    const codes = new Map(sensors().map((code) => [topicLevel(code), code]));
    const wanted = new Set(active().map((payload) => standingMessage(topics, payload).topic));
    const stale: string[] = [];
    for (const topic of this.#seen) {
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
