/** Lines of PostgreSQL's COPY text format. */
import { MINUTE_MS } from "../../core/time-units.ts";

const SPECIAL = /[\\\n\r\t]/;
const EVERY_SPECIAL = /[\\\n\r\t]/g;
const ESCAPES: Readonly<Record<string, string>> = {
  "\\": "\\\\",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
};

export function copyText(text: string | null): string {
  if (text === null) return "\\N";
  return SPECIAL.test(text) ? text.replace(EVERY_SPECIAL, (c) => ESCAPES[c] ?? c) : text;
}

export function copyNumber(value: number | null): string {
  return value === null ? "\\N" : String(value);
}

export function copyTime(ms: number | null): string {
  return ms === null ? "\\N" : instantText(ms);
}

const DIGITS = Array.from({ length: 1000 }, (_, n) => String(n));
let minute = Number.NaN;
let minuteText = "";

/**
 * Like `Date.toISOString`. Readings of a batch are close together in time, so the text of the last minute is cached.
 */
export function instantText(ms: number): string {
  const floor = Math.floor(ms / MINUTE_MS);
  if (floor !== minute) {
    minuteText = new Date(floor * MINUTE_MS).toISOString().slice(0, -7);
    minute = floor;
  }
  const rest = ms - floor * MINUTE_MS;
  const second = Math.floor(rest / 1000);
  const millis = rest - second * 1000;
  const pad = millis < 10 ? "00" : millis < 100 ? "0" : "";
  return `${minuteText}${second < 10 ? "0" : ""}${DIGITS[second]}.${pad}${DIGITS[millis]}Z`;
}

/** JSON as a text; empty objects are null. */
export function copyJson(value: unknown): string {
  if (value === null || value === undefined) return "\\N";
  const text = JSON.stringify(value);
  return text === "{}" || text === undefined ? "\\N" : copyText(text);
}
