import type { DayKey } from "./day.ts";

/** A day that ended the process while it was being read, and is set aside for a while. */
export interface DaySetAside extends DayKey {
  /** How often in a row. */
  readonly times: number;
  /** When it was found, and when it is read again, ms. */
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** Remembers across the end of the process which large days were being read. */
export interface ReadingMarks {
  /** Marks a day; the returned function clears the mark, and with `true` confirms that the day was read completely. */
  begin(key: DayKey): (isRead: boolean) => void;
  /** How long a day is still set aside, ms; 0 = it may be read. */
  waitMs(key: DayKey): number;
  readonly setAside: readonly DaySetAside[];
}
