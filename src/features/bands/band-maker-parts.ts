import type { Band, SensorBands } from "../../core/bands/band.ts";
import type { DayKey } from "../../core/day.ts";
import type { EngineFailures } from "../../core/engine-failures.ts";
import type { ReadingLog, Runtime, WantedRecords, WaveformReader } from "../../core/ports.ts";
import type { StreamRange } from "../../core/query/ports.ts";
import type { Reading } from "../../core/reading.ts";
import type { Sensor } from "../../core/sensor.ts";
import type { SiteSource } from "../../core/site-source.ts";
import type { StoredReading } from "../../core/stored-reading.ts";
import type { Metrics } from "../../lib/metrics.ts";
import type { DftPlans } from "../../pipeline/signal/fft.ts";
import type { FeatureMemory } from "../feature.ts";
import type { Wait } from "../machines/api.ts";

export interface BandMakerParts extends Runtime {
  readonly failures: EngineFailures;
  readonly site: SiteSource;
  readonly wait: Pick<Wait, "isOver" | "stateAt" | "speedAround">;
  readonly history: {
    range(query: StreamRange): Iterable<StoredReading>;
    /** Of all readings; later ones have higher numbers. */
    newestSeq(): number;
  };
  readonly waveforms: WaveformReader;
  readonly log: ReadingLog;
  /** Reads a day again for records whose samples are gone; null once it was read, else why it could not be. */
  readonly readWanted: (key: DayKey, wanted: WantedRecords) => Promise<string | null>;
  /** Since when a definition holds, and which days a backfill has read again. */
  readonly memory: Omit<FeatureMemory, "secure">;
  /** The gateway's clock, ms. */
  readonly gatewayNow: () => number;
  /** How long samples are stored, ms. */
  readonly samplesMs: number;
  /** GATEWAY_TIMEZONE. */
  readonly zone: string;
  readonly plans: DftPlans;
  readonly metrics: Pick<Metrics, "readings">;
  /** Called with each reading once it is durable. */
  readonly onStored: (reading: Reading) => void;
}

export type BandSensor = Sensor & { readonly bands: SensorBands };

/** A day that a backfill has read again: its records get the bands that they lack. */
export interface DayAgain {
  readonly day: string;
  /** Normalised; null: every sensor. */
  readonly code: string | null;
}

/** A record without bands. */
export interface BandCandidate {
  readonly id: string;
  /** The definition that it gets. */
  readonly bands: readonly Band[];
  /** The day of a backfill that asks for it; null: it was stored while its definition held. */
  readonly again: DayAgain | null;
  readonly timeMs: number;
  /** Of the record in the store. */
  readonly seq: number;
  /** Monotonic, ms. */
  readonly sinceMs: number;
}

export interface Candidates {
  /** In order of time. */
  waiting: BandCandidate[];
  /** Their wait is over, and state or speed are unknown: a late reading of the signal may tell. */
  unknown: BandCandidate[];
  /** State and speed are known, the samples are gone, and a backfill asks for them. */
  gone: BandCandidate[];
}
