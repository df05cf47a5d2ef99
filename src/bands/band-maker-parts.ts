import type { SensorBands } from "../core/bands/band.ts";
import type { Wait } from "../core/machine-state/wait.ts";
import type { Clock, Logger, ReadingLog, WaveformReader } from "../core/ports.ts";
import type { Reading } from "../core/reading.ts";
import type { Kind, Sensor } from "../core/sensor.ts";
import type { DftPlans } from "../core/signal/fft.ts";
import type { SiteSource } from "../core/site-source.ts";
import type { StoredReading } from "../core/stored-reading.ts";
import type { Metrics } from "../lib/metrics.ts";

export interface BandMakerParts {
  readonly site: SiteSource;
  readonly wait: Pick<Wait, "isOver" | "stateAt" | "speedAround">;
  readonly history: {
    range(query: {
      readonly sensor: string;
      readonly kind: Kind;
      readonly fromMs: number;
      readonly toMs: number;
    }): Iterable<StoredReading>;
    /** Of all readings; later ones have higher numbers. */
    newestSeq(): number;
  };
  readonly waveforms: WaveformReader;
  readonly log: ReadingLog;
  /** Since when a definition holds. */
  readonly memory: { get(name: string): string | null; set(name: string, value: string): void };
  readonly clock: Clock;
  /** The gateway's clock, ms. */
  readonly gatewayNow: () => number;
  /** How long samples are stored, ms. */
  readonly samplesMs: number;
  /** GATEWAY_TIMEZONE. */
  readonly zone: string;
  readonly plans: DftPlans;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, "readings">;
  /** Called with each reading once it is durable. */
  readonly onStored: (reading: Reading) => void;
}

export type BandSensor = Sensor & { readonly bands: SensorBands };

/** A record without bands. */
export interface BandCandidate {
  readonly id: string;
  readonly timeMs: number;
  /** Monotonic, ms. */
  readonly sinceMs: number;
}

export interface Candidates {
  /** In order of time. */
  waiting: BandCandidate[];
  /** Their wait is over, and state or speed are unknown: a late reading of the signal may tell. */
  unknown: BandCandidate[];
}
