import type { Uplink } from "../core/uplink.ts";
import type { MqttLink } from "../link/mqtt-link.ts";
import { AlarmBoard } from "../publish/alarm-board.ts";
import { StaleAlarms } from "../publish/stale-alarms.ts";
import type { Turns } from "../publish/turns.ts";
import { activeBefore, activePayloads, isNewestEvent } from "./alarms/active-payloads.ts";

import type { SharedUplinkParts } from "./uplink-parts.ts";

export function createStaleAlarms(
  { uplink, parts, own, profile, others, isChosen }: SharedUplinkParts,
  link: MqttLink,
): StaleAlarms {
  const { alarms, site, store } = parts;
  const outbox = store.outboxOf(uplink.name);
  return new StaleAlarms({
    link,
    topics: profile.topics,
    logger: own.logger,
    sensors: () => site.current.sensors.map(({ code }) => code).filter((code) => isChosen(code)),
    active: () => (alarms === null ? [] : activePayloads(alarms.engines.alarms)),
    hasOther: () => others.current !== null,
    owesEvents: (sensor) => outbox.owesEvents("json", sensor),
  });
}

/** Proprietary platforms have no topics for active alarms; they receive the events. */
export function hasAlarmTopics({ retain, formats, profile }: Uplink): boolean {
  return (
    retain && formats.includes("json") && (profile === "gateside" || profile === "homeassistant")
  );
}

/** The retained messages of active alarms, if the uplink has topics for them. */
export function createBoard(
  { uplink, parts, own, profile, isChosen }: SharedUplinkParts,
  link: MqttLink,
  turns: Turns,
): AlarmBoard {
  const { alarms, site, store } = parts;
  const hasBoard = hasAlarmTopics(uplink);
  return new AlarmBoard({
    link,
    turns,
    logger: own.logger,
    topics: profile.topics,
    alarms: {
      isOn: alarms !== null,
      active: () => {
        if (!hasBoard) return [];
        const active =
          alarms === null
            ? activeBefore(site.current, store.alarms)
            : activePayloads(alarms.engines.alarms);
        return active.filter((event) => isChosen(sensorOf(event)));
      },
      ofOthers: () => {
        if (alarms === null || !hasBoard) return [];
        // The alarms of those that left the site file end, and their ends are told.
        const present = new Set(site.current.sensors.map(({ code }) => code));
        return activePayloads(alarms.engines.alarms).filter((event) => {
          const sensor = sensorOf(event);
          return present.has(sensor) && !isChosen(sensor);
        });
      },
      isNewest: (payload) => alarms !== null && isNewestEvent(alarms.engines.alarms, payload),
    },
  });
}

function sensorOf(eventPayload: string): string {
  const { sensor }: { readonly sensor?: unknown } = JSON.parse(eventPayload);
  return String(sensor);
}
