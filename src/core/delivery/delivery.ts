/** What waits for an uplink, lane by lane, and how each delivery ends. */

import {
  INTEGER,
  list,
  MS,
  named,
  type Of,
  object,
  oneOf,
  optional,
  orNull,
  TEXT,
} from "../schema.ts";
import { KINDS } from "../sensor.ts";
import type { StoredReading } from "../stored-reading.ts";
import type { Selector, Uplink } from "../uplink.ts";

/**
 * One queue of the outbox. Every lane has its own delivery state over the same stored readings, so that a slow one does
 * not delay another: json (live + history topics), plain (live only), waveform (JSON waveform messages), sparkplug, and
 * sparkplugWaveform (Bytes metrics).
 */
export const LANES = ["json", "plain", "waveform", "sparkplug", "sparkplugWaveform"] as const;

export type Lane = (typeof LANES)[number];

export interface OutboxEntry {
  readonly reading: StoredReading;
  /**
   * True: the newest pending reading of its sensor and kind, newer than everything published live before, and not
   * flagged time_in_future. It goes to the live topic (Sparkplug: not historical). Everything else is history.
   */
  readonly live: boolean;
}

/**
 * sent: the broker acknowledged it; the row is deleted · kept: unknown or transient, try again · refused: the broker
 * rejected it; the sensor and kind back off in this lane, others continue · oversize: larger than the link's limit;
 * parked until the limit changes (`unpark`), counted once · skipped: nothing to send in this lane (a history reading on
 * plain); deleted.
 */
export type DeliveryOutcome = "sent" | "kept" | "refused" | "oversize" | "skipped";

/** What the store must know about an uplink to queue its readings. */
export interface OutboxUplink
  extends Pick<
    Uplink,
    "name" | "waveforms" | "history" | "maxAgeHours" | "onChange" | "everyS" | "startFrom"
  > {
  readonly lanes: readonly Lane[];
  readonly selector: Selector;
}

/** `oldestTimeMs`: reading time of the oldest pending one. */
export const LANE_DEPTH = object({ readings: INTEGER, oldestTimeMs: orNull(MS) });
export type LaneDepth = Of<typeof LANE_DEPTH>;

/** Readings that were dropped, to be published on agent/gap (contract section 6). */
const GAP = {
  gapId: INTEGER,
  sensor: TEXT,
  kind: oneOf(KINDS),
  fromMs: MS,
  toMs: MS,
  count: INTEGER,
  reason: TEXT,
};
const ONE_GAP = object({
  ...GAP,
  /** The uplink that lost them, if there are several, or if that uplink was removed. */
  uplink: optional(TEXT),
});
export type Gap = Of<typeof ONE_GAP>;
const RECORDED_GAP = named("Gap", object({ ...GAP, recordedAtMs: optional(MS) }));
export const GAPS = object({ gaps: list(RECORDED_GAP) });
