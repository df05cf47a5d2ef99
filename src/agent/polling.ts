import type { Settings } from "../config/settings.ts";
import type { DayKey } from "../core/day.ts";
import type { Reading } from "../core/reading.ts";
import { dayEndMs, dayOf } from "../core/time/time-zone.ts";
import { DayReader } from "../pipeline/decode/day-reader.ts";
import type { GatewayClient } from "../pipeline/gateway/client.ts";
import { Poller } from "../pipeline/poll/poller.ts";
import { createReadDay, type ReadDayParts } from "../pipeline/poll/read-day.ts";
import type { WantedTones } from "../pipeline/signal/tones.ts";
import type { AgentBase } from "./base.ts";
import type { AgentResources } from "./resources.ts";

/** Needed by every read of a day, whether its readings are stored or only shown by set-up or a command. */
export type ReadingParts = Omit<ReadDayParts, "log" | "metrics">;

interface ReadingSource
  extends Pick<AgentBase, "clock" | "gate" | "hashing" | "logger" | "names" | "plans"> {
  readonly settings: Pick<Settings, "gatewayEmptyStatuses">;
  readonly gateway: GatewayClient;
}

export function createReadingParts(source: ReadingSource): ReadingParts {
  const { settings, gateway, hashing, names, plans, gate, clock, logger } = source;
  return {
    source: gateway,
    clock,
    logger,
    emptyStatuses: new Set(settings.gatewayEmptyStatuses),
    plans,
    gate,
    createReader: (kind, checkpoint, isKnownBytes) =>
      new DayReader({
        kind,
        names,
        hashing,
        checkpoint,
        isKnownBytes,
        redact: (text) => gate.redact(text),
      }),
  };
}

interface PollingParts extends AgentBase, AgentResources {
  readonly reading: ReadingParts;
  /** True if diagnosis uses the sensor's spectra. */
  readonly wantedTones: (sensor: string) => WantedTones;
  readonly onStored: (reading: Reading) => void;
  readonly onStoredBetween: (key: DayKey, fromMs: number, toMs: number) => void;
  readonly onRead: (key: DayKey, atMs: number) => void;
}

/** Three intervals of a sensor: their median ignores one outage. */
const RECENT_TIMES = 4;

/** The poller, between gateway and store. */
export function createPoller(parts: PollingParts): Poller {
  const readToday = new Set<string>();
  /** Once the present day of a stream has been read, and no earlier one is open, its newest reading is known. */
  const noteRead = ({ sensor, kind, day }: DayKey, atMs: number) => {
    const zone = settings.gatewayTimezone;
    const today = dayOf(atMs, zone);
    const name = `${kind} ${sensor}`;
    if (day >= today) readToday.add(name);
    if (!readToday.has(name)) return;
    const open = poller.pendingDays(sensor, kind).filter((one) => one !== day && one < today);
    const newest = open.sort().at(-1);
    const fromMs = newest === undefined ? Number.NEGATIVE_INFINITY : dayEndMs(newest, zone);
    store.noteRead({ sensor, kind }, fromMs);
  };
  const { settings, site, gateway, store, marks, clock, gatewayClock, logger, metrics } = parts;
  const readDay = createReadDay({
    ...parts.reading,
    log: store.readings,
    metrics,
    wantedTones: parts.wantedTones,
    marks,
    onUnusable: (failureClass, message, key) => gateway.note(failureClass, message, key),
    onStored: parts.onStored,
    onStoredBetween: parts.onStoredBetween,
    onRead(key, atMs) {
      gateway.noteRead(key);
      noteRead(key, atMs);
      parts.onRead(key, atMs);
    },
  });
  const poller: Poller = new Poller(
    {
      clock,
      gatewayClock,
      logger,
      readDay,
      memory: store.meta,
      newestTimeMs: (sensor, kind) => store.readings.newestTimeMs(sensor, kind),
      isHeldBack: () => store.readings.isWaitingForDelivery() || store.watch.isSparing,
      recentTimes: (streams) => store.readings.recentTimes(streams, RECENT_TIMES),
      setAsideMs: (key) => marks.waitMs(key),
      readOn: (day) => store.readings.readOn(day),
    },
    {
      zone: settings.gatewayTimezone,
      lateGraceMs: settings.lateGraceS * 1000,
      backfillDays: settings.backfillDays,
      intervalMs: settings.pollIntervalS * 1000,
      concurrency: settings.gatewayConcurrency,
      commitIntervalMs: settings.commitIntervalS * 1000,
    },
    site,
  );
  return poller;
}
