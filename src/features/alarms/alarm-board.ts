import { isEvent } from "../../core/delivery/event-kind.ts";
import type { Message } from "../../core/message.ts";
import { parsedObject } from "../../core/parsed-json.ts";
import type { Logger, MessageLink } from "../../core/ports.ts";
import type { Topics } from "../../core/topics/topics.ts";
import { clearingMessage, standingMessage } from "../../pipeline/publish/formats/alarm-messages.ts";
import type { Encode } from "../../pipeline/publish/formats/encoder.ts";
import { BATCH, type Turns } from "../../pipeline/publish/turns.ts";

/** The alarms as the board needs them. */
export interface StandingAlarms {
  /**
   * False: ALARMS_ENABLED is false. Topics left at the broker by an earlier run are cleared, and nothing else is
   * published.
   */
  readonly isOn: boolean;
  /** Another number after any change of the alarms or of what this uplink selects. */
  readonly revision: number;
  /** Payloads of the alarms of this uplink that are active, or were active when alarms were last enabled. */
  active(): readonly string[];
  /** True while events of a sensor are pending for this uplink: the closing event clears the topic itself. */
  owesEvents(sensor: string): boolean;
  /** Whether an event, by its payload, is the newest of its alarm: only that one shows the alarm's current state. */
  isNewest(payload: string): boolean;
}

/** Members of a retained payload. */
interface ActivePayload {
  readonly sensor: string;
  readonly since: string | undefined;
}

export interface AlarmBoardParts {
  readonly link: Pick<MessageLink, "publish" | "session">;
  /** Gives way to the newest readings. */
  readonly turns: Pick<Turns, "next" | "publish">;
  readonly logger: Logger;
  readonly topics: Pick<Topics, "agentEvent" | "alarm" | "root">;
  readonly alarms: StandingAlarms;
  /** The root of the topics that were last published; survives the process, may throw if the disk does not accept it. */
  readonly memory: { load(): string | null; save(root: string): Promise<void> };
}

/**
 * The retained topics of alarms. Publishes active alarms again in each session, because the broker may have lost its
 * retained messages. Transitions still in the outbox follow, so that the topic ends with the last of them.
 */
export class AlarmBoard {
  readonly #parts: AlarmBoardParts;
  /** The payload of each topic that stands. */
  readonly #standing = new Map<string, Pick<ActivePayload, "sensor" | "since">>();
  /** Of the alarms when nothing was left to renew; null if a message has been sent since. */
  #renewed: number | null = null;

  constructor(parts: AlarmBoardParts) {
    this.#parts = parts;
  }

  /**
   * In batches, each made when it is sent: an alarm that ends meanwhile is cleared by its event, and must not follow
   * that event.
   */
  async online(): Promise<void> {
    const { link, logger, turns } = this.#parts;
    const { session } = link;
    const done = new Set<string>();
    let refused = 0;
    for (;;) {
      await turns.next();
      if (link.session !== session) break;
      const batch = (this.#messages() ?? []).filter(({ topic }) => !done.has(topic));
      if (batch.length === 0) break;
      const sent = batch.slice(0, BATCH).map((message) => {
        done.add(message.topic);
        this.#note(message);
        return link.publish(message);
      });
      for (const { result } of await Promise.all(sent)) if (result === "refused") refused += 1;
    }
    if (refused > 0) logger.warn({ refused }, "the broker rejects alarm topics");
    if (link.session === session) await this.#leaveFormerRoot();
  }

  /** Under another prefix or name of the site the alarms would stand for good. */
  async #leaveFormerRoot(): Promise<void> {
    const { alarms, logger, memory, topics, turns } = this.#parts;
    const { root } = topics;
    try {
      const former = memory.load();
      if (former === root) return;
      if (former !== null) {
        const messages = alarms.active().map((payload) => {
          const message = clearingMessage(topics, payload);
          return { ...message, topic: former + message.topic.slice(root.length) };
        });
        const outcomes = await turns.publish(messages);
        if (outcomes.some(({ result }) => result === "lost")) return;
      }
      await memory.save(root);
    } catch (err) {
      logger.warn({ err }, "alarm topics of a former prefix or site stay at the broker for now");
    }
  }

  /**
   * Publishes those again of which readings that came late have shown that they began earlier, and clears those of
   * sensors that this uplink no longer selects: their ends are not told here.
   */
  async renew(): Promise<void> {
    const { alarms, link, turns } = this.#parts;
    const { revision } = alarms;
    if (!alarms.isOn || revision === this.#renewed) return;
    const { session } = link;
    const messages = this.#messages();
    if (messages === null) return;
    const active = new Set(messages.map(({ topic }) => topic));
    const left = [...this.#standing].filter(([topic]) => !active.has(topic));
    const cleared = left.filter(([, { sensor }]) => !alarms.owesEvents(sensor));
    const isOther = (message: Message) =>
      this.#standing.get(message.topic)?.since !== payloadOf(message).since;
    const due = [
      ...messages.filter(isOther),
      ...cleared.map(([topic]) => emptied({ topic, qos: 1 })),
    ];
    if (due.length + left.length === 0) this.#renewed = revision;
    while (due.length > 0) {
      await turns.next();
      if (link.session !== session) return;
      const sent = due.splice(0, BATCH).map((message) => {
        this.#note(message);
        return link.publish(message);
      });
      await Promise.all(sent);
    }
  }

  #note(message: Message): void {
    this.#renewed = null;
    if (message.payload === "") this.#standing.delete(message.topic);
    else this.#standing.set(message.topic, payloadOf(message));
  }

  /** Null if the store cannot be read. */
  #messages(): readonly Message[] | null {
    const { alarms, logger, topics } = this.#parts;
    const toMessage = alarms.isOn ? standingMessage : clearingMessage;
    try {
      return alarms.active().map((payload) => toMessage(topics, payload));
    } catch (err) {
      // With alarms disabled they are read from the store. The session works without them; the next one tries again.
      logger.warn(
        { err },
        "retained alarm topics are left unchanged, because the store cannot be read",
      );
      return null;
    }
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
      if (!messages.some(standing)) return messages;
      if (!alarms.isNewest(entry.reading.values))
        return messages.filter((message) => !standing(message));
      for (const message of messages.filter(standing)) this.#note(message);
      return messages;
    };
  }
}

function payloadOf({ payload }: Message): Pick<ActivePayload, "sensor" | "since"> {
  const { sensor = "", since } = parsedObject<Partial<ActivePayload>>(payload.toString()) ?? {};
  return { sensor, since };
}

function emptied({ topic, qos }: Pick<Message, "topic" | "qos">): Message {
  return { topic, payload: "", qos, retain: true };
}
