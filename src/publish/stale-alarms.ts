/**
 * Clears retained alarm topics that no alarm of this agent stands behind any more: states were lost with a damaged store, or a
 * closing event was dropped because the disk was full. The broker is asked once per session which topics it holds.
 */
import type { Clock, Logger, MessageLink } from "../core/ports.ts";
import { topicLevel } from "../core/topic-level.ts";
import type { Topics } from "../core/topics/topics.ts";
import { standingMessage } from "./formats/alarm-messages.ts";

export interface StaleAlarmsParts {
  readonly link: MessageLink & {
    /** False where the broker refuses it or the session ends first. */
    subscribe(topic: string): Promise<boolean>;
  };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly topics: Pick<Topics, "root" | "agentEvent" | "alarm">;
  /** Codes of the sensors that this uplink is about: topics of others belong to someone else. */
  readonly sensors: () => readonly string[];
  /** Payloads of the alarms whose topics are to stay. */
  readonly active: () => readonly string[];
  /** True while events of a sensor wait for this uplink: the closing one clears the topic itself. */
  readonly owesEvents: (sensor: string) => boolean;
}

/** Brokers send what they retain right after SUBACK; events that were waiting go out in this time too. */
const ANSWER_MS = 3000;
/** Sessions in a row that ended while we asked: this broker ends sessions because of it, so it is not asked again. */
const STRIKES_MAX = 2;

export class StaleAlarms {
  readonly #parts: StaleAlarmsParts;
  /** Retained topics of alarms, as the broker sent them in this session. */
  readonly #seen = new Set<string>();
  #askedAt: number | null = null;
  #strikes = 0;

  constructor(parts: StaleAlarmsParts) {
    this.#parts = parts;
  }

  /** At the beginning of a session. */
  begin(): void {
    const { clock, link, topics } = this.#parts;
    if (this.#askedAt !== null) this.#strikes += 1;
    this.#seen.clear();
    this.#askedAt = null;
    if (this.#strikes >= STRIKES_MAX) return;
    this.#askedAt = clock.monotonic();
    void link.subscribe(`${topics.root}/+/alarm/+/+`);
  }

  /** `isRetained`: the broker had it when we asked. */
  received(topic: string, isRetained: boolean): void {
    if (isRetained && alarmedLevel(this.#parts.topics.root, topic) !== null) this.#seen.add(topic);
  }

  /** To be called now and then while a session is open. */
  async look(): Promise<void> {
    const { clock, link, logger } = this.#parts;
    if (this.#askedAt !== null) {
      if (clock.monotonic() - this.#askedAt < ANSWER_MS) return;
      this.#askedAt = null;
      this.#strikes = 0;
    }
    if (this.#seen.size === 0) return;
    let cleared = 0;
    // One at a time, and looked up again for each: an alarm may be raised while another topic is being cleared.
    for (let [topic] = this.#stale(); topic !== undefined; [topic] = this.#stale()) {
      const { result } = await link.publish({ topic, payload: "", qos: 1, retain: true });
      if (result === "lost") return;
      this.#seen.delete(topic);
      cleared += 1;
    }
    if (cleared > 0)
      logger.info({ topics: cleared }, "cleared retained alarm topics without an active alarm");
  }

  /** Those of our sensors that no active alarm explains; the others need no second look, unless events still wait. */
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
