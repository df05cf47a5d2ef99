/** The agent's own log as people read it in the dashboard (plant section 20). */

import type { JsonObject } from "../record.ts";
import { INTEGER, known, list, MS, type Of, object, orNull, TEXT } from "../schema.ts";

export const LOG_LEVELS = { debug: 20, info: 30, warn: 40, error: 50 } as const;
export type LogLevel = keyof typeof LOG_LEVELS;

export interface LogLine {
  /** Counts the lines since the start. */
  readonly number: number;
  /** One JSON object, exactly as written to stdout, secrets masked. */
  readonly text: string;
}

export interface LogQuery {
  /** Only lines after this number; null: the newest ones. */
  readonly after: number | null;
  readonly level: LogLevel;
  /** Part of the line, any letter case. */
  readonly text: string;
  readonly limit: number;
}

export interface LogPage {
  /** Oldest first. */
  readonly lines: readonly LogLine[];
  /** `after` of the next query. */
  readonly last: number;
  /** Lines since the start that are no longer kept. */
  readonly dropped: number;
}

export interface LogView {
  page(query: LogQuery): LogPage;
  /** LOG_LEVEL, or debug for a while. */
  readonly level: string;
  /** When LOG_LEVEL is in effect again, ms; null while it is. */
  readonly debugUntilMs: number | null;
  /** Logs at level debug for this time; 0 ends that. */
  debugFor(minutes: number): void;
}

/** `debugUntilMs`: when LOG_LEVEL is in effect again; null while it is. */
const LEVEL = { level: TEXT, debugUntilMs: orNull(MS) };
export const LOG_STATE = object(LEVEL);
export const SHOWN_LOG = object({
  ...LEVEL,
  last: { ...INTEGER, description: "`after` of the next request." },
  dropped: { ...INTEGER, description: "Lines since the start that are no longer kept." },
  lines: list(known<JsonObject>({ type: "object", additionalProperties: true })),
});
export type ShownLog = Of<typeof SHOWN_LOG>;
