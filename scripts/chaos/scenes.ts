/** What a campaign is about: alarms that change, and nights in which the calendar does. */

/** Limits in the middle of what the plant measures, so that alarms come and go. */
export const ALARMS = [
  { name: "speed", select: { kinds: ["rpm"] }, high: 1486, hysteresis: 0.3 },
  { name: "level", select: { kinds: ["loop"], values: ["channel1"] }, high: 60, low: 40 },
  { name: "load", select: { kinds: ["current", "currentV2"] }, high: 45, hysteresis: 1 },
] as const;

/** Time zones and dates: midnight or a clock change is a few minutes ahead. */
export const NIGHTS = [
  ["UTC", "2026-05-12T23:56:00Z"],
  ["Europe/Berlin", "2026-03-28T22:56:00Z"],
  ["Europe/Berlin", "2026-10-25T00:56:00Z"],
  ["America/New_York", "2026-03-08T06:56:00Z"],
  ["Asia/Kathmandu", "2026-06-01T18:11:00Z"],
  ["Pacific/Chatham", "2026-04-04T10:11:00Z"],
  ["America/St_Johns", "2026-11-01T02:26:00Z"],
] as const;
