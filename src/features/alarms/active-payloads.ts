/** The payloads of active alarms, for the retained topics. */

import { type AlarmEvent, eventPayload, eventText } from "../../core/alarm/event.ts";
import { parsedJson } from "../../core/parsed-json.ts";
import type { Site } from "../../core/site.ts";
import type { AlarmLog } from "./alarm-log.ts";
import { AlarmEngine } from "./rules/engine.ts";
import { toldEvent } from "./rules/found-alarm.ts";

/** Members of an event's payload. */
type EventMembers = Pick<AlarmEvent, "id" | "sensor" | "alarm" | "value" | "state">;

/** The newest payload of each active alarm of these sensors. */
export function activePayloads(
  engine: AlarmEngine,
  includes: (sensor: string) => boolean,
): readonly string[] {
  return [...engine.alarms()].flatMap((found) => {
    const event = includes(found.written) ? toldEvent(found) : null;
    return event === null ? [] : [eventPayload(event.id, engine.site.site, eventText(event))];
  });
}

/** The same if alarms are disabled: those that were active when alarms were last enabled. */
export function activeBefore(
  site: Site,
  log: Pick<AlarmLog, "saved">,
  includes: (sensor: string) => boolean,
): readonly string[] {
  const engine = new AlarmEngine(site);
  engine.load({ states: log.saved().states, samples: [] });
  return activePayloads(engine, includes);
}

/** Whether an event, given by its payload, is the newest of its alarm. */
export function isNewestEvent(engine: AlarmEngine, payload: string): boolean {
  const event = parsedJson<EventMembers>(payload);
  if (event === null) return false;
  const active = engine
    .active(event.sensor)
    .find(({ alarm, value }) => alarm === event.alarm && value === event.value);
  // Where it stands under a code that is written otherwise, it has ended under this one.
  const isElsewhere = (engine.written(event.sensor) ?? event.sensor) !== event.sensor;
  return active === undefined || isElsewhere
    ? event.state === "cleared"
    : active.raised?.eventId === event.id;
}
