/** What a person is told: an alarm's transition, or that of a fault of the box. */
import { type AlarmEvent, eventPayload, eventText, type Severity } from "../../core/alarm/event.ts";
import { type BoxFault, boxFaultKey } from "../../core/status/box-fault.ts";

export interface Notice {
  /** Notices of one key are about the same alarm of the same value. */
  readonly key: string;
  /** 2 for an alarm, 1 for a warning. */
  readonly rank: number;
  readonly isActive: boolean;
  readonly timeMs: number;
  /** A sentence. */
  readonly text: string;
  /** The sensor that it is about; null: the box. */
  readonly sensor: string | null;
  /** As a web-hook sends it, JSON. */
  readonly payload: (site: string) => string;
}

/** Each once. */
export const sensorsOf = (notices: readonly Notice[]) => [
  ...new Set(notices.flatMap(({ sensor }) => sensor ?? [])),
];

const rankOf = (severity: Severity) => (severity === "alarm" ? 2 : 1);

export function alarmNotice(event: AlarmEvent): Notice {
  return {
    key: JSON.stringify([event.alarm, event.sensor, event.value]),
    rank: rankOf(event.severity),
    isActive: event.state === "active",
    timeMs: event.timeMs,
    text: event.text,
    sensor: event.sensor,
    payload: (site) => eventPayload(event.id, site, eventText(event)),
  };
}

export function boxNotice(fault: BoxFault, isActive: boolean, timeMs: number): Notice {
  const text = isActive ? fault.text : `Over: ${fault.text}`;
  return {
    key: `box ${boxFaultKey(fault)}`,
    rank: rankOf(fault.severity),
    isActive,
    timeMs,
    text,
    sensor: null,
    payload: (site) =>
      JSON.stringify({
        v: 1,
        site,
        sensor: null,
        alarm: "box",
        value: fault.value,
        ...(fault.uplink === undefined ? {} : { uplink: fault.uplink }),
        severity: fault.severity,
        state: isActive ? "active" : "cleared",
        time: new Date(timeMs).toISOString(),
        text,
      }),
  };
}
