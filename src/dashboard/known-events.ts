/** The history of alarms, which is read page by page while new events come. */
import type { ShownAlarm } from "../core/alarm/shown.ts";

/** Events as they are known: the newest page joins those that were loaded before, without a hole between. */
export interface KnownEvents {
  readonly events: readonly ShownAlarm[];
  /** Position from which older ones are asked; null at the end. */
  readonly before: number | null;
}

export function withNewest(known: KnownEvents, page: KnownEvents): KnownEvents {
  const isNew = new Set(page.events.map(({ id }) => id));
  const older = known.events.filter(({ id }) => !isNew.has(id));
  const touches = older.length < known.events.length;
  // More came than a page holds: what lies between is not known, so the older ones go.
  if (!touches) return page;
  return {
    events: [...page.events, ...older],
    before: older.length === 0 ? page.before : known.before,
  };
}

export function withOlder(known: KnownEvents, page: KnownEvents): KnownEvents {
  const have = new Set(known.events.map(({ id }) => id));
  const more = page.events.filter(({ id }) => !have.has(id));
  return { events: [...known.events, ...more], before: page.before };
}
