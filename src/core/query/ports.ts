/**
 * What the HTTP room needs from the rest of the agent. The store, the poller and the command room implement these;
 * src/agent connects them.
 */
import type { AgentStatus } from "../agent-status.ts";
import type { Gap } from "../delivery/delivery.ts";
import type { WaveformReader } from "../ports.ts";
import type { Doubt } from "../quality.ts";
import { INTEGER, list, MS, named, type Of, object, oneOf, orNull, TEXT } from "../schema.ts";
import type { Kind, Sensor, StreamKey } from "../sensor.ts";
import type { StoredReading, StoredWaveform } from "../stored-reading.ts";
import type { SignalUnit } from "../unit.ts";
import type { SeriesSum } from "./series-sum.ts";

/** A position in a history: just after this reading, in the direction of the walk. */
export interface HistoryPosition {
  readonly timeMs: number;
  readonly seq: number;
}

/** A span of time of one sensor and kind. */
export interface StreamRange {
  readonly sensor: string;
  readonly kind: Kind;
  /** Included, ms. */
  readonly fromMs: number;
  /** Excluded, ms. */
  readonly toMs: number;
}

/** A span of time of several sensors and kinds. */
export interface MergedRange {
  readonly streams: readonly StreamKey[];
  /** Included, ms. */
  readonly fromMs: number;
  /** Excluded, ms. */
  readonly toMs: number;
  /**
   * Values and units are enough, or these and attributes: other members may be empty, and a text of these that is no JSON is an empty
   * object. All unless given.
   */
  readonly needs?: "values" | "attributes" | "all";
}

/** Some of the hours of a range in which anything is stored. */
export interface CountedHours {
  readonly hours: number;
  /** Readings in them; null if these are not counted. */
  readonly count: number | null;
}

export interface HistoryRange extends StreamRange {
  readonly order: "ascending" | "descending";
  /** Null starts at the range's edge. */
  readonly after: HistoryPosition | null;
  /** Most readings of this page; the caller continues with `after`. */
  readonly limit: number;
}

/** Stored readings of one sensor and kind, by time. A page is one short indexed query, so no read stays open. */
export interface HistoryReader {
  latest(sensor: string, kind: Kind): StoredReading | null;
  /** The same of many, for less; those without a reading are omitted. */
  latestOf<K extends StreamKey>(wanted: readonly K[]): Iterable<readonly [K, StoredReading]>;
  /** Sensors and kinds that were ever stored. */
  streams(): readonly { readonly sensor: string; readonly kind: Kind }[];
  page(range: HistoryRange): readonly StoredReading[];
  /**
   * Oldest first, those of one time in the order stored. A page is a few short queries, and may be empty; no read stays
   * open between pages.
   */
  merged(range: MergedRange): Iterable<readonly StoredReading[]>;
  /** The highest number of a stored reading: those that are stored later have higher ones. */
  newestSeq(): number;
  /** The time span of all stored readings; null while nothing is stored. */
  extent(): { readonly fromMs: number; readonly toMs: number } | null;
  /**
   * Numbers of readings, from an index only, in time's order: each of some milliseconds of work. Once `isEnough` says so, only the hours are
   * counted.
   */
  counts(range: MergedRange, isEnough: () => boolean): Iterable<CountedHours>;
}

/** Of the hours or days that begin within the range. */
export interface HourQuery extends StreamRange {
  /** UTC hours, or UTC days. */
  readonly span: "hours" | "days";
  /** True: of hours, the UTC days within the range may come as one point each. */
  readonly takesDays?: boolean;
  /** Null: all. */
  readonly values: readonly string[] | null;
}
export interface HourPoint {
  readonly startMs: number;
  /** Readings counted. */
  readonly readings: number;
  readonly series: readonly SeriesSum[];
}
/** Sums of every reading ever taken, also of those that are no longer stored. */
export interface HourValues {
  /** In ascending time; what has no reading is left out. */
  points(query: HourQuery): Iterable<HourPoint>;
  /** True if some of the readings of this range, or of its hours, are no longer stored although they were counted. */
  isGone(finer: "readings" | "hours", range: Omit<HourQuery, "span" | "values">): boolean;
  /** Start of the first hour of a sensor and kind, or of its first day where the hours are gone, ms; null without any. */
  firstMs(sensor: string, kind: Kind): number | null;
  /** Start of the oldest hour or day that is counted, of any sensor, ms; null while there is none. */
  sinceMs(): number | null;
}

