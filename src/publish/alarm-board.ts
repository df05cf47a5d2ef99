import { isEvent } from "../core/alarm/event.ts";
import type { Message } from "../core/message.ts";
import type { Logger, MessageLink } from "../core/ports.ts";
import type { Topics } from "../core/topics/topics.ts";
import { clearingMessage, standingMessage } from "./formats/alarm-messages.ts";
import type { Encode } from "./formats/encoder.ts";

/** What the board needs of the alarms. */
export interface StandingAlarms {
  /** False: ALARMS_ENABLED is false. What an earlier run left at the broker is taken back, and nothing else is said. */
  readonly isOn: boolean;
  /** Payloads of the alarms that are active, or were when alarms were last on, and go to this uplink. */
  active(): readonly string[];
  /** Whether an event, by its payload, is the newest of its alarm: only that one says how the alarm stands. */
  isNewest(payload: string): boolean;
}

export interface AlarmBoardParts {
  readonly link: MessageLink;
  readonly logger: Logger;
  readonly topics: Pick<Topics, "agentEvent" | "alarm">;
  readonly alarms: StandingAlarms;
}

/**
 * The retained topics of alarms. Says again in each session what is active: the broker may have forgotten what it retained.
 * Transitions that still wait in the outbox follow, so that the topic ends as the last of them says.
 */
export class AlarmBoard {
  readonly #parts: AlarmBoardParts;

  constructor(parts: AlarmBoardParts) {
    this.#parts = parts;
  }

  async online(): Promise<void> {
    const { alarms, link, logger, topics } = this.#parts;
    const say = alarms.isOn ? standingMessage : clearingMessage;
    let messages: readonly Message[] = [];
    try {
      messages = alarms.active().map((payload) => say(topics, payload));
    } catch (err) {
      // With alarms off they are read from the store. The session is of use without them; the next one tries again.
      logger.warn({ err }, "retained alarm topics are left as they are: the store cannot be read");
    }
    const outcomes = await Promise.all(messages.map((message) => link.publish(message)));
    const refused = outcomes.filter(({ result }) => result === "refused").length;
    if (refused > 0) logger.warn({ refused }, "the broker rejects alarm topics");
  }

  /**
   * What becomes of events on this uplink. An older event that waited (the broker was away, or refused it) is sent, but leaves
   * the alarm's own topic alone: that one would go back in time. While alarms are off an event that still waits only
   * takes its alarm's topic back.
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
          logger.warn(
            {},
            "dropped waiting alarm events: they are not sent while ALARMS_ENABLED is false",
          );
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
