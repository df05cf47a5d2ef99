import type { DayKey } from "../../core/day.ts";
import type { Runtime } from "../../core/ports.ts";
import type { PolledKind, StreamKey } from "../../core/sensor.ts";
import type { RecentTimes } from "../../core/time/recent-times.ts";
import type { ReadDay } from "./day-read.ts";
import type { DayRules } from "./days.ts";
import type { GatewayClock } from "./gateway-clock.ts";

export interface PollOptions extends DayRules {
  readonly intervalMs: number;
  readonly concurrency: number;
  /** Longest time that a response may wait for its commit, ms; by default 0. */
  readonly commitIntervalMs?: number;
  /** 0…1; for tests. */
  readonly random?: () => number;
}

export interface PollParts extends Runtime {
  readonly readDay: ReadDay;
  /** Set by every response that the poller reads. */
  readonly gatewayClock: GatewayClock;
  /** Newest stored time of a stream, so that a restart knows where it was. */
  readonly newestTimeMs: (sensor: string, kind: PolledKind) => number | null;
  /** The newest stored readings of each stream: its interval was learned from them before the restart. */
  readonly recentTimes: (streams: readonly StreamKey[]) => readonly RecentTimes[];
  /** Tells of which streams that day was read before, also by an earlier process: it stays open for late records. */
  readonly readOn: (day: string) => (stream: StreamKey) => boolean;
  /** Survives the process. */
  readonly memory: { get(name: string): string | null; set(name: string, value: string): void };
  /** True while the buffer is full of what is being delivered: reading pauses. */
  readonly isHeldBack?: () => boolean;
  /** How long a day is set aside because it ended the process, ms; 0 = it may be read. */
  readonly setAsideMs?: (key: DayKey) => number;
}
