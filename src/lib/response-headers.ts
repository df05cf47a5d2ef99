/** As undici gives them. */
type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Longer waits are not honoured (services section 5). */
const RETRY_AFTER_MAX_MS = 600_000;

export function headerText(headers: Headers, name: string): string | null {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}

/** Days in five-digit years cannot be requested; a clock near them is useless in any zone. */
const LATEST_MS = Date.UTC(9999, 0, 1);

/** The gateway's clock from HTTP `Date`, ms UTC; null if it sent none. */
export function gatewayTime(headers: Headers): number | null {
  const time = parseDate(headerText(headers, "date") ?? "");
  return Number.isNaN(time) || time > LATEST_MS ? null : time;
}

/** HTTP's three forms are all GMT (RFC 9110, 5.6.7); the oldest does not say so, and would be read in our zone. */
function parseDate(text: string): number {
  return Date.parse(ASCTIME.test(text) ? `${text} GMT` : text);
}
const ASCTIME = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;
const HTTP_DATE = /^[A-Z][a-z]{2,8},? .*\d{2}:\d{2}:\d{2}/;

/** `Retry-After` as seconds or as a date (by the gateway's clock), ms from now; null if there is none. */
export function retryAfter(headers: Headers, nowMs: number): number | null {
  const text = headerText(headers, "retry-after")?.trim();
  if (!text) return null;
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1_000, RETRY_AFTER_MAX_MS);
  // Date.parse accepts nearly any text; and a date that has passed requires no wait.
  const untilMs = HTTP_DATE.test(text) ? parseDate(text) : Number.NaN;
  const waitMs = untilMs - (gatewayTime(headers) ?? nowMs);
  return waitMs > 0 ? Math.min(waitMs, RETRY_AFTER_MAX_MS) : null;
}
