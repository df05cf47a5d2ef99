import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DayKey } from "../../../core/day.ts";
import { parsedJson } from "../../../core/parsed-json.ts";
import type { Clock, Logger } from "../../../core/ports.ts";
import { isJsonObject } from "../../../core/record.ts";
import type { DaySetAside, ReadingMarks } from "../../../core/status/set-aside.ts";
import { DAY_MS, HOUR_MS } from "../../../core/time-units.ts";

const FILE = "gateside.reading";
/** More than the reads that can be in progress, and the days that a gateway could damage before somebody looks. */
const ENTRIES_MAX = 64;
/** How long a day is set aside after it ended the process once, twice, … ms: a power cut during a read looks the same. */
const LEFT_ALONE_MS = [60_000, 600_000, HOUR_MS, 21_600_000, DAY_MS];

interface Content {
  readonly reading: readonly DayKey[];
  readonly aside: readonly DaySetAside[];
}

export interface ReadingMarksParts {
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * A small file beside the store that names the large days being read. If a day ends the process (an exhausted heap, a
 * bug in a library), it would do so again after every restart: the next start finds its mark and sets that day aside,
 * so that all others are read. The file is not synced: it survives the end of a process, and the end of the machine was
 * not caused by a day.
 */
export function openReadingMarks(dataDir: string, parts: ReadingMarksParts): ReadingMarks {
  const marks = new FileMarks(join(dataDir, FILE), parts);
  marks.open();
  return marks;
}

class FileMarks implements ReadingMarks {
  readonly #path: string;
  readonly #parts: ReadingMarksParts;
  readonly #reading = new Map<string, DayKey>();
  readonly #aside = new Map<string, DaySetAside>();
  /** Until when each is set aside, monotonic ms: a clock that is set meanwhile changes no wait. */
  readonly #endsAt = new Map<string, number>();
  #hasWarned = false;

  constructor(path: string, parts: ReadingMarksParts) {
    this.#path = path;
    this.#parts = parts;
  }

  open(): void {
    const { clock, logger } = this.#parts;
    const found = contentOf(this.#path);
    const now = clock.now();
    for (const day of found.aside.slice(0, ENTRIES_MAX)) {
      // A clock that went back since must not set a day aside for longer than intended.
      const untilMs = Math.min(day.untilMs, now + leftAloneMs(day.times));
      this.#aside.set(nameOf(day), { ...day, untilMs });
    }
    for (const key of found.reading.slice(0, ENTRIES_MAX)) {
      const before = this.#aside.get(nameOf(key));
      const times = (before?.times ?? 0) + 1;
      const untilMs = now + leftAloneMs(times);
      this.#aside.set(nameOf(key), { ...key, times, sinceMs: before?.sinceMs ?? now, untilMs });
      logger.error(
        { ...key, times, until: new Date(untilMs).toISOString() },
        "the process ended while reading this day; the day is set aside and read again later",
      );
    }
    const startedAt = clock.monotonic();
    for (const [name, { untilMs }] of this.#aside) {
      this.#endsAt.set(name, startedAt + (untilMs - now));
    }
    if (found.reading.length > 0) this.#write();
  }

  get setAside(): readonly DaySetAside[] {
    return [...this.#aside.values()];
  }

  waitMs(key: DayKey): number {
    const endsAt = this.#endsAt.get(nameOf(key));
    return endsAt === undefined ? 0 : Math.max(0, endsAt - this.#parts.clock.monotonic());
  }

  begin(key: DayKey): (isRead: boolean) => void {
    const name = nameOf(key);
    const { sensor, kind, day } = key;
    if (this.#reading.size < ENTRIES_MAX) this.#reading.set(name, { sensor, kind, day });
    this.#write();
    let isOver = false;
    return (isRead) => {
      if (isOver) return;
      isOver = true;
      this.#reading.delete(name);
      if (isRead && this.#aside.delete(name)) {
        this.#endsAt.delete(name);
        this.#parts.logger.info({ sensor, kind, day }, "a day that had been set aside was read");
      }
      this.#write();
    };
  }

  #write(): void {
    const content: Content = {
      reading: [...this.#reading.values()],
      aside: [...this.#aside.values()].slice(-ENTRIES_MAX),
    };
    try {
      writeFileSync(this.#path, JSON.stringify(content), { mode: 0o600 });
      this.#hasWarned = false;
    } catch (err) {
      // A full disk has its own alarm; without the mark a read is no worse than before.
      if (!this.#hasWarned) this.#parts.logger.warn({ err }, "the day being read cannot be marked");
      this.#hasWarned = true;
    }
  }
}

function leftAloneMs(times: number): number {
  return LEFT_ALONE_MS[Math.min(times, LEFT_ALONE_MS.length) - 1] ?? 0;
}

const nameOf = ({ sensor, kind, day }: DayKey) => `${sensor} ${kind} ${day}`;

/** Never throws; a truncated file sets nothing aside. */
function contentOf(path: string): Content {
  let value: unknown;
  try {
    value = parsedJson(readFileSync(path, "utf8"));
  } catch {
    return { reading: [], aside: [] };
  }
  const { reading, aside } = isJsonObject(value) ? value : {};
  return {
    reading: listOf(reading).filter(isKey),
    aside: listOf(aside).filter(isKey).filter(isSetAside),
  };
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

function isKey(value: unknown): value is DayKey {
  if (!isJsonObject(value)) return false;
  const { sensor, kind, day } = value;
  return typeof sensor === "string" && typeof kind === "string" && typeof day === "string";
}

function isSetAside(value: Partial<DaySetAside>): value is DaySetAside {
  const { times, sinceMs, untilMs } = value;
  return [times, sinceMs, untilMs].every((number) => Number.isFinite(number));
}
