const HOUR_MS = 3_600_000;

/** Zones without daylight saving, from eleven hours behind UTC to twelve ahead. */
const ZONES = [
  "Pacific/Pago_Pago",
  "Pacific/Honolulu",
  "Pacific/Gambier",
  "Pacific/Pitcairn",
  "America/Phoenix",
  "America/Costa_Rica",
  "America/Bogota",
  "America/Caracas",
  "America/Bahia",
  "America/Noronha",
  "Atlantic/Cape_Verde",
  "UTC",
  "Africa/Lagos",
  "Africa/Maputo",
  "Africa/Nairobi",
  "Asia/Dubai",
  "Indian/Maldives",
  "Asia/Thimphu",
  "Asia/Bangkok",
  "Asia/Singapore",
  "Asia/Tokyo",
  "Australia/Brisbane",
  "Pacific/Guadalcanal",
  "Pacific/Tarawa",
] as const;
const UTC_AT = ZONES.indexOf("UTC");
const MORNING_H = 9;

const utcHour = Math.floor((Date.now() / HOUR_MS) % 24);
const index = (MORNING_H - utcHour + UTC_AT + 24) % 24;

/** A zone in which it is between nine and ten: no midnight comes, at whatever hour a test runs. */
export const MORNING_ZONE = ZONES[index] ?? "UTC";

/** When today began there, ms. */
export const MORNING_MIDNIGHT_MS = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - MORNING_H * HOUR_MS;

/** Today's date there, or that of `days` later. */
export function morningDay(days = 0): string {
  const local = Date.now() + (index - UTC_AT + days * 24) * HOUR_MS;
  return new Date(local).toISOString().slice(0, 10);
}
