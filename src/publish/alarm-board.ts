import { isEvent } from "../core/alarm/event.ts";
import type { Message } from "../core/message.ts";
import type { Logger, MessageLink } from "../core/ports.ts";
import type { Topics } from "../core/topics/topics.ts";
import { clearingMessage, standingMessage } from "./formats/alarm-messages.ts";
import type { Encode } from "./formats/encoder.ts";

/** The alarms as the board needs them. */
export interface StandingAlarms {
  /**
   * False: ALARMS_ENABLED is false. Topics left at the broker by an earlier run are cleared, and nothing else is
   * published.
   */
  readonly isOn: boolean;
  /** Payloads of the alarms of this uplink that are active, or were active when alarms were last enabled. */
  active(): readonly string[];
  /** Whether an event, by its payload, is the newest of its alarm: only that one shows the alarm's current state. */
  isNewest(payload: string): boolean;
}

export interface AlarmBoardParts {
  readonly link: MessageLink;
  readonly logger: Logger;
  readonly topics: Pick<Topics, "agentEvent" | "alarm">;
  readonly alarms: StandingAlarms;
}

/**
 * The retained topics of alarms. Publishes active alarms again in each session, because the broker may have lost its
 * retained messages. Transitions still in the outbox follow, so that the topic ends with the last of them.
 */
export class AlarmBoard {
  readonly #parts: AlarmBoardParts;

  constructor(parts: AlarmBoardParts) {
    this.#parts = parts;
  }

  async online(): Promise<void> {
    const { alarms, link, logger, topics } = this.#parts;
    const toMessage = alarms.isOn ? standingMessage : clearingMessage;
    let messages: readonly Message[] = [];
    try {
      messages = alarms.active().map((payload) => toMessage(topics, payload));
    } catch (err) {
      // With alarms disabled they are read from the store. The session works without them; the next one tries again.
      logger.warn(
        { err },
        "retained alarm topics are left unchanged, because the store cannot be read",
      );
    }
    const outcomes = await Promise.all(messages.map((message) => link.publish(message)));
    const refused = outcomes.filter(({ result }) => result === "refused").length;
    if (refused > 0) logger.warn({ refused }, "the broker rejects alarm topics");
  }

  /**
   * The handling of events on this uplink. A delayed older event (the broker was away, or refused it) is sent, but
   * leaves the alarm's own topic unchanged, because it would go back in time. While alarms are disabled, a pending
   * event only clears its alarm's topic.
   */
  encoder(encode: Encode): Encode {
    const { alarms, logger } = this.#parts;
    let hasWarned = false;
    return (entry) => {
      const messages = encode(entry);
      if (!isEvent(entry.reading)) return messages;
      const standing = (message: Message) => message.retain;
      if (!alarms.isOn) {
        if (!hasWarned)
          logger.warn({}, "dropped waiting alarm events, because ALARMS_ENABLED is false");
        hasWarned = true;
        return messages.filter(standing).map(emptied);
      }
      if (!messages.some(standing) || alarms.isNewest(entry.reading.values)) return messages;
      return messages.filter((message) => !standing(message));
    };
  }
}

function emptied({ topic, qos }: Message): Message {
  return { topic, payload: "", qos, retain: true };
}
