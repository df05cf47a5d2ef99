/** Messages for an alarm's transition (plant section 11): the event, and the message retained while the alarm is active. */
import type { AlarmEvent } from "../../../core/alarm/event.ts";
import type { Message } from "../../../core/message.ts";
import type { StoredReading } from "../../../core/stored-reading.ts";
import type { Topics } from "../../../core/topics/topics.ts";

type AlarmTopics = Pick<Topics, "agentEvent" | "alarm">;

/** The members of a payload that identify its origin. */
type Addressed = Pick<AlarmEvent, "sensor" | "alarm" | "value" | "state" | "historical">;

/**
 * Every transition in order, never retained; after it, if it is not historical, the alarm's own topic: the payload
 * while the alarm is active, empty once it is cleared. Both leave the outbox together, in this order on the wire.
 */
export function eventMessages(
  topics: AlarmTopics,
  { id, values: payload }: Pick<StoredReading, "id" | "values">,
  retain: boolean,
): Message[] {
  const message: Message = {
    topic: topics.agentEvent,
    payload,
    qos: 1,
    retain: false,
    contentType: "application/json",
    userProperties: { id, kind: "event" },
  };
  if (!retain || addressedBy(payload).historical) return [message];
  return [message, standingMessage(topics, payload)];
}

/** The retained message of an active alarm, by its payload. */
export function standingMessage(topics: AlarmTopics, payload: string): Message {
  return standing(topics, addressedBy(payload), payload);
}

/** Clears the retained message of an alarm; its payload is not read. */
export function clearingMessage(topics: AlarmTopics, payload: string): Message {
  return standing(topics, { ...addressedBy(payload), state: "cleared" }, payload);
}

function addressedBy(payload: string): Addressed {
  return JSON.parse(payload);
}

function standing(topics: AlarmTopics, event: Addressed, payload: string): Message {
  const isOver = event.state === "cleared";
  return {
    topic: topics.alarm(event.sensor, event.alarm, event.value),
    payload: isOver ? "" : payload,
    qos: 1,
    retain: true,
    ...(isOver ? {} : { contentType: "application/json" }),
  };
}
