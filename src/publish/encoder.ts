import type { Message, OutboxEntry } from "../core/ports.ts";

/**
 * Turns one entry of a lane into the messages that must all be acknowledged before it leaves the outbox; none means the
 * entry has nothing to send in this lane. Pure but for samples read from the store.
 */
export type Encode = (entry: OutboxEntry) => readonly Message[];

/** UTC with milliseconds (contract 6). Ever the same length, and faster than a Date for the same second. */
export function createTimeText(): (timeMs: number) => string {
  let second = Number.NaN;
  let text = "";
  return (timeMs) => {
    const floor = Math.floor(timeMs / 1000);
    if (floor !== second) {
      text = new Date(floor * 1000).toISOString().slice(0, -4);
      second = floor;
    }
    const ms = timeMs - floor * 1000;
    return `${text}${ms < 10 ? "00" : ms < 100 ? "0" : ""}${ms}Z`;
  };
}
