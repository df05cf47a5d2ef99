import type { Kind } from "../core/sensor.ts";
import type { StoredReading } from "../core/stored-reading.ts";
import type { Uplink } from "../core/uplink.ts";
import type { Standing } from "../features/sessions.ts";
import type { MqttLink } from "../pipeline/link/mqtt-link.ts";
import { Descriptions } from "../pipeline/publish/descriptions.ts";
import { LiveReadBack } from "../pipeline/publish/live-read-back.ts";
import { Presence } from "../pipeline/publish/presence.ts";
import { RetainedCheck } from "../pipeline/publish/retained-check.ts";
import { RetainedQuery } from "../pipeline/publish/retained-query.ts";
import type { Turns } from "../pipeline/publish/turns.ts";
import { announcedKey } from "./left-entities.ts";
import type { SharedUplinkParts } from "./uplink-parts.ts";

/** States, statistics, gaps and descriptions. */
export function createPresence(
  shared: SharedUplinkParts,
  link: MqttLink,
  turns: Turns,
  standing: readonly Standing[],
): Presence {
  const { uplink, parts, own, profile, others, readBack, isChosen } = shared;
  const { settings, site, store, clock } = parts;
  const { logger } = own;
  const outbox = store.outboxOf(uplink.name);
  const announced = () => store.meta.get(announcedKey(uplink.name));
  return new Presence({
    link,
    turns,
    board: {
      async online() {
        for (const one of standing) await one.online?.();
      },
      async renew() {
        for (const one of standing) await one.renew?.();
      },
    },
    gaps: parts.gapsOf(uplink.name),
    clock,
    logger,
    status: parts.status,
    sensors: () => parts.sensors().filter(({ code }) => isChosen(code)),
    profile,
    stateRefreshMs: stateRefreshMs(uplink),
    others,
    readBack,
    descriptions: withStanding(
      new Descriptions(
        {
          link,
          turns,
          clock,
          logger,
          profile,
          site,
          memory: {
            load: announced,
            save: (text) => store.meta.set(announcedKey(uplink.name), text),
          },
          newestTimeMs: (sensor, kind) => store.readings.newestTimeMs(sensor, kind),
        },
        { clearReadings: settings.publishClearRemoved, isSelected: ({ code }) => isChosen(code) },
      ),
      standing,
    ),
    retained: new RetainedQuery({
      link,
      clock,
      logger,
      readers: [
        others,
        others.statistics,
        readBack,
        new RetainedCheck({
          link,
          turns,
          profile,
          site,
          logger,
          newest: (sensor, kind) => newestOf(shared, sensor, kind),
          liveMark: (format, sensor, kind) => outbox.liveMark(format, sensor, kind),
          // Its marks say where it began, not what its broker received.
          isNew: () => uplink.startFrom === "now" && announced() === null,
        }),
        new LiveReadBack({
          outbox,
          topics: profile.topics,
          marker: uplink.formats.includes("json") && uplink.retain ? profile.marker : null,
        }),
        ...standing.flatMap(({ readers = [] }) => readers),
      ],
    }),
  });
}

/** What features describe stands between the box's descriptions and those of sensors. */
function withStanding(
  descriptions: Descriptions,
  standing: readonly Standing[],
): ConstructorParameters<typeof Presence>[0]["descriptions"] {
  return {
    entitiesRemoved: () => descriptions.entitiesRemoved(),
    renew() {
      for (const one of standing) one.describeAgain?.();
      descriptions.renew();
    },
    sync: () =>
      descriptions.sync(async () => {
        for (const one of standing) await one.describe?.();
      }),
  };
}

const STATE_REFRESH_MS = 60_000;

/** Where nothing else says how often at least. */
const THINNED_STATE_REFRESH_S = 3_600;

/** Between two states of a sensor that differ in the time of its last reading alone: as rare as its readings. */
function stateRefreshMs({ everyS, onChange }: Uplink): number {
  const changeS = onChange === null ? 0 : (onChange.atLeastEveryS ?? THINNED_STATE_REFRESH_S);
  return Math.max(STATE_REFRESH_MS, 1000 * Math.max(everyS ?? 0, changeS));
}

/** Of an uplink that leaves readings out, the newest one that it has published live. */
function newestOf(
  { uplink, parts }: SharedUplinkParts,
  sensor: string,
  kind: Kind,
): StoredReading | null {
  const { history } = parts.store;
  if (uplink.onChange === null && uplink.everyS === null) return history.latest(sensor, kind);
  const outbox = parts.store.outboxOf(uplink.name);
  const fromMs = outbox.liveMark("json", sensor, kind) ?? outbox.liveMark("plain", sensor, kind);
  if (fromMs === null) return null;
  const [reading = null] = history.range({ sensor, kind, fromMs, toMs: fromMs + 1 });
  return reading;
}
