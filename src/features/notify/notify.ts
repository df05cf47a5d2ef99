/** Joins what people are told to the alarms, the status and the settings. */

import { readFileSync } from "node:fs";
import type { Finding } from "../../cli/finding.ts";
import type { NotificationState } from "../../core/agent-status.ts";
import type { AlarmEvent } from "../../core/alarm/event.ts";
import { sameCode } from "../../core/sensor.ts";
import { systemClock } from "../../lib/clock.ts";
import { silentLogger } from "../../lib/logger.ts";
import type { Alarms } from "../alarms/api.ts";
import type { Feature } from "../feature.ts";
import type { FeatureHost } from "../host.ts";
import { BoxWatch } from "./box-watch.ts";
import type { Delivery, DeliveryMemory } from "./delivery.ts";
import { createDestinations, type DestinationSettings } from "./destinations.ts";
import { Heartbeat } from "./heartbeat.ts";
import { type MachineSource, NO_MACHINES, type ToldMachine, toldMachine } from "./machines.ts";
import { alarmNotice, type Notice } from "./notice.ts";
import type { NotifySettings } from "./notify-settings.ts";

type NotifyHost = Pick<
  FeatureHost,
  "settings" | "site" | "memory" | "boxFaults" | "health" | "clock" | "logger"
> & { readonly settings: NotifySettings };

/** What the settings say of the destinations. A CA is read anew for each message, so that a renewed one counts. */
function destinationsOf(settings: NotifySettings): DestinationSettings {
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

export function createNotify(
  host: NotifyHost,
  alarms: Alarms | null,
  conditions: MachineSource | null,
): Feature {
  const { settings, site, clock, logger } = host;
  const deliveries: readonly Delivery[] = createDestinations(destinationsOf(settings), {
    site: () => site.current.site,
    machines: (sensors) => toldMachines(host, conditions, sensors),
    standing: () => [
      ...(alarms?.events() ?? []).filter(isForPeople).map(alarmNotice),
      ...boxWatch.standing(),
    ],
    memory: (name) => memoryOf(name, host),
    clock,
    logger,
  });
  const tell = (notices: readonly Notice[]) => {
    for (const delivery of deliveries) delivery.add(notices);
  };
  const { heartbeatUrl: url, heartbeatS } = settings;
  const isAlive = () => host.health.parts().every(({ isWell }) => isWell);
  const heartbeat =
    url === null
      ? null
      : new Heartbeat({ url, everyMs: heartbeatS * 1000, isAlive, clock, logger });
  const boxWatch = new BoxWatch({
    faults: host.boxFaults,
    clock,
    memory: memoryOf("box", host),
    tell,
  });
  alarms?.onEvents((events) => {
    const notices = events.filter(isForPeople).map(alarmNotice);
    if (notices.length > 0) tell(notices);
  });
  return {
    status: () => ({
      notifications: [
        ...deliveries.map(({ state }) => state),
        ...(heartbeat === null ? [] : [heartbeat.state]),
      ],
    }),
    async run(signal) {
      await Promise.all([
        ...deliveries.map((delivery) => delivery.run(signal)),
        heartbeat?.run(signal),
        deliveries.length === 0 ? null : boxWatch.run(signal),
      ]);
    },
  };
}

/** The machines of these sensors as they are now. Without them a message goes out all the same. */
async function toldMachines(
  { logger }: Pick<NotifyHost, "logger">,
  conditions: MachineSource | null,
  sensors: readonly string[],
): Promise<readonly ToldMachine[]> {
  const isOf = (codes: readonly string[]) =>
    codes.some((code) => sensors.some((one) => sameCode(one, code)));
  try {
    const machines = sensors.length === 0 ? [] : ((await conditions?.worstFirst()) ?? []);
    return machines.filter((one) => one.id !== null && isOf(one.sensors)).map(toldMachine);
  } catch (err) {
    logger.debug({ err }, "conditions of machines could not be computed for a message");
    return [];
  }
}

const NAMES = { webhook: "alarm web-hook", email: "alarm e-mail", heartbeat: "heartbeat" } as const;

/** A test message to each destination of alarm messages. */
export async function tryDestinations(
  settings: NotifySettings,
  site: string,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const states = await sendTestMessages(settings, site, signal);
  if (states.length === 0) {
    const detail = "no destination: set ALARM_EMAIL_URL, ALARM_WEBHOOK_URL or HEARTBEAT_URL";
    return [{ what: "notifications", state: "failed", detail }];
  }
  return states.map(({ name, lastError }) =>
    lastError === null
      ? { what: NAMES[name], state: "ok", detail: "a test message was accepted" }
      : {
          what: NAMES[name],
          state: "failed",
          detail: `the test message was not accepted: ${lastError}`,
        },
  );
}

/** What became of each. */
async function sendTestMessages(
  settings: NotifySettings,
  site: string,
  signal: AbortSignal,
): Promise<NotificationState[]> {
  const parts = { clock: systemClock, logger: silentLogger };
  const deliveries = createDestinations(destinationsOf(settings), {
    ...parts,
    site: () => site,
    machines: NO_MACHINES,
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
  return { key: "test", rank: 1, isActive: false, timeMs, text, sensor: null, payload };
}

/** On a disk that cannot be written, it lasts as long as the process. */
function memoryOf(
  name: string,
  { memory, logger }: Pick<NotifyHost, "memory" | "logger">,
): DeliveryMemory {
  const key = `notified:${name}`;
  return {
    get: () => memory.get(key),
    set: (text) => {
      try {
        memory.set(key, text);
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
