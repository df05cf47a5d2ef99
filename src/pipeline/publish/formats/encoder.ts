import type { OutboxEntry } from "../../../core/delivery/delivery.ts";
import type { Message } from "../../../core/message.ts";
import { DAY_MS } from "../../../core/time-units.ts";

/**
 * Turns one entry of a lane into the messages that must all be acknowledged before it leaves the outbox; none means the
 * entry has nothing to send in this lane. Pure except for samples read from the store.
 */
export type Encode = (entry: OutboxEntry) => readonly Message[];

/** 00 … 59. */
const TWO_DIGITS = Array.from({ length: 60 }, (_, i) => String(i).padStart(2, "0"));

/** UTC with milliseconds (contract section 6). A backlog has many instants on few days, so the day's text is cached. */
export function createTimeText(): (timeMs: number) => string {
  let day = Number.NaN;
  let text = "";
  return (timeMs) => {
    const floor = Math.floor(timeMs / DAY_MS);
    if (floor !== day) {
      text = new Date(floor * DAY_MS).toISOString().slice(0, -13);
      day = floor;
    }
    const inDay = timeMs - floor * DAY_MS;
    const seconds = Math.floor(inDay / 1000);
    const ms = inDay - seconds * 1000;
    const hour = TWO_DIGITS[Math.floor(seconds / 3600)];
    const minute = TWO_DIGITS[Math.floor(seconds / 60) % 60];
    const millis = ms === 0 ? "000" : String(ms).padStart(3, "0");
    return `${text}${hour}:${minute}:${TWO_DIGITS[seconds % 60]}.${millis}Z`;
  };
}
