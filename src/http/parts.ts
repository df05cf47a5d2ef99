import type { FastifyInstance } from "fastify";
import type { PublishTrial } from "../core/agent-status.ts";
import type { AlarmCounts } from "../core/alarm/shown.ts";
import type { AuditLog } from "../core/audit.ts";
import type { ConfigurationControl } from "../core/configuration/configuration.ts";
import type { Runtime } from "../core/ports.ts";
import type { DayMedianStore } from "../core/query/day-medians.ts";
import type { Measurements } from "../core/query/measurements.ts";
import type {
  BackfillJobs,
  GapReader,
  HealthSource,
  HistoryReader,
  HourValues,
  LiveSource,
  SeriesMaker,
  StatusSource,
  WaveformFiles,
} from "../core/query/ports.ts";
import type { ScaleChange } from "../core/scaling.ts";
import type { SessionStore } from "../core/session-store.ts";
import type { SiteSource } from "../core/site-source.ts";
import type { LogView } from "../core/status/log-view.ts";
import type { LoopDelay } from "../lib/loop-delay.ts";
import type { Metrics } from "../lib/metrics.ts";
import type { WireNames } from "../pipeline/wire/wire-names.ts";
import type { ServedOperation } from "./api-operation.ts";
import type { FailureLimit } from "./auth.ts";
import type { OutlookPort } from "./outlook-port.ts";
import type { PairFiles } from "./tls.ts";

/** What its own operations are made of, and those of features. A null part responds "not available here". */
export interface HttpSources extends Runtime {
  readonly site: SiteSource;
  readonly status: StatusSource;
  readonly health: HealthSource;
  readonly history: HistoryReader;
  readonly hours: HourValues;
  readonly waveforms: WaveformFiles;
  readonly measurements: Measurements;
  /** Of a sensor that left the site file; null or absent: it had none. */
  readonly formerName?: (code: string) => string | null;
  /** Of a sensor, oldest first; absent: none is known. */
  readonly scaleChanges?: (code: string) => readonly ScaleChange[];
  /** Spectra and waveforms in any unit, from stored samples. */
  readonly series: SeriesMaker;
  readonly gaps: GapReader;
  readonly live: LiveSource;
  readonly backfill: BackfillJobs | null;
  /** Time of the last settings that the gateway queued for a sensor, ms; null if never. */
  readonly lastQueuedAtMs: (sensor: string) => number | null;
  /** Reload and the state it compares with; null if the agent offers none. */
  readonly configuration: ConfigurationControl | null;
  /** The publishes of `doctor` through the running sessions; absent or null if the agent offers none. */
  readonly tryPublish?: (() => Promise<readonly PublishTrial[]>) | null;
  /** Where sessions outlive the process; null or absent: they end with it. */
  readonly sessions?: SessionStore | null;
  /** The newest lines of the agent's own log; absent or null if the agent keeps none. */
  readonly log?: LogView | null;
  /** Why no change can be stored; null if it can. Absent: it always can. */
  readonly whyUnwritable?: () => Promise<string | null>;
  /** The log of changes; null keeps none. */
  readonly audit: AuditLog | null;
  /** Day rows of outlooks. */
  readonly dayMedians: Pick<DayMedianStore, "of" | "changes">;
  readonly metrics: Metrics;
  readonly loopDelay: Pick<LoopDelay, "quantiles">;
  /** The clock of the readings, ms: the gateway's if it is known (contract section 3 GATEWAY_TIMEZONE), else ours. */
  readonly gatewayNow: () => number;
}

/** Everything the HTTP room is given. */
export interface HttpParts extends HttpSources {
  /** Those of features, with refusals for features that are off. */
  readonly operations: readonly ServedOperation[];
  readonly routes: readonly OwnRoutes[];
  readonly outlooks: OutlookPort | null;
  /** Null while alarms are off. */
  readonly alarmCounts: (() => AlarmCounts) | null;
  /** Further series for /metrics. @param site its name */
  readonly metricText: (site: string) => Promise<string>;
  readonly isSetupOn: boolean;
}

export interface HttpOptions {
  readonly host: string;
  /** 0: any free port; null: none, only the socket. */
  readonly port: number | null;
  /** The second listener for commands on this machine; null: none. */
  readonly socketPath: string | null;
  /** Null: no token, loopback only. */
  readonly token: string | null;
  /** May read and change nothing; absent or null: there is none. */
  readonly viewToken?: string | null;
  /** HTTP_PUBLIC_URL: further addresses at which people open the agent, their paths ending with a slash; absent = none. */
  readonly publicUrls?: readonly string[];
  /** This computer's name, which may change; absent = it has none. */
  readonly ownName?: () => string;
  /** HTTP_TRUSTED_PROXY: addresses and networks whose X-Forwarded-For and user header count; absent = none. */
  readonly trustedProxies?: readonly string[];
  /** HTTP_USER_HEADER; absent or null: nobody is named. */
  readonly userHeader?: string | null;
  /** HTTP_SESSION_DAYS: absent = 30. */
  readonly sessionDays?: number;
  /** Tells the cookies of several agents on one host apart; stays the same over restarts. */
  readonly instance?: string;
  /** With them the port accepts only TLS; the socket stays plain. */
  readonly tls?: PairFiles | null;
  readonly version: string;
  /** IANA zone of the gateway: query-service dates without a zone are in it. */
  readonly timezone: string;
  /** Wire names with the vendor's word (contract section 3 WIRE_WORD). */
  readonly names: WireNames;
  /** Directory of the built dashboard; null serves none. */
  readonly dashboardDir: string | null;
}

/** Routes of a feature that check for themselves who asks, and have their own form of refusals. */
export interface OwnRoutes {
  /** Their paths begin so, with a slash at the end. */
  readonly below: string;
  /** @param failures counts wrong secrets of an address, those of the sign-in too */
  add(
    app: FastifyInstance,
    sources: HttpSources,
    options: HttpOptions,
    failures: FailureLimit,
  ): void;
}