/** Where nothing is counted: then readings are all there is. */
export const NO_HOURS: HourValues = {
  points: () => [],
  isGone: () => false,
  firstMs: () => null,
  sinceMs: () => null,
};

/** Readings that were dropped, newest first; published or not. */
export interface GapReader {
  /** @param sensor of this one alone */
  recent(max: number, sensor?: string): readonly (Gap & { readonly recordedAtMs?: number })[];
}

/** One component that `/healthz` checks. */
export interface HealthPart {
  readonly name: string;
  readonly isWell: boolean;
  /** Plain words; empty while it works. */
  readonly detail: string;
}
export interface HealthSource {
  /** The current state of the loops and the database. Cheap: it is called for every probe. */
  parts(): readonly HealthPart[];
}

/** yyyy-MM-dd, days of the gateway's zone, both included; `sensor` null: every sensor. */
const BACKFILL_REQUEST = object({ from: TEXT, to: TEXT, sensor: orNull(TEXT) });
export type BackfillRequest = Of<typeof BACKFILL_REQUEST>;
/** `reads`: of a (sensor, kind, day). */
export const BACKFILL_PROGRESS = named(
  "BackfillJob",
  object({
    job: INTEGER,
    request: BACKFILL_REQUEST,
    state: oneOf(["running", "done", "failed", "cancelled"]),
    startedAtMs: MS,
    endedAtMs: orNull(MS),
    reads: object({ done: INTEGER, failed: INTEGER, total: INTEGER }),
    stored: INTEGER,
    duplicates: INTEGER,
    /** Days refused because their identities are forgotten, and failed reads, in plain words; limited in number. */
    notes: list(TEXT),
  }),
);
export type BackfillProgress = Of<typeof BACKFILL_PROGRESS>;
export type BackfillStart =
  | { readonly accepted: true; readonly progress: BackfillProgress }
  | { readonly accepted: false; readonly reason: "busy" | "invalid"; readonly detail: string };
export interface BackfillJobs {
  start(request: BackfillRequest): BackfillStart;
  /** The running job, or the last one; null before the first. */
  current(): BackfillProgress | null;
}

/** What subscribers of live events receive. */
export type LiveEvent =
  | { readonly type: "reading"; readonly reading: StoredReading }
  | { readonly type: "gap"; readonly gap: Gap };
export interface LiveSource {
  /** Calls back after each commit; returns a function that stops it. The listener must be quick and must not throw. */
  subscribe(listener: (event: LiveEvent) => void): () => void;
}

export interface StatusSource {
  status(): AgentStatus;
}

/** Samples are deleted before their readings (WAVEFORM_DAYS): a file id in a reading may have none any more. */
export interface WaveformFiles extends WaveformReader {
  has(fileId: number): boolean;
}

export interface SignalSeries {
  /** Empty if the record does not have this quantity. */
  readonly values: Float64Array;
  /** s between samples, or Hz between lines. */
  readonly step: number;
  /** Index in the record of the first value (velocity, displacement and GE lack tapered ends); 0 for spectra. */
  readonly firstIndex: number;
  readonly doubt: Doubt | null;
}
/** A waveform for display beside the overall value that the agent publishes for it. */
export interface SignalWaveform extends SignalSeries {
  /** In the waveform's unit: RMS, for displacement peak-to-peak. Null if the record does not have it. */
  readonly overall: { readonly value: number; readonly detection: "rms" | "pp" } | null;
}
interface SpectrumPeak {
  readonly frequencyHz: number;
  readonly amplitude: number;
}
interface SignalSpectrum extends SignalSeries {
  /** Largest first, at most five (signal-definitions section 4). */
  readonly peaks: readonly SpectrumPeak[];
}
/** Computes series from stored samples; `sensor` supplies speed and full scale if it is still configured. */
export interface SeriesMaker {
  waveform(stored: StoredWaveform, unit: SignalUnit, sensor: Sensor | null): SignalWaveform;
  spectrum(stored: StoredWaveform, unit: SignalUnit, sensor: Sensor | null): SignalSpectrum;
  /** Frequency of a shaft behind a belt by the axes of one record, Hz; null where no line stands out. */
  beltHz(axes: readonly StoredWaveform[], ratedHz: number): number | null;
}
