import type { AlarmDesk } from "../core/alarm/view.ts";
import type { AuditLog } from "../core/audit.ts";
import type { ConfigurationControl } from "../core/configuration.ts";
import type { FindingDesk } from "../core/diagnosis/view.ts";
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
import type { SetupDesk } from "../core/setup.ts";
import type { SiteSource } from "../core/site-source.ts";
import type { WireNames } from "../core/wire/wire-names.ts";
import type { Metrics } from "../lib/metrics.ts";
import type { HistoryLimits } from "./query-rows.ts";
import type { TlsFiles } from "./tls.ts";

/** What the HTTP room is handed. A null part answers "not available here". */
export interface HttpParts {
  readonly site: SiteSource;
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
  /** Reload and what it compares with; null where the agent offers none. */
  readonly configuration: ConfigurationControl | null;
  /** Null while SETUP_ENABLED is false. */
  readonly setup: SetupDesk | null;
  /** Null while ALARMS_ENABLED is false. */
  readonly alarms: AlarmDesk | null;
  /** Changes are kept here; null keeps none. */
  readonly audit: AuditLog | null;
  /** Null while ALARMS_ENABLED is false. */
  readonly findings: FindingDesk | null;
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
  /** COMMANDS_ENABLED: sensor settings are taken over TCP without a token too; absent = true. */
  readonly commandsEnabled?: boolean;
  /** Null: no token, loopback only. */
  readonly token: string | null;
  /** May look and change nothing; absent or null: there is none. */
  readonly viewToken?: string | null;
  /** With them the port speaks TLS only; the socket stays plain. */
  readonly tls?: TlsFiles | null;
  readonly version: string;
  /** IANA zone of the gateway: zone-less dates of the query service are in it. */
  readonly timezone: string;
  /** Wire names with the vendor's word (contract 3 WIRE_WORD). */
  readonly names: WireNames;
  /** Directory of the built dashboard; null serves none. */
  readonly dashboardDir: string | null;
  /** Of the query service's history answers. */
  readonly historyLimits?: HistoryLimits;
}
