/** What stands of alarms at the broker of an uplink: retained topics, which events and the passing of sessions keep true. */
import { hasFixedTopics } from "../../config/profiles.ts";
import { isOneBroker } from "../../config/uplinks-sessions.ts";
import type { Uplink } from "../../core/uplink.ts";
import type { OtherAgents } from "../../pipeline/publish/other-agents.ts";
import type { FeatureHost } from "../host.ts";
import type { Standing, UplinkSession } from "../sessions.ts";
import { activeBefore, activePayloads, isNewestEvent } from "./active-payloads.ts";
import { AlarmBoard } from "./alarm-board.ts";
import type { AlarmLog } from "./alarm-log.ts";
import type { AlarmEngine } from "./rules/engine.ts";
import { StaleAlarms } from "./stale-alarms.ts";

type AlarmUplink = Pick<Uplink, "formats" | "name" | "profile" | "retain" | "topicPrefix" | "urls">;

/** @param engine null: alarms are off, and what stood when they were last on is taken back */
export function createBoards(
  { memory, site }: Pick<FeatureHost, "memory" | "site">,
  log: Pick<AlarmLog, "saved">,
  engine: AlarmEngine | null,
): (session: UplinkSession) => Standing {
  return (session) => {
    const { isChosen, link, logger, others, outbox, profile, turns, uplink } = session;
    const { topics } = profile;
    const hasBoard = hasAlarmTopics(uplink);
    const owesEvents = (sensor: string) => outbox.owesEvents("json", sensor);
    const known = `alarm_root:${uplink.name}`;
    const board = new AlarmBoard({
      link,
      turns,
      logger,
      topics,
      memory: { load: () => memory.get(known), save: (root) => memory.keep(known, root) },
      alarms: {
        isOn: engine !== null,
        get revision() {
          return engine?.revision ?? 0;
        },
        active: () => {
          if (!hasBoard) return [];
          return engine === null
            ? activeBefore(site.current, log, isChosen)
            : activePayloads(engine, isChosen);
        },
        owesEvents,
        isNewest: (payload) => engine !== null && isNewestEvent(engine, payload),
      },
    });
    const stale = new StaleAlarms({
      link,
      topics,
      logger,
      sensors: () => {
        const codes = site.current.sensors.map(({ code }) => code);
        return sharesTopics(uplink, session.uplinks(), others) ? codes.filter(isChosen) : codes;
      },
      active: () => (engine === null ? [] : activePayloads(engine, isChosen)),
      hasOther: () => others.current !== null,
      owesEvents,
    });
    return {
      online: () => board.online(),
      renew: () => board.renew(),
      encoder: (encode) => board.encoder(encode),
      // Where the marker may not be read back, neither may these.
      readers: hasBoard && profile.marker !== null ? [stale] : [],
    };
  };
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
function hasAlarmTopics({
  retain,
  formats,
  profile,
}: Pick<Uplink, "formats" | "profile" | "retain">): boolean {
  return retain && formats.includes("json") && !hasFixedTopics(profile);
}
