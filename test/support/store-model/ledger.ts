/** What one uplink is owed, kept in plain maps: the model that the store is compared with. */
import assert from "node:assert/strict";
import type { OutboxEntry } from "../../../src/core/delivery/delivery.ts";
import {
  isLiveOnly,
  isThinned,
  isWhole,
  laneOf,
  PERIOD_S,
  type UplinkName,
  type Variant,
} from "./steps.ts";

/** A reading or an event, as stored. */
export interface Item {
  readonly id: string;
  /** Sensor and kind. */
  readonly stream: string;
  readonly timeMs: number;
  readonly isFuture: boolean;
}

export interface ToldGap {
  readonly stream: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly count: number;
}

const periodOf = ({ stream, timeMs }: Item) => `${stream} ${Math.floor(timeMs / 1000 / PERIOD_S)}`;
const isEvent = ({ stream }: Item) => stream.endsWith(" event");

export class Ledger {
  readonly name: UplinkName;
  variant: Variant;
  /** Each must be sent, be pending, or be in a gap record. Those of a fill are owed only while they are stored. */
  readonly owed = new Map<string, { readonly item: Item; readonly isFilled: boolean }>();
  readonly sent = new Map<string, Item>();
  /** Acknowledged, and not to be sent again. */
  readonly #done = new Set<string>();
  /** Stored before readings were left out: whether one of these went is not known, and an alarm may send it again. */
  #before: ReadonlySet<string> = new Set();
  /** Acknowledged, and perhaps not written yet: a kill repeats them. */
  readonly waiting = new Set<string>();
  inFlight: OutboxEntry[] = [];
  /** What a live topic may show: sent, in flight, or unknown. */
  #shown: { readonly entry: OutboxEntry; readonly stream: string }[] = [];
  /** With `everyS`: the newest of each period. */
  readonly #periods = new Map<string, Item>();
  /** Given up for space in the step that brought them, or not accepted at all. */
  readonly #passed: Item[] = [];
  /** In a lane of the newest only: what each topic must come to show. */
  readonly newest = new Map<string, Item>();
  /** Streams that had a message too large for the broker. */
  readonly oversize = new Set<string>();
  /** Offered while this variant stands. */
  offered = 0;
  notSelected = 0;
  /** Acknowledgements that a kill has forgotten. */
  forgotten = 0;
  /** A full buffer tells what it does not accept, too. */
  mayShed = false;
  /** Readings that raised one. */
  alarms = 0;
  /** Never another variant: the counters can be compared. */
  isOriginal = true;

  constructor(name: UplinkName, variant: Variant) {
    this.name = name;
    this.variant = variant;
  }

