import type { AlarmActionName } from "../../../core/alarm/shown.ts";
import { MINUTE_MS } from "../../../core/time-units.ts";
import { parseIsoTime } from "../../../pipeline/wire/timestamp.ts";

/**
 * When a shelf ends, ms; null if the request does not say, a sentence if it cannot be meant as it stands.
 * @param nowMs the gateway's clock
 */
export function shelfEnd(
  word: AlarmActionName,
  { minutes = null, until = null }: { readonly minutes?: unknown; readonly until?: unknown },
  nowMs: number,
): number | null | string {
  if (minutes === null && until === null) return null;
  const given = minutes === null ? "until" : "minutes";
  if (word !== "shelve") return `${given} belongs to shelve, not to ${word}`;
  if (minutes !== null && until !== null) return "minutes and until cannot be combined: give one";
  if (minutes !== null) {
    const isNumber = typeof minutes === "number" && Number.isFinite(minutes);
    return isNumber ? nowMs + minutes * MINUTE_MS : "minutes must be a number";
  }
  const text = String(until);
  const ms = /^-?\d{1,15}$/.test(text) ? Number(text) : parseIsoTime(text)?.ms;
  return ms ?? "until must be ISO 8601 with zone (2026-11-20T15:04:05Z), or ms since 1970 UTC";
}
