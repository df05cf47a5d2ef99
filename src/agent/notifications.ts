/** Joins what people are told (the room notify) to the alarms, the status and the settings. */
import { readFileSync } from "node:fs";
import type { Settings } from "../config/settings.ts";
import type { AgentStatus, NotificationState } from "../core/agent-status.ts";
import type { AlarmEvent } from "../core/alarm/event.ts";
import { currentEvent } from "../core/alarm/found-alarm.ts";
import { boxFaults } from "../core/box-fault.ts";
import type { Runtime } from "../core/ports.ts";
import type { SiteSource } from "../core/site-source.ts";
import type { FeatureSpec } from "../features/feature.ts";
import { BoxWatch } from "../features/notify/box-watch.ts";
import type { Delivery, DeliveryMemory } from "../features/notify/delivery.ts";
import { createDestinations, type DestinationSettings } from "../features/notify/destinations.ts";
import { Heartbeat } from "../features/notify/heartbeat.ts";
import { alarmNotice, type Notice } from "../features/notify/notice.ts";
import { SPECS } from "../features/specs.ts";
import { systemClock } from "../lib/clock.ts";
import { silentLogger } from "../lib/logger.ts";
import type { Store } from "../pipeline/store/store.ts";
import type { AlarmEngines } from "./alarms/engines.ts";

interface NotificationParts extends Runtime {
  readonly settings: Settings;
  readonly site: SiteSource;
  readonly engines: AlarmEngines | null;
  readonly store: Pick<Store, "meta">;
  readonly status: () => AgentStatus;
  readonly isAlive: () => boolean;
}

/** What the settings say of the destinations. A CA is read anew for each message, so that a renewed one counts. */
function destinationsOf(settings: Settings): DestinationSettings {
  const { alarmWebhookUrl: url, alarmWebhookCaFile: caFile, alarmEmail } = settings;
  const link = settings.httpPublicUrls[0] ?? null;
  return {
    webhook:
      url === null
        ? null
        : {
            url,
            headers: settings.alarmWebhookHeaders,
            secret: settings.alarmWebhookSecret,
            ca: () => (caFile === null ? null : readFileSync(caFile, "utf8")),
            link,
          },
    mailbox:
      alarmEmail === null
        ? null
        : {
            ...alarmEmail,
            zone: settings.gatewayTimezone,
            link,
          },
    digestMinutes: settings.alarmDigestMinutes,
  };
}

export class Notifications {
  readonly #deliveries: readonly Delivery[];
  readonly #heartbeat: Heartbeat | null;
  readonly #boxWatch: BoxWatch;

  constructor(parts: NotificationParts) {
    const { settings, site, engines, status, isAlive, clock, logger } = parts;
    this.#deliveries = createDestinations(destinationsOf(settings), {
      site: () => site.current.site,
      standing: () => [
        ...[...(engines?.alarms.alarms() ?? [])].flatMap((found) => {
          const event = currentEvent(found);
          return event === null || !isForPeople(event) ? [] : [alarmNotice(event)];
        }),
        ...this.#boxWatch.standing(),
      ],
      memory: (name) => memoryOf(name, parts),
      clock,
      logger,
    });
    const { heartbeatUrl, heartbeatS } = settings;
    this.#heartbeat =
      heartbeatUrl === null
        ? null
        : new Heartbeat({ url: heartbeatUrl, everyMs: heartbeatS * 1000, isAlive, clock, logger });
    this.#boxWatch = new BoxWatch({
      faults: () => {
        const now = status();
        const ofFeature = (spec: FeatureSpec) => spec.status?.fault?.(now) ?? [];
        return [...boxFaults(now), ...SPECS.flatMap(ofFeature)];
      },
      clock,
      memory: memoryOf("box", parts),
      tell: (notices) => {
        for (const delivery of this.#deliveries) delivery.add(notices);
      },
    });
    engines?.onEvents((events) => {
      const notices = events.filter(isForPeople).map(alarmNotice);
      if (notices.length > 0) for (const delivery of this.#deliveries) delivery.add(notices);
    });
  }

  states(): NotificationState[] {
    const heartbeat = this.#heartbeat === null ? [] : [this.#heartbeat.state];
    return [...this.#deliveries.map(({ state }) => state), ...heartbeat];
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      ...this.#deliveries.map((delivery) => delivery.run(signal)),
      this.#heartbeat?.run(signal),
      this.#deliveries.length === 0 ? null : this.#boxWatch.run(signal),
    ]);
  }
}

/** A test message to each destination: what became of it. */
export async function sendTestMessages(
  settings: Settings,
  site: string,
  signal: AbortSignal,
): Promise<NotificationState[]> {
  const parts = { clock: systemClock, logger: silentLogger };
  const deliveries = createDestinations(destinationsOf(settings), {
    ...parts,
    site: () => site,
    standing: () => [],
    memory: () => ({ get: () => null, set: () => {} }),
  });
  const notice = testNotice(systemClock.now());
  const states: NotificationState[] = [];
  for (const delivery of deliveries)
    states.push({ ...delivery.state, lastError: await delivery.test(notice, signal) });
  const { heartbeatUrl: url, heartbeatS } = settings;
  if (url !== null) {
    const beat = new Heartbeat({ ...parts, url, everyMs: heartbeatS * 1000, isAlive: () => true });
    states.push({ ...beat.state, lastError: await beat.test(signal) });
  }
  return states;
}

function testNotice(timeMs: number): Notice {
  const text = "A test message of gateside doctor --notify; nothing is wrong.";
  const time = new Date(timeMs).toISOString();
  const body = { v: 1, sensor: null, alarm: "test", severity: "warning", state: "cleared" };
  const payload = (site: string) => JSON.stringify({ ...body, site, time, text });
  return { key: "test", rank: 1, isActive: false, timeMs, text, payload };
}

/** On a disk that cannot be written, it lasts as long as the process. */
function memoryOf(
  name: string,
  { store, logger }: Pick<NotificationParts, "store" | "logger">,
): DeliveryMemory {
  const key = `notified:${name}`;
  return {
    get: () => store.meta.get(key),
    set: (text) => {
      try {
        store.meta.set(key, text);
      } catch (err) {
        logger.warn({ err, name }, "what people were told could not be recorded");
      }
    },
  };
}

/** Nobody is told about historical events or shelved alarms. */
function isForPeople({ historical, shelved }: AlarmEvent): boolean {
  return !historical && shelved === null;
}
