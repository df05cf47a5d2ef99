/** The state of the agent as HTTP, statistics and the command line show it. */
import type { Certificate, CertificateState } from "./certificate.ts";
import type { ConfigurationState } from "./configuration.ts";
import type { LaneDepth } from "./delivery.ts";
import type { FailureClass } from "./failure.ts";
import type { KeptState } from "./kept/ports.ts";
import type { Kind } from "./sensor.ts";
import type { DaySetAside } from "./set-aside.ts";

export interface LinkState {
  readonly name: "mqtt" | "sparkplug";
  readonly isConnected: boolean;
  /** The address in use, or tried next. */
  readonly url: string;
  /** When it last connected or disconnected, ms; null if it was never connected. */
  readonly since: number | null;
  readonly lastError: string | null;
  /** What the broker refuses to take although the session lives; null while it takes everything. */
  readonly refused?: Refused | null;
  /** Another agent publishes as this site at the broker: which, and what to do; null if none was seen lately. */
  readonly otherAgent?: string | null;
  /** Another client takes the session over again and again; until ten minutes after the last time. */
  readonly stolen?: string | null;
  /** Whether the broker supports retained messages; null without a session. */
  readonly retainAvailable?: boolean | null;
  /** The chain that the broker showed last, its own certificate first; none without TLS. */
  readonly brokerCertificates?: readonly Certificate[];
  /** The addresses of the cluster in the order they are tried, each with why the last attempt there failed. */
  readonly addresses?: readonly { readonly url: string; readonly lastError: string | null }[];
  /** Sparkplug with a primary host: whether it is online. */
  readonly hostOnline?: boolean | null;
  /** What is wrong with that host's STATE; null if nothing is. */
  readonly hostDoubt?: string | null;
}

/** Topics that a broker refuses. */
export interface Refused {
  readonly topics: number;
  /** Some of them, each with the name of its reason. */
  readonly examples: readonly { readonly topic: string; readonly reason: string }[];
  /** Which, by whom, and what to change. */
  readonly text: string;
}

/** How the publish of `doctor` through a session of the running agent ended. */
export interface PublishTrial {
  readonly uplink: string;
  readonly url: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** A link for display: its session, and its counts. */
export interface LinkStatus extends LinkState {
  readonly uplink: string;
  /** Readings pending for it. */
  readonly pending: number;
  /** Time of the oldest of them, ms, as the gateway dated it; null if nothing is pending. */
  readonly oldestTimeMs: number | null;
  /** Acknowledged since the agent's start: messages on mqtt, readings and measurements on sparkplug. */
  readonly delivered: number;
  /** Publishes that did not succeed since then, by reason, as gateside_delivery_failures_total counts them. */
  readonly failures: Readonly<Record<string, number>>;
}

export interface GatewayState {
  readonly isUp: boolean;
  readonly url: string;
  readonly lastAnswerAtMs: number | null;
  readonly lastError: string | null;
  readonly lastErrorClass: FailureClass | null;
  /** Gateway's clock minus ours, ms; null if it sends no Date. */
  readonly skewMs: number | null;
  /** False if the site file reads nothing through it, as on a site with Modbus registers only. */
  readonly isNeeded?: boolean;
}

/** Up, or not needed. */
export function isGatewayWell({ isUp, isNeeded }: Pick<GatewayState, "isUp" | "isNeeded">) {
  return isUp || isNeeded === false;
}

/** A gateway that was never contacted, as on a box without sensors, is neither up nor down. */
export function isUntried(gateway: Pick<GatewayState, "isUp" | "lastAnswerAtMs" | "lastError">) {
  return !gateway.isUp && gateway.lastAnswerAtMs === null && gateway.lastError === null;
}

export interface SensorState {
  readonly code: string;
  readonly state: "online" | "silent" | "unknown";
  /** Newest reading time over its kinds, ms. */
  readonly lastReadingMs: number | null;
  readonly batteryV: number | null;
  /** From the node's own state (state reads), or the version in its records. */
  readonly firmware?: string | number | null;
  /** Radio signal of the node, dBm; null without a state read that reports it. */
  readonly signalDbm?: number | null;
  /** From the site file. */
  readonly name?: string | null;
  /** A to D, of the newest vibration reading; null if no class is set. */
  readonly zone?: string | null;
  readonly kinds: readonly {
    readonly kind: Kind;
    readonly lastReadingMs: number | null;
    /** Learned cadence, s; null before three records. */
    readonly cadenceS: number | null;
    readonly lastReadAtMs: number | null;
    /** True once a read by this process found records. */
    readonly hasRecords?: boolean;
    readonly lastError: string | null;
    /** It has missed three expected intervals: its values are no longer live. */
    readonly isSilent?: boolean;
  }[];
}

/** The Modbus server for display. */
export interface ModbusState {
  /** host:port; null while it does not listen. */
  readonly address: string | null;
  readonly clients: number;
  readonly lastError: string | null;
}

/** What hourly values take and reach back to. */
export interface HoursState {
  readonly bytes: number;
  /** Above it the oldest hours are merged to days. */
  readonly limitBytes: number;
  /** ms; null while there is none. */
  readonly oldestHourMs: number | null;
  readonly oldestDayMs: number | null;
}

export interface BufferState {
  /** By the names of lane-plan.ts: `json` is main's, `cloud/json` that of the uplink cloud. */
  readonly lanes: Readonly<Record<string, LaneDepth>>;
  readonly readings: number;
  readonly databaseBytes: number;
  readonly limitBytes: number;
  readonly diskFreeBytes: number | null;
  /** Hours of outage that fit into the free space at the recent rate; null while unknown. */
  readonly hoursUntilFull: number | null;
  readonly hours: HoursState;
  readonly dropped: Readonly<Record<string, number>>;
  readonly alarm: string | null;
  readonly isWritable: boolean;
  /** Measurements that stay for years. */
  readonly kept: KeptState;
}

/** A destination of alarm messages. */
export interface NotificationState {
  readonly name: "webhook" | "email" | "heartbeat";
  /** Why the last message was not accepted; null while it works. */
  readonly lastError: string | null;
}

export interface AgentStatus extends ConfigurationState {
  readonly site: string;
  readonly version: string;
  readonly startedAtMs: number;
  readonly nowMs: number;
  readonly timezone: string;
  readonly gateway: GatewayState;
  readonly links: readonly LinkStatus[];
  readonly buffer: BufferState;
  readonly sensors: readonly SensorState[];
  /** Of all links together. */
  readonly delivered: number;
  readonly clock: {
    readonly skewMs: number | null;
    readonly isPlausible: boolean;
    /** A `Date` of the gateway or a new record has confirmed it since the start, to within a day. */
    readonly isConfirmed: boolean;
  };
  /** Null unless MODBUS_PORT is set. */
  readonly modbus?: ModbusState | null;
  /** Days that ended the process while they were being read. */
  readonly daysSetAside?: readonly DaySetAside[];
  readonly http: HttpState;
  /** Active alarms and findings that are not shelved, by severity; null with ALARMS_ENABLED=false. */
  readonly activeAlarms?: ActiveAlarms | null;
  /** Those that are configured. */
  readonly notifications?: readonly NotificationState[];
  /** The brokers' among them. */
  readonly certificates?: readonly CertificateState[];
}

/** How many, acknowledged ones included. */
export interface ActiveAlarms {
  readonly warning: number;
  readonly alarm: number;
}

/** The agent's own HTTP server. */
interface HttpState {
  /** Base address; null while it does not listen, and with HTTP_PORT=off. */
  readonly address: string | null;
  /** Why it does not listen although it should; it is retried. */
  readonly lastError: string | null;
}
