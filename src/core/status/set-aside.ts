import { DAY_KEY, type DayKey } from "../day.ts";
import { INTEGER, MS, type Of, object } from "../schema.ts";

/** A day that ended the process `times` in a row while it was being read, and is set aside until `untilMs`. */
export const DAY_SET_ASIDE = object({ ...DAY_KEY, times: INTEGER, sinceMs: MS, untilMs: MS });
export type DaySetAside = Of<typeof DAY_SET_ASIDE>;

/** Remembers across the end of the process which large days were being read. */
export interface ReadingMarks {
  /** Marks a day; the returned function clears the mark, and with `true` confirms that the day was read completely. */
  begin(key: DayKey): (isRead: boolean) => void;
  /** How long a day is still set aside, ms; 0 = it may be read. */
  waitMs(key: DayKey): number;
  readonly setAside: readonly DaySetAside[];
}
