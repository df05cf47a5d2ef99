import type { Headers } from "./exchange.ts";

/** Longer waits are not honoured (services 5). */
const RETRY_AFTER_MAX_MS = 600_000;

export function headerText(headers: Headers, name: string): string | null {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}

/** Days of five-digit years cannot be asked for; near them a clock tells nothing, in whatever zone. */
const LATEST_MS = Date.UTC(9999, 0, 1);

/** The gateway's clock from HTTP `Date`, ms UTC; null when it sent none. */
export function gatewayTime(headers: Headers): number | null {
  const time = Date.parse(headerText(headers, "date") ?? "");
  return Number.isNaN(time) || time > LATEST_MS ? null : time;
}

/** `Retry-After` as seconds or as a date (by the gateway's clock), ms from now; null when there is none. */
export function retryAfter(headers: Headers, nowMs: number): number | null {
  const text = headerText(headers, "retry-after")?.trim();
  if (!text) return null;
  const waitMs = /^\d+$/.test(text)
    ? Number(text) * 1_000
    : Date.parse(text) - (gatewayTime(headers) ?? nowMs);
  return Number.isNaN(waitMs) ? null : Math.min(Math.max(0, waitMs), RETRY_AFTER_MAX_MS);
}