  /** Every reading goes. */
  get #isWhole() {
    return isWhole(this.variant);
  }

  get #isThinned() {
    return isThinned(this.variant);
  }

  /** Whether a reading that raises an alarm must go in any case. */
  mustSend(id: string): boolean {
    return this.#isThinned && !this.#before.has(id);
  }

  get lane() {
    return laneOf(this.variant);
  }

  /** @param all what was stored before */
  stored(item: Item, all: ReadonlyMap<string, Item>): void {
    if (this.variant === "absent" || (isEvent(item) && this.lane !== "json")) return;
    if (!isEvent(item) && !item.isFuture) this.offered += 1;
    if (isEvent(item) || this.#isWhole) this.owe(item);
    else if (isLiveOnly(this.variant)) {
      const isLate = [...all.values()].some(
        (one) => one.stream === item.stream && !one.isFuture && one.timeMs >= item.timeMs,
      );
      if (!item.isFuture && !isLate) this.newest.set(item.stream, item);
    } else if (item.isFuture) this.owe(item);
    else if (this.variant === "everyS") {
      const known = this.#periods.get(periodOf(item));
      if ((known?.timeMs ?? -Infinity) <= item.timeMs) this.#periods.set(periodOf(item), item);
    }
  }

  /** It is not stored after the step that brought it. @param isAccepted and will not be brought again */
  passed(item: Item, isAccepted: boolean): void {
    if (this.variant === "absent") return;
    this.#passed.push(item);
    if (isAccepted && this.#isWhole) this.owe(item);
  }

  owe(item: Item, isFilled = false): void {
    if (!this.owed.has(item.id)) this.owed.set(item.id, { item, isFilled });
  }

  /** Of each period the newest goes, unless a newer one of it was stored under another choice, or was given up. */
  endPeriods(all: ReadonlyMap<string, Item>): void {
    for (const [period, item] of this.#periods) {
      const hasNewer = [...all.values(), ...this.#passed].some(
        (one) =>
          !one.isFuture &&
          !isEvent(one) &&
          periodOf(one) === period &&
          one.timeMs >= item.timeMs &&
          one.id !== item.id,
      );
      if (!hasNewer) this.owe(item);
    }
    this.#periods.clear();
  }

  leased(entries: readonly OutboxEntry[]): void {
    for (const entry of entries) {
      const { id, timeMs } = entry.reading;
      assert.ok(
        !this.#done.has(id) || this.#before.has(id),
        `${this.name}: ${text(entry)} is sent twice`,
      );
      assert.ok(
        !this.inFlight.some(({ reading }) => reading.id === id),
        `${this.name}: ${text(entry)} is leased twice`,
      );
      this.inFlight.push(entry);
      if (!entry.live) continue;
      const stream = streamOf(entry);
      const newer = this.#shown.find(
        (one) => one.stream === stream && one.entry.reading.timeMs > timeMs,
      );
      assert.equal(
        newer && text(newer.entry),
        undefined,
        `${this.name}: a live topic goes back to ${text(entry)}`,
      );
      this.#shown.push({ entry, stream });
    }
  }

  settled(entry: OutboxEntry, outcome: "sent" | "kept" | "refused" | "oversize"): void {
    this.inFlight = this.inFlight.filter((one) => one !== entry);
    const { id } = entry.reading;
    if (outcome === "refused" || outcome === "oversize")
      this.#shown = this.#shown.filter((one) => one.entry !== entry);
    if (outcome === "oversize") this.oversize.add(streamOf(entry));
    if (outcome === "sent") {
      this.sent.set(id, itemOf(entry));
      this.#done.add(id);
    }
    if (
      outcome === "sent" ||
      (outcome === "oversize" && isLiveOnly(this.variant) && !streamOf(entry).endsWith(" event"))
    )
      this.waiting.add(id);
  }

  /** The process was killed. */
  killed(): void {
    this.inFlight = [];
    for (const id of this.waiting) this.#done.delete(id);
    this.forgotten += this.waiting.size;
    this.waiting.clear();
  }

  /** @param isQueued whether its row is on disk */
  change(
    variant: Variant,
    all: ReadonlyMap<string, Item>,
    isQueued: (id: string) => boolean,
  ): void {
    if (variant === this.variant) return;
    const former = this.variant;
    // The new choice judges what was held: unchanged, it may be left out.
    if (variant === "onChange") this.#periods.clear();
    else this.endPeriods(all);
    this.newest.clear();
    this.isOriginal = false;
    const willBeWhole = isWhole(variant);
    if (laneOf(variant) !== this.lane) this.#shown = [];
    // What is sent again to an uplink that was away is meant.
    if (
      former === "absent" ||
      isThinned(variant) ||
      laneOf(variant) === "plain" ||
      this.lane === "plain"
    )
      this.#done.clear();
    for (const [id, { isFilled, item }] of this.owed) {
      const isWanted = willBeWhole && (laneOf(variant) === "json" || !isEvent(item));
      if (isLiveOnly(variant) || (!isWanted && isFilled && !isQueued(id))) this.owed.delete(id);
    }
    if (isThinned(variant)) this.#before = new Set(all.keys());
    this.variant = variant;
    if (former !== "absent" || !willBeWhole) return;
    for (const item of all.values())
      if (!isEvent(item) || this.lane === "json") this.owe(item, true);
  }

  /** After everything that is pending has been sent. */
  conclude(
    gaps: readonly ToldGap[],
    isStored: (id: string) => boolean,
    all: ReadonlyMap<string, Item>,
  ): void {
    this.endPeriods(all);
    const missing = [...this.owed.values()].filter(({ item }) => !this.sent.has(item.id));
    for (const { item, isFilled } of missing) {
      if (isFilled && !isStored(item.id)) continue;
      const gap = gaps.find(
        (one) => one.stream === item.stream && one.fromMs <= item.timeMs && item.timeMs <= one.toMs,
      );
      assert.ok(
        gap,
        `${this.name}: ${item.stream} ${new Date(item.timeMs).toISOString()} was never sent, and no gap tells it`,
      );
    }
    const told = gaps.reduce((sum, { count }) => sum + count, 0);
    if (this.isOriginal && this.#isWhole)
      assert.ok(
        told >= missing.length && (this.mayShed || told <= missing.length + this.forgotten),
        `${this.name}: ${told} readings in gap records, ${missing.length} were not sent`,
      );
    for (const item of this.newest.values()) {
      const isShown = [...this.sent.values()].some(
        (one) => one.stream === item.stream && one.timeMs >= item.timeMs,
      );
      assert.ok(
        isShown || this.oversize.has(item.stream) || gaps.length > 0,
        `${this.name}: the newest of ${item.stream} never went`,
      );
    }
    if (!this.isOriginal || !this.#isThinned || this.#passed.length > 0) return;
    const went = [...this.sent.values()].filter((item) => !isEvent(item) && !item.isFuture).length;
    if (gaps.length > 0) return;
    // Counters do not fall: what was left out stays so when an alarm that is judged later sends it after all.
    const surplus = went + this.notSelected - this.offered;
    assert.ok(
      surplus >= 0 && surplus <= this.alarms + this.forgotten,
      `${this.name}: sent and left out are ${surplus} more than offered`,
    );
  }
}

const streamOf = ({ reading }: OutboxEntry) => `${reading.sensor} ${reading.kind}`;
const isFlagged = ({ reading }: OutboxEntry) => reading.attributes.includes("time_in_future");
const itemOf = (entry: OutboxEntry): Item => ({
  id: entry.reading.id,
  stream: streamOf(entry),
  timeMs: entry.reading.timeMs,
  isFuture: isFlagged(entry),
});
const text = (entry: OutboxEntry) =>
  `${streamOf(entry)} ${new Date(entry.reading.timeMs).toISOString().slice(11, 19)} (${entry.reading.id.slice(0, 4)})`;
