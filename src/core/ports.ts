/** The ports of the rooms. Rooms use these types and know no other room; src/agent connects them. */

import type { ConfigurationState } from "./configuration.ts";
import type { Reading, Waveform } from "./reading.ts";
import type { Kind, PolledKind, Sensor } from "./sensor.ts";
import type { DaySetAside } from "./set-aside.ts";
import type { Selector, WaveformPolicy } from "./uplink.ts";

/** Time as an interface, so that tests can control it. */
export interface Clock {
  /** Wall clock, ms since 1970 UTC. May jump. */
  now(): number;
  /** Monotonic, ms; for every interval and timeout. */
  monotonic(): number;
  /** Resolves after `ms`, or at once if aborted (it never rejects). */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The part of pino that rooms use: fields first, then the message. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/* ---------- poll ← gateway ---------- */

export interface DayRequest {
  readonly sensor: Pick<Sensor, "code" | "type">;
  readonly kind: PolledKind;
  /** yyyy-MM-dd, a calendar day of the gateway's zone. */
  readonly date: string;
}

/** A response whose head has arrived with a 2xx status; the body follows as it arrives. */
export interface DayAnswer {
  /** The gateway's clock: HTTP `Date`, ms UTC; null if it sent none. */
  readonly gatewayTimeMs: number | null;
  /** Decoded bytes (gzip removed). Throws CallFailure if truncated, stalled, too slow or too large. */
  /** A piece is valid until the next one is requested: its memory is reused. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** One POST of a read operation. Rejects with a CallFailure (failure.ts). */
export interface RecordSource {
  read(request: DayRequest, signal: AbortSignal): Promise<DayAnswer>;
}

export interface StateRequest {
  readonly sensor: Pick<Sensor, "code" | "type">;
  /** Neutral name of the operation. */
  readonly operation: string;
  /** yyyy-MM-dd; null for an operation without a day. */
  readonly date: string | null;
}

/** One POST of a further read operation, as the site file names it. Rejects with a CallFailure. */
export interface StateSource {
  readState(request: StateRequest, signal: AbortSignal): Promise<DayAnswer>;
}

/**
 * How the failure of a call is treated (services section 5 "HTTP classes").
 * transient: back off and retry · request: retry after 5 min · configuration: slow retry, needs an operator ·
 * service_status: Key.StatusNumber ≠ 0, retry at the normal interval · too_large: complete records are kept.
 */
export type FailureClass =
  | "transient"
  | "request"
  | "configuration"
  | "service_status"
  | "not_json"
  | "truncated"
  | "too_large"
  | "aborted";

/* ---------- poll → store ---------- */

export interface DayKey {
  readonly sensor: string;
  readonly kind: Kind;
  /** yyyy-MM-dd in the gateway's zone. */
  readonly day: string;
}

/** What is remembered of a day's last good read. Small, and written only if something was new. */
export interface DayProgress {
  /** Decoder checkpoint (core/decode/day-reader.ts): how many bytes are known, and their hash. Opaque to the store. */
  readonly checkpoint: string | null;
  /** Records of the day seen in its last full read. */
  readonly records: number;
}

export interface AppendResult {
  /** New readings; if the buffer is full the oldest of them may have been given up at once. */
  readonly stored: number;
  /** Readings skipped because their identity was stored before (or dropped before). */
  readonly duplicates: number;
}

/**
 * Takes the readings of ONE response; they and the poll progress become durable together, in one transaction, or not at
 * all. Large responses spill their samples to disk during the read, so memory stays flat; a discarded or crashed
 * response leaves nothing.
 */
export interface AnswerWriter {
  /** True if this identity is stored, was stored and removed since, or was added to this writer already. */
  isKnown(timeMs: number, id: string): boolean;
  /** The reading must not be known. Resolves when the writer can take the next one (back-pressure while spilling). */
  add(reading: Reading): void | Promise<void>;
  /** Resolves once durable; commits of several answers may share one transaction. */
  commit(progress: DayProgress): Promise<AppendResult>;
  /** Forgets everything added. */
  discard(): void;
}

export interface ReadingLog {
  progress(key: DayKey): DayProgress | null;
  begin(key: DayKey): AnswerWriter;
  /** Newest stored reading time of a sensor and kind, ms; null if none. Readings flagged time_in_future do not count. */
  newestTimeMs(sensor: string, kind: Kind): number | null;
}

/* ---------- store → publish ---------- */

/**
 * One queue of the outbox. Every lane has its own delivery state over the same stored readings, so that a slow one does
 * not delay another: json (live + history topics), plain (live only), waveform (JSON waveform messages), sparkplug, and
 * sparkplugWaveform (Bytes metrics).
 */
export const LANES = ["json", "plain", "waveform", "sparkplug", "sparkplugWaveform"] as const;
export type Lane = (typeof LANES)[number];

/** A reading as stored: the JSON members are texts ready to be inserted into a payload. */
export interface StoredReading {
  /** Storage order; never reused. */
  readonly seq: number;
  readonly id: string;
  readonly sensor: string;
  readonly kind: Kind;
  readonly timeMs: number;
  readonly offsetMinutes: number | null;
  /** When the agent stored it, ms (our clock). */
  readonly storedAtMs: number;
  /** JSON objects as text. */
  readonly values: string;
  readonly units: string;
  readonly quality: string;
  readonly attributes: string;
  readonly raw: string;
  /** File ids of stored waveform channels, by channel number; empty if none was stored. */
  readonly waveforms: readonly WaveformRef[];
}

export interface WaveformRef {
  readonly fileId: number;
  readonly channel: number;
  readonly axis: "H" | "V" | "A";
}

export interface StoredWaveform extends Omit<Waveform, "channels"> {
  readonly fileId: number;
  readonly sensor: string;
  readonly timeMs: number;
  readonly readingId: string;
  readonly channel: number;
  readonly axis: "H" | "V" | "A";
  readonly samples: Int16Array;
}

export interface OutboxEntry {
  readonly reading: StoredReading;
  /**
   * True: the newest pending reading of its sensor and kind, newer than everything published live before, and not
   * flagged time_in_future. It goes to the live topic (Sparkplug: not historical). Everything else is history.
   */
  readonly live: boolean;
}

/**
 * sent: the broker acknowledged it; the row is deleted · kept: unknown or transient, try again · refused: the broker
 * rejected it; the sensor and kind back off in this lane, others continue · oversize: larger than the link's limit;
 * parked until the limit changes (`unpark`), counted once · skipped: nothing to send in this lane (a history reading on
 * plain); deleted.
 */
export type DeliveryOutcome = "sent" | "kept" | "refused" | "oversize" | "skipped";

export interface Outbox {
  /**
   * Leases up to `max` pending entries of a lane, which no later lease returns until they are settled or released.
   * live: one per sensor and kind at most. backlog: oldest first per sensor and kind, fair between them.
   */
  lease(lane: Lane, which: "live" | "backlog", max: number): OutboxEntry[];
  /** Ends leases. Durable in batches (LANE_COMMIT_MS); resolves when this batch is. */
  settle(
    lane: Lane,
    outcomes: readonly { readonly entry: OutboxEntry; readonly outcome: DeliveryOutcome }[],
  ): Promise<void>;
  /** The connection is gone: every lease of the lane is pending again. */
  release(lane: Lane): void;
  /** A new connection may allow more: oversize and refused entries are tried again. */
  unpark(lane: Lane): void;
  /** Resolves when something may have become leasable in this lane, or on abort. */
  changed(lane: Lane, signal: AbortSignal): Promise<void>;
  depth(lane: Lane): LaneDepth;
  /** Time of the newest reading that went live in a lane, ms; null if none did. */
  liveMark(lane: Lane, sensor: string, kind: Kind): number | null;
  /** Makes waiting settlements durable. Never rejects: each settlement gets its own result. */
  flush(): Promise<void>;
}

/** What the store must know about an uplink to queue its readings. */
export interface OutboxUplink {
  readonly name: string;
  readonly lanes: readonly Lane[];
  readonly selector: Selector;
  readonly waveforms: WaveformPolicy;
  /** False: only live readings. */
  readonly history: boolean;
  readonly maxAgeHours: number | null;
  readonly startFrom: "stored" | "now";
}

export interface LaneDepth {
  readonly readings: number;
  /** Reading time of the oldest pending one, ms; null if empty. */
  readonly oldestTimeMs: number | null;
}

export interface WaveformReader {
  /** Null if the samples are gone (retention) or never existed. */
  read(fileId: number): StoredWaveform | null;
}

/** Readings that were given up, to be published on agent/gap (contract 6). */
export interface Gap {
  readonly gapId: number;
  readonly sensor: string;
  readonly kind: Kind;
  readonly fromMs: number;
  readonly toMs: number;
  readonly count: number;
  readonly reason: string;
  /** The uplink that loses them, if there are several, or that one was removed. */
  readonly uplink?: string;
}
export interface GapLog {
  pendingGaps(max: number): Gap[];
  settleGaps(gapIds: readonly number[]): void;
}

/* ---------- publish → broker ---------- */

export interface Message {
  readonly topic: string;
  readonly payload: string | Uint8Array;
  readonly qos: 0 | 1;
  readonly retain: boolean;
  /** MQTT 5 only. */
  readonly contentType?: string;
  readonly userProperties?: Readonly<Record<string, string>>;
  readonly correlationData?: Uint8Array;
}

/**
 * delivered: PUBACK < 0x80 (QoS 0: written) · refused: PUBACK ≥ 0x80 or no subscriber although one is required ·
 * oversize: not sent · lost: the connection ended first.
 */
export type PublishOutcome =
  | { readonly result: "delivered" }
  | { readonly result: "refused"; readonly code: number }
  | { readonly result: "oversize"; readonly bytes: number; readonly limitBytes: number }
  | { readonly result: "lost" };

export interface MessageLink {
  /** Waits for a connected session; false once aborted. */
  ready(signal: AbortSignal): Promise<boolean>;
  readonly isConnected: boolean;
  /** Counts sessions: changes with every new connection. */
  readonly session: number;
  /** In-flight messages the broker and the settings allow. */
  readonly inflightMax: number;
  /** Never rejects, never queues: without a connection it is lost. */
  publish(message: Message): Promise<PublishOutcome>;
}

/* ---------- state shown by http, stats and status ---------- */

export interface LinkState {
  readonly name: "mqtt" | "sparkplug";
  readonly isConnected: boolean;
  /** The address in use, or tried next. */
  readonly url: string;
  /** When it last connected or disconnected, ms; null if it was never connected. */
  readonly since: number | null;
  readonly lastError: string | null;
  /** Whether the broker keeps retained messages; null without a session. */
  readonly retainAvailable?: boolean | null;
  /** The addresses of the cluster in the order they are tried, each with why the last attempt there failed. */
  readonly addresses?: readonly { readonly url: string; readonly lastError: string | null }[];
  /** Sparkplug with a primary host: whether it is online. */
  readonly hostOnline?: boolean | null;
  /** What is wrong with that host's STATE; null if nothing is. */
  readonly hostDoubt?: string | null;
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
  /** Gateway clock minus ours, ms; null if it sends no Date. */
  readonly skewMs: number | null;
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

export interface BufferState {
  /** By the names of lane-plan.ts: `json` is main's, `cloud/json` that of the uplink cloud. */
  readonly lanes: Readonly<Record<string, LaneDepth>>;
  readonly readings: number;
  readonly databaseBytes: number;
  readonly limitBytes: number;
  readonly diskFreeBytes: number | null;
  /** Hours of outage that fit into the free space at the recent rate; null while unknown. */
  readonly hoursUntilFull: number | null;
  readonly dropped: Readonly<Record<string, number>>;
  readonly alarm: string | null;
  readonly isWritable: boolean;
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
  readonly clock: { readonly skewMs: number | null; readonly isPlausible: boolean };
  /** Null unless MODBUS_PORT is set. */
  readonly modbus?: ModbusState | null;
  /** Days that ended the process while they were being read. */
  readonly daysSetAside?: readonly DaySetAside[];
  readonly http: HttpState;
}

/** The agent's own HTTP server. */
interface HttpState {
  /** Base address; null while it does not listen, and with HTTP_PORT=off. */
  readonly address: string | null;
  /** Why it does not listen although it should; it is retried. */
  readonly lastError: string | null;
}
