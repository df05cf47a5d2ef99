/**
 * When people are told: the first message at once, so is the first of a higher severity, and what follows comes in one
 * message a digest's length after the last, and so on while there is something to tell. A value that changes again and again
 * is muted for an hour, and then its state is told.
 *
 * Times are monotonic, ms.
 */
import type { Notice } from "./notice.ts";

/** Beyond this the oldest are dropped: the event topic has them all. */
export const WAITING_MAX = 500;
/** A value that changes more often than this within the span is muted. */
const CHANGES_MAX = 6;
const CHANGES_SPAN_MS = 10 * 60_000;
const MUTE_MS = 60 * 60_000;

/** What is remembered of a value, until it was quiet for the span. */
interface Course {
  changes: readonly number[];
  /** Its rank when it was told last, 0 while it was over. */
  state: number | null;
  /** Highest rank told since it was muted. */
  rank: number;
  mutedUntilMs: number | null;
  newest: Notice;
}

export class Digest {
  readonly #lengthMs: number;
  #waiting: Notice[] = [];
  readonly #courses = new Map<string, Course>();
  #lastMs = Number.NEGATIVE_INFINITY;
  #rank = 0;
  #isUrgent = false;
  #dropped = 0;

  /** @param lengthMs 0: everything is told at once, and nothing is muted */
  constructor(lengthMs: number) {
    this.#lengthMs = lengthMs;
  }

  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** Notices dropped since the last call. */
  takeDropped(): number {
    const dropped = this.#dropped;
    this.#dropped = 0;
    return dropped;
  }

  add(notice: Notice, nowMs: number): void {
    const told = this.#lengthMs === 0 ? notice : this.#unlessMuted(notice, nowMs);
    if (told === null) return;
    // Everything was told: what comes now begins anew.
    if (this.#waiting.length === 0 && nowMs - this.#lastMs >= this.#lengthMs) this.#rank = 0;
    this.#waiting.push(told);
    if (told.isActive && told.rank > this.#rank) this.#isUrgent = true;
    if (this.#waiting.length <= WAITING_MAX) return;
    this.#waiting.shift();
    this.#dropped += 1;
  }

  /** When `take` has something; null while there is nothing to tell. */
  dueMs(): number | null {
    const ends = [...this.#courses.values()].flatMap(({ mutedUntilMs }) => mutedUntilMs ?? []);
    const message =
      this.#waiting.length === 0 ? [] : [this.#isUrgent ? 0 : this.#lastMs + this.#lengthMs];
    const times = [...ends, ...message];
    return times.length === 0 ? null : Math.max(0, Math.min(...times));
  }

  /** What to tell now, oldest first; empty before `dueMs`. */
  take(nowMs: number): readonly Notice[] {
    this.#endMutes(nowMs);
    if (this.#waiting.length === 0) return [];
    if (!this.#isUrgent && nowMs < this.#lastMs + this.#lengthMs) return [];
    const told = this.#waiting;
    this.#waiting = [];
    this.#isUrgent = false;
    this.#lastMs = nowMs;
    this.#rank = Math.max(this.#rank, ...told.map(({ rank }) => rank));
    return told;
  }

  #unlessMuted(notice: Notice, nowMs: number): Notice | null {
    const course = this.#courses.get(notice.key) ?? {
      changes: [],
      state: null,
      rank: 0,
      mutedUntilMs: null,
      newest: notice,
    };
    this.#courses.set(notice.key, course);
    course.newest = notice;
    if (course.mutedUntilMs !== null) {
      // One that gets worse than anything told of it is told all the same.
      if (!notice.isActive || notice.rank <= course.rank) return null;
      course.rank = notice.rank;
      return notice;
    }
    course.rank = Math.max(course.rank, notice.rank);
    const state = notice.isActive ? notice.rank : 0;
    if (course.state === state) return notice;
    course.state = state;
    const sinceMs = nowMs - CHANGES_SPAN_MS;
    course.changes = [...course.changes.filter((ms) => ms > sinceMs), nowMs];
    if (course.changes.length <= CHANGES_MAX) return notice;
    course.mutedUntilMs = nowMs + MUTE_MS;
    return { ...notice, text: `${notice.text} It changes often: muted for an hour.` };
  }

  #endMutes(nowMs: number): void {
    for (const [key, course] of this.#courses) {
      const { mutedUntilMs, newest, changes } = course;
      if (mutedUntilMs === null) {
        if (nowMs - (changes.at(-1) ?? nowMs) > CHANGES_SPAN_MS) this.#courses.delete(key);
      } else if (nowMs >= mutedUntilMs) {
        this.#courses.delete(key);
        this.add({ ...newest, text: `After an hour: ${newest.text}` }, nowMs);
      }
    }
  }
}
