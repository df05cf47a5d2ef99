import type { Clock, Logger } from "../core/ports.ts";
import type {
  BackfillJobs,
  GapReader,
  HealthSource,
  HistoryReader,
  LiveSource,
  SeriesMaker,
  SettingsCommands,
  StatusSource,
  WaveformFiles,
} from "../core/query/ports.ts";
import type { Site } from "../core/sensor.ts";
import type { WireNames } from "../core/wire/wire-names.ts";
import type { Metrics } from "../lib/metrics.ts";

/** What the HTTP room is handed. A null part answers "not available here". */
export interface HttpParts {
  readonly site: Site;
  readonly status: StatusSource;
  readonly health: HealthSource;
  readonly history: HistoryReader;
  readonly waveforms: WaveformFiles;
  /** Spectra and waveforms in any unit, from stored samples. */
  readonly series: SeriesMaker;
  readonly gaps: GapReader;
  readonly live: LiveSource;
  readonly backfill: BackfillJobs | null;
  /** Local sensor settings (contract 2 `settings`); null where the agent offers none. */
  readonly settings: SettingsCommands | null;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface HttpOptions {
  readonly host: string;
  /** 0: any free one; null: none, only the socket. */
  readonly port: number | null;
  /** Where this machine's commands reach the agent as well; null: nowhere. */
  readonly socketPath: string | null;
  /** Null: no token, loopback only. */
  readonly token: string | null;
  readonly version: string;
  /** IANA zone of the gateway: zone-less dates of the query service are in it. */
  readonly timezone: string;
  /** Wire names with the vendor's word (contract 3 WIRE_WORD). */
  readonly names: WireNames;
  /** Directory of the built dashboard; null serves none. */
  readonly dashboardDir: string | null;
  /** Most rows of one history answer. */
  readonly historyRowsMax?: number;
}
