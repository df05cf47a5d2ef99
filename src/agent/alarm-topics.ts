import { hasFixedTopics } from "../config/profiles.ts";
import { isOneBroker } from "../config/uplinks-sessions.ts";
import type { Uplink } from "../core/uplink.ts";
import type { MqttLink } from "../pipeline/link/mqtt-link.ts";
import { AlarmBoard } from "../pipeline/publish/alarm-board.ts";
import type { OtherAgents } from "../pipeline/publish/other-agents.ts";
import { StaleAlarms } from "../pipeline/publish/stale-alarms.ts";
import type { Turns } from "../pipeline/publish/turns.ts";
import { activeBefore, activePayloads, isNewestEvent } from "./alarms/active-payloads.ts";

import type { SharedUplinkParts } from "./uplink-parts.ts";

type AlarmUplink = Pick<Uplink, "formats" | "name" | "profile" | "retain" | "topicPrefix" | "urls">;

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
    sensors: () => {
      const codes = site.current.sensors.map(({ code }) => code);
      return sharesTopics(uplink, parts.uplinks(), others) ? codes.filter(isChosen) : codes;
    },
    active: () => (alarms === null ? [] : activePayloads(alarms.engines.alarms, isChosen)),
    hasOther: () => others.current !== null,
    owesEvents: (sensor) => outbox.owesEvents("json", sensor),
  });
}

/**
 * Whether another uplink publishes alarms at the same topics of the same broker: by its address, or because its state was
 * seen there. Without one, those of sensors that this uplink does not select are left from when it did.
 */
export function sharesTopics(
  uplink: AlarmUplink,
  uplinks: readonly AlarmUplink[],
  { hasNeighbour }: Pick<OtherAgents, "hasNeighbour">,
): boolean {
  return (
    hasNeighbour ||
    uplinks.some(
      (one) =>
        one.name !== uplink.name &&
        one.topicPrefix === uplink.topicPrefix &&
        hasAlarmTopics(one) &&
        isOneBroker(one, uplink),
    )
  );
}

/** A platform that names the topics has none for active alarms; it receives the events. */
export function hasAlarmTopics({
  retain,
  formats,
  profile,
}: Pick<Uplink, "formats" | "profile" | "retain">): boolean {
  return retain && formats.includes("json") && !hasFixedTopics(profile);
}

/** The retained messages of active alarms, if the uplink has topics for them. */
export function createBoard(
  { uplink, parts, own, profile, isChosen }: SharedUplinkParts,
  link: MqttLink,
  turns: Turns,
): AlarmBoard {
  const { alarms, site, store } = parts;
  const hasBoard = hasAlarmTopics(uplink);
  const outbox = store.outboxOf(uplink.name);
  const memory = `alarm_root:${uplink.name}`;
  return new AlarmBoard({
    link,
    turns,
    logger: own.logger,
    topics: profile.topics,
    memory: {
      load: () => store.meta.get(memory),
      save: (root) => store.meta.keep(memory, root),
    },
    alarms: {
      isOn: alarms !== null,
      get revision() {
        return alarms?.engines.alarms.revision ?? 0;
      },
      active: () => {
        if (!hasBoard) return [];
        return alarms === null
          ? activeBefore(site.current, store.alarms, isChosen)
          : activePayloads(alarms.engines.alarms, isChosen);
      },
      owesEvents: (sensor) => outbox.owesEvents("json", sensor),
      isNewest: (payload) => alarms !== null && isNewestEvent(alarms.engines.alarms, payload),
    },
  });
}
