/** Alarm events (plant section 11): one per transition, with its id and payload. */

import { createHash } from "node:crypto";
import { intactJson } from "../parsed-json.ts";
import { type Kind, normalCode } from "../sensor.ts";
import type { AlarmNote, ShownAlarm } from "./shown.ts";

export interface Worst {
  readonly measured: number | null;
  readonly timeMs: number;
}

export type Severity = "warning" | "alarm";

interface Acknowledgement {
  readonly by: string;
  readonly timeMs: number;
  readonly note: string | null;
}

export interface Shelf {
  readonly by: string;
  readonly timeMs: number;
  /** It expires at this time, ms. */
  readonly untilMs: number;
  readonly note: string | null;
  /** The id of the alarm that was shelved, which may end and rise again, with another id, meanwhile. */
  readonly alarmId?: string;
}

export interface AlarmEvent {
  readonly id: string;
  readonly sensor: string;
  readonly kind: Kind;
  readonly value: string;
  readonly alarm: string;
  readonly severity: Severity;
  readonly state: "active" | "cleared";
  /** Time of the reading that caused it; for an operator's action or silence, the moment it happened. */
  readonly timeMs: number;
  readonly limit: number | null;
  readonly hysteresis: number | null;
  readonly measured: number | null;
  readonly unit: string | null;
  readonly readingId: string;
  readonly raisedMs: number;
  /** Since when the machine has shown it, by the times of stored readings. */
  readonly sinceMs: number;
  readonly worst: Worst;
  readonly acknowledged: Acknowledgement | null;
  readonly shelved: Shelf | null;
  /** The newest note that was not part of an acknowledgement. */
  readonly note: Acknowledgement | null;
  /** Why the value is bad, for `bad_quality`. */
  readonly reason: string | null;
  readonly text: string;
  readonly historical: boolean;
}

const ID_HEX_DIGITS = 32;

/** 128 bits of SHA-256 over what identifies a transition: rule, sensor, value, reading and transition. */
export function eventId(
  alarm: string,
  sensor: string,
  value: string,
  readingId: string,
  transition: string,
): string {
  const parts = ["alarm", alarm, normalCode(sensor), value, readingId, transition];
  const text = parts.map((part) => JSON.stringify(part)).join("\n");
  return createHash("sha256").update(text).digest("hex").slice(0, ID_HEX_DIGITS);
}

/** The id of an alarm of a former sensor as it stands under the one that replaces it. */
export function takenOverId(
  { alarm, value }: Pick<AlarmEvent, "alarm" | "value">,
  sensor: string,
  former: string,
  raisedMs: number,
): string {
  return eventId(alarm, sensor, value, `${normalCode(former)}@${raisedMs}`, "replaces");
}

const iso = (timeMs: number) => new Date(timeMs).toISOString();

/** The payload as JSON text without the members that the uplink adds in front (`v`, `id`, `site`). */
export function eventText(event: AlarmEvent): string {
  const { acknowledged, shelved, worst } = event;
  return JSON.stringify({
    sensor: event.sensor,
    kind: event.kind,
    value: event.value,
    alarm: event.alarm,
    severity: event.severity,
    state: event.state,
    time: iso(event.timeMs),
    limit: event.limit,
    hysteresis: event.hysteresis,
    measured: event.measured,
    unit: event.unit,
    readingId: event.readingId,
    raised: iso(event.raisedMs),
    since: iso(event.sinceMs),
    worst: { measured: worst.measured, time: iso(worst.timeMs) },
    acknowledged: acknowledgedMember(acknowledged),
    ...(shelved === null ? {} : { shelved: shelvedMember(shelved) }),
    ...(event.note === null ? {} : { note: acknowledgedMember(event.note) }),
    ...(event.reason === null ? {} : { reason: event.reason }),
    text: event.text,
    historical: event.historical,
  });
}

/** `acknowledged` as payloads and responses show it. */
function acknowledgedMember(acknowledged: Acknowledgement | null): AlarmNote | null {
  if (acknowledged === null) return null;
  const { by, timeMs, note } = acknowledged;
  return { by, time: iso(timeMs), note };
}

/** `shelved` as payloads and responses show it. */
export function shelvedMember(shelf: Shelf | null): NonNullable<ShownAlarm["shelved"]> | null {
  if (shelf === null) return null;
  return { by: shelf.by, time: iso(shelf.timeMs), until: iso(shelf.untilMs), note: shelf.note };
}

/** The payload of plant section 11, from the text in the store. */
export function eventPayload(id: string, site: string, text: string): string {
  return `{"v":1,"id":"${id}","site":${JSON.stringify(site)},${text.slice(1)}`;
}

/**
 * The event's own time, ms, from its payload. The row's time is when it was written, by which events are sent in order.
 */
export function eventTimeMs(payload: string): number {
  const { time } = intactJson<{ time: string }>(payload);
  return Date.parse(time);
}
