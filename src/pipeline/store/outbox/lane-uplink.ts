import type { Lane, OutboxUplink } from "../../../core/delivery/delivery.ts";
import { isEvent } from "../../../core/delivery/event-kind.ts";
import {
  type ChangeCheck,
  createChangeCheck,
  type Judged,
} from "../../../core/delivery/thinning.ts";
import { hasChosen, type StoredReading, withValues } from "../../../core/stored-reading.ts";
import { HOUR_MS } from "../../../core/time-units.ts";
import { isWaveformWanted } from "../../../core/uplink.ts";
import type { Stream } from "../database/streams.ts";

/** What decides whether a reading is pending for an uplink. */
export interface PendingContent {
  readonly stream: Stream;
  /** JSON text of its values. */
  readonly values: string;
  /** JSON text of its quality. */
  readonly quality: string;
  /** Why its samples were recorded; undefined if it has none. */
  readonly recordingReason: number | null | undefined;
}

/** One uplink as the outbox queries it for each reading. */
export class LaneUplink {
  readonly #uplink: OutboxUplink;
  /** By stream. */
  readonly #chosen = new Map<number, boolean>();
  readonly #check: ChangeCheck | null;

  constructor(uplink: OutboxUplink) {
    this.#uplink = uplink;
    this.#check = uplink.onChange === null ? null : createChangeCheck(uplink.onChange);
  }

  get isThinned(): boolean {
    return this.#check !== null || this.everyS !== null;
  }
  /** The newest of each period of this length goes; null: all. */
  get everyS(): number | null {
    return this.#uplink.everyS;
  }
  isChanged(last: Judged | null, reading: Judged): boolean {
    return this.#check?.isChanged(last, reading) ?? true;
  }
  after(last: Judged | null, reading: Judged): Judged {
    const { timeMs } = reading;
    return this.#check?.after(last, reading) ?? { timeMs, values: {}, quality: {} };
  }

  get name(): string {
    return this.#uplink.name;
  }
  get history(): boolean {
    return this.#uplink.history;
  }

  /** Whether this lane should carry the reading. */
  wants(lane: Lane, { stream, values, recordingReason }: PendingContent): boolean {
    if (lane === "waveform" || lane === "sparkplugWaveform") {
      if (recordingReason === undefined) return false;
      if (!isWaveformWanted(this.#uplink.waveforms, recordingReason)) return false;
    }
    return this.selects(lane, stream, values);
  }

  /** The same, ignoring samples. */
  selects(lane: Lane, stream: Stream, values: string): boolean {
    if (isEvent(stream) && lane !== "json") return false;
    return this.#chooses(stream) && this.#hasValue(stream, values);
  }

  #chooses({ stream, sensor, kind }: Stream): boolean {
    let isChosen = this.#chosen.get(stream);
    if (isChosen === undefined) {
      isChosen = this.#uplink.selector.includes(sensor, kind);
      this.#chosen.set(stream, isChosen);
    }
    return isChosen;
  }

  #hasValue(stream: Stream, values: string): boolean {
    const { value } = this.#uplink.selector;
    if (value === null || isEvent(stream)) return true;
    return hasChosen(values, value);
  }

  /** The reading as selected. A damaged text stays as it is, for the publisher to report. */
  chosenOf(reading: StoredReading): StoredReading {
    const { value } = this.#uplink.selector;
    if (value === null || isEvent(reading)) return reading;
    try {
      return withValues(reading, value);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return reading;
    }
  }

  /**
   * Readings before it are dropped, ms; null if there is no such age.
   * @param nowMs null while the time is not known
   */
  oldestMs(nowMs: number | null): number | null {
    const { maxAgeHours } = this.#uplink;
    return maxAgeHours === null || nowMs === null ? null : nowMs - maxAgeHours * HOUR_MS;
  }
}
