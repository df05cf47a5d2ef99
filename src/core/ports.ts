/** The ports of the rooms. Rooms use these types and do not know each other; src/agent connects them. */
import type {
  AppendResult,
  DayKey,
  DayProgress,
  DayRequest,
  DayResponse,
  StateRequest,
} from "./day.ts";
import type { DeliveryOutcome, Gap, Lane, LaneDepth, OutboxEntry } from "./delivery/delivery.ts";
import type { Message, PublishOutcome } from "./message.ts";
import type { Reading } from "./reading.ts";
import type { Kind, PolledKind, StreamKey } from "./sensor.ts";
import type { StoredWaveform } from "./stored-reading.ts";

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

/** What nearly every part that runs is given: time, which tests set, and the log. */
export interface Runtime {
  readonly clock: Clock;
  readonly logger: Logger;
}

/* ---------- poll ← gateway ---------- */

/** One POST of a read operation. Rejects with a CallFailure (failure.ts). */
export interface RecordSource {
  read(request: DayRequest, signal: AbortSignal): Promise<DayResponse>;
}

/** One POST of a further read operation, as the site file names it. Rejects with a CallFailure. */
export interface StateSource {
  readState(request: StateRequest, signal: AbortSignal): Promise<DayResponse>;
}

/* ---------- poll → store ---------- */

/**
 * Takes the readings of ONE response; they and the poll progress become durable together, in one transaction, or not at
 * all. Large responses spill their samples to disk during the read, so memory stays flat; a discarded or crashed
 * response leaves nothing.
 */
export interface ResponseWriter {
  /** True if this identity is stored, was stored and removed since, or was added to this writer already. */
  isKnown(timeMs: number, id: string): boolean;
  /** The reading must not be known. Resolves when the writer can take the next one (back-pressure while spilling). */
  add(reading: Reading): void | Promise<void>;
  /**
   * Resolves once durable; commits of several answers may share one transaction, for which this one waits no longer than
   * `waitMaxMs`.
   */
  commit(progress: DayProgress, waitMaxMs?: number): Promise<AppendResult>;
  /** Forgets everything added. */
  discard(): void;
}

export interface ReadingLog {
  progress(key: DayKey): DayProgress | null;
  /** @param readAtMs the gateway's time when it answered, for a read of a day */
  begin(key: DayKey, readAtMs?: number): ResponseWriter;
  /** Newest stored reading time of a sensor and kind, ms; null if none. Readings flagged time_in_future do not count. */
  newestTimeMs(sensor: string, kind: Kind): number | null;
}

/** Stored records that are needed once more with their samples: those are gone from the store. */
export interface WantedRecords {
  has(id: string): boolean;
  /** A rejection ends the read. */
  take(reading: Reading): Promise<void>;
}

/* ---------- store → publish ---------- */

/** The pending entries of one uplink, as its publishers take them. */
interface OutboxLeases {
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
}

/** How far the lanes of one uplink are. */
interface OutboxState {
  /** Resolves when something may have become leasable in this lane, or on abort. */
  changed(lane: Lane, signal: AbortSignal): Promise<void>;
  depth(lane: Lane): LaneDepth;
  /** Time of the newest reading that went live in a lane, ms; null if none did. */
  liveMark(lane: Lane, sensor: string, kind: Kind): number | null;
  /** Whether alarm events of a sensor wait in a lane. */
  owesEvents(lane: Lane, sensor: string): boolean;
  /** After a start: sensors and kinds with a reading that may be older than what went live before. */
  unproven(): readonly StreamKey[];
  /** What the broker has retained at a live topic: the time of its reading, ms; null if it has none. */
  readBack(sensor: string, kind: Kind, retainedMs: number | null): void;
  /** Makes waiting settlements durable. Never rejects: each settlement gets its own result. */
  flush(): Promise<void>;
  /** The broker has accepted something else of the uplink: a state, a description, a retained alarm. */
  accepted(): void;
}

export interface Outbox extends OutboxLeases, OutboxState {}

export interface WaveformReader {
  /** Null if the samples are gone (retention) or never existed. */
  read(fileId: number): StoredWaveform | null;
}

export interface GapLog {
  pendingGaps(max: number): Gap[];
  settleGaps(gapIds: readonly number[]): void;
}

/** The same, to look at. */
export interface PendingGaps {
  /** Those not published yet, newest first; what still grows goes on growing. @param sensor null: of all */
  newestGaps(max: number, sensor: string | null): Gap[];
}

/* ---------- publish → broker ---------- */

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

/** Whether a sensor and kind that is polled has records. */
export interface StreamFound {
  readonly sensor: string;
  readonly kind: PolledKind;
  /** It has stored readings of today or the day before, and its last read did not fail. */
  readonly hadRecords: boolean;
  /** When the newest read began that found records of its day, being then today or the day before; monotonic ms. */
  readonly foundAt: number | null;
}
