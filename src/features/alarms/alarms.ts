/** Alarms: engines over the store, what keeps them current, what people see and change of them, and their topics. */

import { mqttActor } from "../../core/topics/request.ts";
import type { Feature } from "../feature.ts";
import type { FeatureHost } from "../host.ts";
import type { Wait } from "../machines/api.ts";
import { acknowledge } from "./acknowledge.ts";
import { StoredAlarmActions } from "./alarm-actions.ts";
import { AlarmLog } from "./alarm-log.ts";
import type { Alarms, Diagnosing } from "./api.ts";
import { createBoards } from "./boards.ts";
import { AlarmEngines } from "./engines.ts";
import { servedAlarms } from "./operations.ts";
import { sparkplugAlarms, sparkplugLimits } from "./sparkplug-port.ts";
import { AlarmUpkeep } from "./upkeep.ts";

export type AlarmsHost = Pick<
  FeatureHost,
  | "addAudit"
  | "clock"
  | "dayMedians"
  | "failures"
  | "gatewayNow"
  | "history"
  | "isGatewayTimeKnown"
  | "keeping"
  | "logger"
  | "memory"
  | "metrics"
  | "settledSensors"
  | "site"
  | "tables"
  | "whyUnwritable"
> & {
  readonly settings: {
    readonly alarmsEnabled: boolean;
    readonly commandResponsePrefix: string | null;
  };
  readonly gateway: Pick<FeatureHost["gateway"], "state">;
};

export type AlarmsFeature = ReturnType<typeof createAlarms>;

export function createAlarms(host: AlarmsHost, wait: Wait, diagnosis: Diagnosing | null) {
  const log = new AlarmLog(host);
  const running = host.settings.alarmsEnabled ? createRunning(host, wait, log, diagnosis) : null;
  const stand = createBoards(host, log, running?.engines.alarms ?? null);
  const off = { on: null, sparkplug: null, counts: null };
  return running === null ? { ...off, stand } : { ...running.feature, stand };
}

/** What it brings to others. */
interface Brought {
  readonly on: Alarms;
  counts(): ReturnType<Alarms["counts"]>;
  sparkplug(isChosen: (sensor: string) => boolean): object;
}

/** While ALARMS_ENABLED is true. */
export function createRunning(
  host: AlarmsHost,
  wait: Wait,
  log: AlarmLog,
  diagnosis: Diagnosing | null,
) {
  const { settings, site, clock, gatewayNow } = host;
  const { whyUnwritable = () => Promise.resolve(null) } = host;
  const engines = new AlarmEngines({
    ...host,
    log,
    history: host.history,
    wait,
    diagnosis,
  });
  const engine = engines.alarms;
  const findings = diagnosis?.findings ?? null;
  const upkeep = new AlarmUpkeep({
    ...host,
    engines,
    log,
    sensors: host.settledSensors,
    isGatewayUp: () => host.gateway.state.isUp,
  });
  const actions = new StoredAlarmActions({ engine, site, log, clock, gatewayNow });
  const on: Alarms = Object.assign(actions, {
    events: () => engines.standing(),
    onEvents: (listener: Parameters<Alarms["onEvents"]>[0]) => engines.onEvents(listener),
    onJudged: (listener: Parameters<Alarms["onJudged"]>[0]) => engines.onJudged(listener),
  });
  const feature = {
    on,
    /** For the status. */
    counts: () => actions.counts(),
    /** The alarms of an uplink as Sparkplug devices show them. */
    sparkplug: (isChosen: (sensor: string) => boolean) => ({
      alarms: sparkplugAlarms(engines, findings, isChosen, gatewayNow),
      limits: sparkplugLimits(
        actions,
        (sensor) => wait.stateAt(sensor, gatewayNow()) === "standing",
      ),
    }),
    begin: () => engines.open(),
    machineStateFor: (...of) => log.machineStateFor(...of),
    stored: (...of) => log.stored(...of),
    recovered: () => void upkeep.rewrite(),
    run: (signal) => upkeep.run(signal),
    status: () => ({ activeAlarms: engines.active }),
    serve: servedAlarms(actions, gatewayNow),
    requests: [
      {
        topic: "acknowledge",
        handle: (message, reply, session) =>
          acknowledge(
            {
              ...session,
              alarms: actions,
              gatewayNow,
              whyUnwritable,
              responsePrefix: settings.commandResponsePrefix,
              audit: (...what) => host.addAudit(mqttActor(message.uplink), ...what),
            },
            message,
            reply,
          ),
      },
    ],
  } satisfies Feature & Brought;
  return { engines, actions, upkeep, feature };
}
