import type { Clock } from "../../../core/ports.ts";
import { type Kind, POLLED_KINDS } from "../../../core/sensor.ts";
import { HOUR_MS } from "../../../core/time-units.ts";
import type { Streams } from "../database/streams.ts";
import type { LaneQueue } from "./lane-queue.ts";
import type { StreamQueue } from "./stream-queue.ts";

/** A lane without history has no other way for them: so long they wait beyond that for a proof. */
const LIVE_ONLY_WAIT_MS = HOUR_MS;
const POLLED: ReadonlySet<Kind> = new Set(POLLED_KINDS);

/**
 * After a start the store may be an older one, restored: what is pending may be older than what went live before. A
 * stream's readings go live once it has been read, or the broker's retained reading was read back; where neither comes,
 * they go out as history, and in a lane without history not at all.
 */
export class StartProof {
  readonly #clock: Clock;
  readonly #streams: Pick<Streams, "find" | "get">;
  /** How long a proof is waited for, ms; 0 needs none. */
  readonly #waitMs: number;
  readonly #startedAt: number;
  readonly #read = new Set<number>();

  constructor(clock: Clock, streams: Pick<Streams, "find" | "get">, waitMs: number) {
    this.#clock = clock;
    this.#streams = streams;
    this.#waitMs = waitMs;
    this.#startedAt = clock.monotonic();
  }

  /** Until proofs are late, ms; 0 once they are. */
  get leftMs(): number {
    return this.#leftMs(0);
  }

  /** The same in a lane without history. */
  get leftOfLiveOnlyMs(): number {
    return this.#waitMs === 0 ? 0 : this.#leftMs(LIVE_ONLY_WAIT_MS);
  }

  #leftMs(moreMs: number): number {
    return Math.max(0, this.#startedAt + this.#waitMs + moreMs - this.#clock.monotonic());
  }

  /** Pending readings of a lane without history that wait for a proof. */
  waiting(lane: LaneQueue): number {
    if (!lane.isLiveOnly) return 0;
    return lane.order.filter((stream) => stream.candidate !== null && !this.isProven(stream))
      .length;
  }

  isProven(stream: StreamQueue): boolean {
    return this.#waitMs === 0 || stream.isProven || this.#read.has(stream.stream);
  }

  /** What becomes of its newest pending reading; one whose proof is late becomes backlog, or is given up. */
  judge(lane: LaneQueue, stream: StreamQueue): "live" | "waits" | "too late" {
    if (this.isProven(stream) || this.#isOfNewestRecord(lane, stream)) return "live";
    if ((lane.isLiveOnly ? this.leftOfLiveOnlyMs : this.leftMs) > 0) return "waits";
    // Nothing reads the other kinds from the gateway.
    if (!POLLED.has(this.#streams.get(stream.stream).kind)) stream.isProven = true;
    if (lane.isLiveOnly) return "too late";
    toBacklog(stream);
    return "waits";
  }

  /** Bands of the newest record that was read: nothing newer can have been live. */
  #isOfNewestRecord(lane: LaneQueue, { stream, candidate }: StreamQueue): boolean {
    const { sensor, kind } = this.#streams.get(stream);
    if (kind !== "bands" || candidate === null) return false;
    const source = lane.streams.get(this.#streams.find(sensor, "accel")?.stream ?? -1);
    if (source === undefined || !this.isProven(source)) return false;
    const newestMs = Math.max(source.mark, source.candidate?.timeMs ?? source.mark);
    return Number.isFinite(newestMs) && candidate.timeMs >= newestMs;
  }

  /** It has been read since the start; what is older than `fromMs` may be missing still. */
  read(lanes: readonly LaneQueue[], stream: number, fromMs: number): void {
    if (this.#read.has(stream)) return;
    const isOpen = lanes.some((lane) => {
      const candidate = lane.streams.get(stream)?.candidate ?? null;
      return candidate !== null && candidate.timeMs < fromMs;
    });
    if (isOpen) return;
    this.#read.add(stream);
    for (const lane of lanes) lane.wake();
  }

  /** @param retainedMs time of the reading that the broker has at its live topic; null if it has none */
  readBack(lane: LaneQueue, stream: StreamQueue, retainedMs: number | null): void {
    if (this.isProven(stream)) return;
    stream.isProven = true;
    if (retainedMs !== null) {
      const { candidate } = stream;
      // Of the same time it may be the same one.
      if (candidate !== null && candidate.timeMs < retainedMs) toBacklog(stream);
      if (stream.candidate === null) stream.mark = Math.max(stream.mark, retainedMs);
    }
    lane.wake();
  }
}

/** What is older than it, and comes later, is no live reading either. */
function toBacklog(stream: StreamQueue): void {
  const place = stream.candidate;
  stream.candidate = null;
  if (place === null) return;
  stream.mark = Math.max(stream.mark, place.timeMs);
  stream.rewind(place);
}
