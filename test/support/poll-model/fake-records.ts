/** The records of a gateway: how they come, under which day it keeps them, and which of them were stored. */
import { dayOf, zoneOffsetMs } from "../../../src/core/time/time-zone.ts";
import type { Pattern } from "./steps.ts";

export interface FakeRecord {
  /** By the gateway's clock, ms; its day is that of the gateway's zone. */
  readonly timeMs: number;
  readonly offsetMinutes: number;
  /** Monotonic, ms. */
  readonly visibleAt: number;
  /** By what the agent could know, its day was not closed when it became visible. */
  readonly isInTime: boolean;
}

/** What a gateway has of a sensor's day. */
export class FakeDay {
  readonly #times = new Set<number>();
  /** Not stored. */
  waiting: FakeRecord[] = [];
  readonly storedMs: number[] = [];

  /** A record of a time that it has already is the same one. */
  add(record: FakeRecord): void {
    if (this.#times.has(record.timeMs)) return;
    this.#times.add(record.timeMs);
    this.waiting.push(record);
  }

  visible(monotonicMs: number): readonly FakeRecord[] {
    return this.waiting.filter(({ visibleAt }) => visibleAt <= monotonicMs);
  }

  store(records: readonly FakeRecord[]): void {
    const stored = new Set(records);
    this.waiting = this.waiting.filter((one) => !stored.has(one));
    this.storedMs.push(...records.map(({ timeMs }) => timeMs));
  }
}

export class FakeRecords {
  readonly #patterns = new Map<string, { pattern: Pattern; nextAt: number }>();
  readonly #days = new Map<string, Map<string, FakeDay>>();
  readonly #isInTime: (day: string) => boolean;
  readonly #onVisible: (sensor: string, atMs: number) => void;
  zone: string;

  constructor(
    zone: string,
    isInTime: (day: string) => boolean,
    onVisible: (sensor: string, atMs: number) => void,
  ) {
    this.zone = zone;
    this.#isInTime = isInTime;
    this.#onVisible = onVisible;
  }

  setPattern(sensor: string, pattern: Pattern, monotonicMs: number): void {
    this.#patterns.set(sensor, { pattern, nextAt: monotonicMs });
  }

  patternOf(sensor: string): Pattern | undefined {
    return this.#patterns.get(sensor)?.pattern;
  }

  /** What has become visible by now. @param offsetMs the gateway's clock minus the monotonic one */
  emit(monotonicMs: number, offsetMs: number): void {
    for (const [sensor, state] of this.#patterns) {
      const { periodMs, size, apartMs, lagMs } = state.pattern;
      const lastMs = (size - 1) * apartMs;
      for (; state.nextAt + lastMs + lagMs <= monotonicMs; state.nextAt += periodMs)
        for (let n = 0; n < size; n += 1) {
          const at = state.nextAt + n * apartMs;
          this.add(sensor, Math.floor(at + offsetMs), at + lagMs);
        }
    }
  }

  add(sensor: string, timeMs: number, visibleAt: number): void {
    this.#onVisible(sensor, visibleAt);
    const day = dayOf(timeMs, this.zone);
    const offsetMinutes = zoneOffsetMs(timeMs, this.zone) / 60_000;
    this.day(sensor, day).add({ timeMs, offsetMinutes, visibleAt, isInTime: this.#isInTime(day) });
  }

  day(sensor: string, day: string): FakeDay {
    const days = this.days(sensor);
    const known = days.get(day) ?? new FakeDay();
    days.set(day, known);
    return known;
  }

  days(sensor: string): Map<string, FakeDay> {
    const known = this.#days.get(sensor) ?? new Map<string, FakeDay>();
    this.#days.set(sensor, known);
    return known;
  }

  /** Of a sensor, ascending, until then. */
  storedMs(sensor: string, untilMs: number): readonly number[] {
    return [...this.days(sensor).values()]
      .flatMap(({ storedMs }) => storedMs)
      .filter((ms) => ms <= untilMs)
      .toSorted((a, b) => a - b);
  }
}
