import type { Settings } from "../config/settings.ts";
import type { AgentStatus, BufferState, LinkStatus, SensorState } from "../core/agent-status.ts";
import type { ConfigurationState } from "../core/configuration/configuration.ts";
import type { EngineFailures } from "../core/engine-failures.ts";
import type { Clock } from "../core/ports.ts";
import { readsGateway, type Site } from "../core/site.ts";
import type { SiteSource } from "../core/site-source.ts";
import type { CertificateState } from "../core/status/certificate.ts";
import type { ReadingMarks } from "../core/status/set-aside.ts";
import { VERSION } from "../lib/version.ts";
import type { GatewayClient } from "../pipeline/gateway/client.ts";
import type { GatewayClock } from "../pipeline/poll/gateway-clock.ts";
import type { Poller } from "../pipeline/poll/poller.ts";
import type { ReadingWatch } from "../pipeline/store/readings/reading-watch.ts";
import type { Store } from "../pipeline/store/store.ts";

/** A clock before this has not been set: the box has no clock chip and does not know the time yet. */
const PLAUSIBLE_SINCE_MS = Date.UTC(2024, 0, 1);
const SENSORS_SHARED_MS = 1000;

interface StatusParts {
  readonly settings: Pick<Settings, "gatewayTimezone">;
  readonly site: SiteSource;
  readonly clock: Clock;
  readonly startedAt: number;
  readonly store: Store;
  readonly gateway: GatewayClient;
  readonly poller: Poller;
  readonly gatewayClock: GatewayClock;
  /** With what features read beside the records. */
  readonly sensorState: (polled: SensorState) => SensorState;
  readonly watch: ReadingWatch;
  readonly marks: ReadingMarks;
  readonly failures: EngineFailures;
}

/** Added by parts that publish or serve the status themselves, and are therefore built after it. */
interface StatusSections {
  readonly uplinks: {
    links(buffer: BufferState): readonly LinkStatus[];
    readonly delivered: number;
  };
  readonly configuration: () => ConfigurationState;
  readonly http: () => AgentStatus["http"];
  /** Members of features; null for those that are off. */
  readonly features: () => object;
  readonly certificates: (links: readonly LinkStatus[]) => readonly CertificateState[];
}

const UNCONFIGURED: ConfigurationState = {
  configuration: "",
  pendingRestart: [],
  pendingReload: [],
  configurationFaults: [],
  renewedByRestart: [],
};

/** The state of the agent now, for /api/v1/status, MQTT, Modbus and the command line. */
export class StatusReport {
  readonly #parts: StatusParts;
  #sections: Partial<StatusSections> = {};
  #shared: { site: Site; at: number; sensors: readonly SensorState[] } | null = null;

  constructor(parts: StatusParts) {
    this.#parts = parts;
  }

  /** Includes these parts from now on. */
  include(sections: Partial<StatusSections>): void {
    this.#sections = { ...this.#sections, ...sections };
  }

  /** The states of all sensors, at most a second old: for those who look every few seconds, of whom a large site has many. */
  readonly recentSensors = (): readonly SensorState[] => {
    const now = this.#parts.clock.monotonic();
    const site = this.#parts.site.current;
    let shared = this.#shared;
    if (shared === null || shared.site !== site || now - shared.at >= SENSORS_SHARED_MS) {
      shared = { site, at: now, sensors: this.#sensorStates(site) };
      this.#shared = shared;
    }
    return shared.sensors;
  };

  #sensorStates(site: Site): readonly SensorState[] {
    const { poller, sensorState, watch } = this.#parts;
    const names = new Map(site.sensors.map(({ code, name }) => [code, name]));
    return poller.sensorStates().map((polled) => {
      const { code } = polled;
      const { state, lastReadingMs, kinds } = sensorState(polled);
      const node = watch.node(code);
      // Member by member: a spread takes five times as long, and this is done for every sensor every few seconds.
      return {
        code,
        state,
        lastReadingMs,
        batteryV: watch.batteryV(code),
        kinds,
        firmware: node?.firmware ?? null,
        signalDbm: node?.signalDbm ?? null,
        name: names.get(code) ?? null,
        zone: watch.zone(code),
      };
    });
  }

  /** Its sensors are looked up only if they are read. */
  readonly current = (): AgentStatus => {
    const { settings, site, clock, store, gateway, marks, failures } = this.#parts;
    const { uplinks, configuration, http, features, certificates } = this.#sections;
    let sensors: readonly SensorState[] | null = null;
    const readSensors = () => this.#sensorStates(site.current);
    const nowMs = clock.now();
    const skew = this.#parts.gatewayClock.skewMs;
    const skewMs = skew === null ? null : Math.round(skew);
    const buffer = store.state();
    const links = uplinks?.links(buffer) ?? [];
    return {
      site: site.current.site,
      version: VERSION,
      startedAtMs: nowMs - Math.round(clock.monotonic() - this.#parts.startedAt),
      nowMs,
      timezone: settings.gatewayTimezone,
      gateway: { ...gateway.state, skewMs, isNeeded: readsGateway(site.current) },
      links,
      buffer,
      get sensors() {
        sensors ??= readSensors();
        return sensors;
      },
      delivered: uplinks?.delivered ?? 0,
      daysSetAside: marks.setAside,
      clock: {
        skewMs,
        isPlausible: nowMs >= PLAUSIBLE_SINCE_MS,
        isConfirmed: this.#parts.gatewayClock.isConfirmed,
      },
      notifications: [],
      activeAlarms: null,
      alarmFailures: failures.standing,
      certificates: certificates?.(links) ?? [],
      http: http?.() ?? { address: null, lastError: null },
      ...(configuration?.() ?? UNCONFIGURED),
      ...features?.(),
    };
  };
}
