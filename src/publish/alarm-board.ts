import type { Logger, MessageLink } from "../core/ports.ts";
import type { Topics } from "../core/topics/topics.ts";
import { standingMessage } from "./formats/alarm-messages.ts";

export interface AlarmBoardParts {
  readonly link: MessageLink;
  readonly logger: Logger;
  readonly topics: Pick<Topics, "agentEvent" | "alarm">;
  /** Payloads of the alarms that are active and go to this uplink. */
  readonly active: () => readonly string[];
}

/**
 * Says again in each session what is active: the broker may have forgotten what it retained. Transitions that still wait in
 * the outbox follow, so that the topic ends as the last of them says.
 */
export class AlarmBoard {
  readonly #parts: AlarmBoardParts;

  constructor(parts: AlarmBoardParts) {
    this.#parts = parts;
  }

  async online(): Promise<void> {
    const { active, link, logger, topics } = this.#parts;
    const messages = active().map((payload) => standingMessage(topics, payload));
    const outcomes = await Promise.all(messages.map((message) => link.publish(message)));
    const refused = outcomes.filter(({ result }) => result === "refused").length;
    if (refused > 0) logger.warn({ refused }, "the broker rejects alarm topics");
  }
}
