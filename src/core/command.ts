/** Sensor settings on their way to the gateway (contract section 8): the types, and the ports of the command room. */

type CommandOutcome = "rejected_local" | "rejected_service" | "queued" | "unknown";

/** The response to a command. Status 0 means queued, never applied; null if no documented number fits. */
export interface CommandResult {
  readonly ok: boolean;
  readonly outcome: CommandOutcome;
  readonly statusNumber: number | null;
  readonly description: string;
  /** Nothing of the request was kept: the same request later is a new one. */
  readonly reason?: typeof STORE_HELD;
}

/** Another program keeps the store from being written. */
export const STORE_HELD = "store_held";

/** Checked and within limits: the content of one call of the gateway. */
export interface SensorSettings {
  /** Serial number, 1 to 15 digits. */
  readonly code: string;
  /** The vendor's type code. */
  readonly type: number;
  /** Minutes between full data sends. */
  readonly intervalSendDataMin: number;
  /** Measuring range, G. */
  readonly rangeG: number;
  /** Seconds between alarm checks. */
  readonly intervalRmsS: number;
  /** Alarm thresholds of the three axes, mm/s. */
  readonly alarms: readonly [number, number, number];
}

/** Reported for a command during which the agent stopped. */
export const INTERRUPTED =
  "the agent stopped before this request was answered; it is not executed again";

/** The service's integers have 32 bits; its own upper limits are not known. */
const INTEGER_MAX = 2_147_483_647;

/** Valid fields of a request to saveSettings, both ends included; all except the alarms are integers. */
export const SETTINGS_BOUNDS = {
  IntervalSendData: { min: 10, max: INTEGER_MAX },
  Range: { min: 1, max: INTEGER_MAX },
  IntervalRMS: { min: 30, max: INTEGER_MAX },
  alarm: { min: 0.5, max: 1_000_000 },
} as const;

/** UpdateConfig exists only on generation 1, where saveSettings works too. */
export const SETTINGS_OPERATION_NAMES = ["saveSettings", "UpdateConfig"] as const;
export type SettingsOperation = (typeof SETTINGS_OPERATION_NAMES)[number];

/** The minimum interval if no rule is known: UpdateConfig only checks the alarms (services section 3.8). */
const INTERVAL_MIN = 1;

/** The limits of one field; the minima of the intervals are those of saveSettings. */
export function settingsBounds(
  operation: SettingsOperation,
  field: keyof typeof SETTINGS_BOUNDS,
): { readonly min: number; readonly max: number } {
  const { min, max } = SETTINGS_BOUNDS[field];
  const isInterval = field === "IntervalSendData" || field === "IntervalRMS";
  return { min: operation === "UpdateConfig" && isInterval ? INTERVAL_MIN : min, max };
}

/** One POST that queues settings. */
export interface SettingsGateway {
  /** Resolves with the response's Key of any number; rejects with a CallFailure (core/failure.ts) if there is none. */
  queueSettings(
    operation: SettingsOperation,
    settings: SensorSettings,
    signal: AbortSignal,
  ): Promise<{ readonly statusNumber: number; readonly description: string }>;
}

/** For parts of the agent that take settings in another form, as Sparkplug does. */
export interface SettingsRequests {
  /** Never rejects. @param actor who requested it and how, for the audit log */
  execute(
    request: Readonly<Record<string, unknown>>,
    source: "mqtt",
    actor: { readonly who: string; readonly what: string },
  ): Promise<CommandResult>;
}

export interface CommandEntry {
  /** When it arrived, ms (our clock). */
  readonly receivedAtMs: number;
  /** Equal for a request and its redelivery. */
  readonly key: string;
  /** As the request names it; empty if it names none. */
  readonly sensor: string;
  readonly source: "mqtt" | "http" | "cli";
  /** The request as received, truncated. */
  readonly payload: string;
}

/** Every command with its time and outcome: the audit log, and the memory that keeps a redelivery from acting twice. */
export interface CommandLog {
  /** Durable when it returns, which is before the gateway is called. Returns the entry's number. */
  begin(entry: CommandEntry): number;
  /** Durable when it resolves. */
  finish(command: number, result: Omit<CommandResult, "ok">, finishedAtMs: number): Promise<void>;
  /** Requests with their outcomes, none of which called the gateway; in one transaction. */
  refused(group: readonly RefusedCommand[]): Promise<void>;
  /** The newest entry of this key received at `sinceMs` or later; its outcome is null if the agent stopped before it. */
  findByKey(key: string, sinceMs: number): LoggedOutcome | null;
  /** The newest command that queued settings of this sensor. */
  lastQueued(sensor: string): { readonly finishedAtMs: number | null } | null;
  /** Times of the newest command that may have called the gateway, ms (our clock); null if there was none. */
  lastCall(): CallTimes | null;
}

export interface RefusedCommand {
  readonly entry: CommandEntry;
  readonly result: Omit<CommandResult, "ok">;
  readonly finishedAtMs: number;
}

export interface CallTimes {
  readonly receivedAtMs: number;
  /** Null if the agent stopped before the response: the call, if there was one, came later than the request. */
  readonly finishedAtMs: number | null;
}

export interface LoggedOutcome {
  readonly outcome: CommandOutcome | null;
  readonly statusNumber: number | null;
  readonly description: string | null;
}
