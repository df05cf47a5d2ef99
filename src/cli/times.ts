import { instantOf } from "../core/query/dates.ts";
import { dayEndMs, dayStartMs, isDay } from "../core/time/time-zone.ts";
import { UsageError } from "./command.ts";

/** `2026-11-20`; throws a UsageError for anything else, also for days that do not exist. */
export function parseDay(flag: string, text: string): string {
  if (isDay(text)) return text;
  throw new UsageError(`--${flag} ${JSON.stringify(text)} is not a day such as 2026-11-20`);
}

/**
 * An instant, ms. A day is its first instant in the zone; a time without a zone is in that zone too. With `isEnd` it is
 * the first instant after the day or time, so that a range includes both ends.
 */
export function parseTime(flag: string, text: string, zone: string, isEnd: boolean): number {
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) {
    const day = parseDay(flag, text);
    return isEnd ? dayEndMs(day, zone) : dayStartMs(day, zone);
  }
  const match =
    /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)(Z|[+-]\d{2}:?\d{2})?$/.exec(
      text,
    );
  if (match) {
    const [, day = "", time = "", offset] = match;
    parseDay(flag, day);
    const withColon = offset?.replace(/^([+-]\d{2})(\d{2})$/, "$1:$2");
    const ms = Date.parse(`${day}T${time}${withColon ?? "Z"}`);
    if (!Number.isNaN(ms)) {
      const which = isEnd ? "later" : "earlier";
      return (offset === undefined ? instantOf(ms, zone, which) : ms) + (isEnd ? 1 : 0);
    }
  }
  throw new UsageError(
    `--${flag} ${JSON.stringify(text)} is not a time such as 2026-11-20T06:00:00Z, nor a day`,
  );
}

/** The two largest units: `3 d 4 h`, `12 min`, `8 s`. */
export function duration(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3600)} h`;
}
