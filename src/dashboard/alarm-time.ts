/** The time that a row of the alarms tells; free of the page, so that it can be tested. */
import type { ShownAlarm } from "../core/alarm/shown.ts";

/** Since when an alarm stands; of an event when it happened. */
export const shownTime = ({ since, raised, time }: ShownAlarm, isEvent: boolean) =>
  isEvent ? (time ?? raised) : (since ?? raised ?? time);
