/**
 * What the HTTP side needs from the rest of the agent. The store, the poller and the command room satisfy these;
 * agent.ts joins them.
 */
import type { AgentStatus, Gap, StoredReading, StoredWaveform, WaveformReader } from "../ports.ts";
import type { Doubt } from "../quality.ts";
import type { Kind, Sensor } from "../sensor.ts";
import type { SignalUnit } from "../unit.ts";

/** A place in a history: just after this reading, in the direction of the walk. */
export interface HistoryPosition {
  readonly timeMs: number;
  readonly seq: number;
}

export interface HistoryRange {
  readonly sensor: string;
  readonly kind: Kind;
  /** Included, ms. */
  readonly fromMs: number;
  /** Excluded, ms. */
  readonly toMs: number;
  readonly order: "ascending" | "descending";
  /** Null starts at the range's edge. */
  readonly after: HistoryPosition | null;
  /** Most readings of this page; the caller walks on with `after`. */
  readonly limit: number;
}

/** Stored readings of one sensor and kind, by time. A page is one short indexed query, so no read ever stays open. */
export interface HistoryReader {
  latest(sensor: string, kind: Kind): StoredReading | null;
  page(range: HistoryRange): readonly StoredReading[];
  /** Time that all stored readings lie in; null while nothing is stored. */
  extent(): { readonly fromMs: number; readonly toMs: number } | null;
  /** Readings of a range, from an index alone. */
  count(range: Pick<HistoryRange, "sensor" | "kind" | "fromMs" | "toMs">): number;
}

/** Readings that were given up, newest first; published or not. */
export interface GapReader {
  recent(max: number): readonly (Gap & { readonly recordedAtMs?: number })[];
}

/** One part whose work `/healthz` vouches for. */
export interface HealthPart {
  readonly name: string;
  readonly isWell: boolean;
  /** Plain words; empty while well. */
  readonly detail: string;
}
export interface HealthSource {
  /** The loops and the database, as they are now. Cheap: it is called for every probe. */
  parts(): readonly HealthPart[];
}

export interface BackfillRequest {
  /** yyyy-MM-dd, days of the gateway's zone, both included. */
  readonly from: string;
  readonly to: string;
  /** Null: every sensor. */
  readonly sensor: string | null;
}
export interface BackfillProgress {
  readonly job: number;
  readonly request: BackfillRequest;
  readonly state: "running" | "done" | "failed" | "cancelled";
  readonly startedAtMs: number;
  readonly endedAtMs: number | null;
  /** Reads of a (sensor, kind, day). */
  readonly reads: { readonly done: number; readonly failed: number; readonly total: number };
  readonly stored: number;
  readonly duplicates: number;
  /** Days refused because their identities are forgotten, and failed reads, in plain words; bounded. */
  readonly notes: readonly string[];
}
export type BackfillStart =
  | { readonly accepted: true; readonly progress: BackfillProgress }
  | { readonly accepted: false; readonly reason: "busy" | "invalid"; readonly detail: string };
export interface BackfillJobs {
  start(request: BackfillRequest): BackfillStart;
  /** The running job, or the last one; null before the first. */
  current(): BackfillProgress | null;
}

/** Outcome of a sensor-setting command, as contract 8 names it. */
interface SettingsOutcome {
  readonly ok: boolean;
  readonly outcome: "rejected_local" | "rejected_service" | "queued" | "unknown";
  readonly statusNumber: number | null;
  readonly description: string;
}
export interface SettingsCommands {
  /** Checks, logs and executes the command of contract 8. Never rejects. */
  execute(request: Readonly<Record<string, unknown>>): Promise<SettingsOutcome>;
  /** Time of the last settings that the gateway queued for this sensor, ms; null when never. */
  lastQueuedAtMs(sensor: string): number | null;
}

/** What subscribers of live events receive. */
export type LiveEvent =
  | { readonly type: "reading"; readonly reading: StoredReading }
  | { readonly type: "gap"; readonly gap: Gap };
export interface LiveSource {
  /** Calls back after each commit; returns the way to stop. The listener must be quick and must not throw. */
  subscribe(listener: (event: LiveEvent) => void): () => void;
}

export interface StatusSource {
  status(): AgentStatus;
}

/** Samples go before their readings do (WAVEFORM_DAYS): a file id that a reading names may have none any more. */
export interface WaveformFiles extends WaveformReader {
  has(fileId: number): boolean;
}

export interface SignalSeries {
  /** Empty where the record cannot give this quantity. */
  readonly values: Float64Array;
  /** s between samples, or Hz between lines. */
  readonly step: number;
  /** Index of the record's sample that the first value belongs to (velocity, displacement and GE lack tapered ends); 0 for spectra. */
  readonly firstIndex: number;
  readonly doubt: Doubt | null;
}
/** A waveform to look at beside the overall value that the agent publishes for it. */
export interface SignalWaveform extends SignalSeries {
  /** In the waveform's unit: RMS, for displacement peak-to-peak. Null where the record cannot give it. */
  readonly overall: { readonly value: number; readonly detection: "rms" | "pp" } | null;
}
interface SpectrumPeak {
  readonly frequencyHz: number;
  readonly amplitude: number;
}
interface SignalSpectrum extends SignalSeries {
  /** Largest first, at most five (signal-definitions 4). */
  readonly peaks: readonly SpectrumPeak[];
}
/** Computes series from stored samples; `sensor` gives speed and full scale where it is still configured. */
export interface SeriesMaker {
  waveform(stored: StoredWaveform, unit: SignalUnit, sensor: Sensor | null): SignalWaveform;
  spectrum(stored: StoredWaveform, unit: SignalUnit, sensor: Sensor | null): SignalSpectrum;
}
