/**
 * One session after CONNECT and SUBSCRIBE: wait for the host, births, then turns. One message at a time, and in each
 * turn: first a rebirth, then live readings, then one message of the backlog, waveforms if nothing else is pending.
 */

import type { DeliveryOutcome, OutboxEntry } from "../../core/delivery.ts";
import type { Clock, Logger, Outbox } from "../../core/ports.ts";
import { isWanted } from "../formats/waveform.ts";
import type { TokenBucket } from "../token-bucket.ts";
import { type AlarmNews, alarmMetricName, alarmShape } from "./alarm-metrics.ts";
import type { NodeConnection } from "./connection.ts";
import { type Device, membersOf } from "./device.ts";
import type { DeviceBook } from "./device-book.ts";
import type { Inbox } from "./inbox.ts";
import type { NodeReport, NodeValue } from "./node-metrics.ts";
import type { Metric } from "./payload.ts";
import type { ProofWindow, SparkplugLane } from "./proof-window.ts";
import {
  type DataResult,
  type Group,
  type GroupResult,
  groupByDevice,
  type Sender,
} from "./sender.ts";
import type { NodeSession } from "./session.ts";
import type { Wake } from "./wake.ts";

/** How a session ended; `lost` has causes outside this process. */
export type SessionEnd = "stopped" | "host_offline" | "lost" | "birth_too_large";

/** Interval at which device states and node metrics are checked. */
const TICK_MS = 1_000;
/** A message written longer ago than this is proven even while more waits to be sent. */
const PROVE_AFTER_MS = 1_000;
const LIVE_MAX = 256;
const BACKLOG_MAX = 256;
/** A silent sensor whose backlog was just sent stays born for this long, so that the next piece needs no new birth. */
const QUIET_MS = 5_000;

export interface RunnerParts {
  readonly session: NodeSession;
  readonly connection: NodeConnection;
  readonly sender: Sender;
  readonly inbox: Inbox;
  readonly wake: Wake;
  readonly book: DeviceBook;
  readonly window: ProofWindow;
  readonly report: NodeReport;
  readonly alarmNews: AlarmNews;
  readonly nodeValues: () => readonly NodeValue[];
  readonly outbox: Outbox;
  readonly pace: TokenBucket;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onDamaged: (entry: OutboxEntry) => void;
  readonly settle: (
    lane: SparkplugLane,
    entries: readonly OutboxEntry[],
    outcome: DeliveryOutcome,
  ) => void;
  readonly onBorn: () => void;
}
export interface RunnerOptions {
  /** Messages written before a proof is required. */
  readonly windowMax: number;
  readonly waveforms: "always" | "alarm" | "never";
  /** SPARKPLUG_HISTORY_BATCH: most records in one historical message. */
  readonly historyBatch: number;
  /** Births are sent at once, data only this long after the session began. */
  readonly dataAfterMs: number;
}

export class SessionRunner {
  readonly #parts: RunnerParts;
  readonly #options: RunnerOptions;
  #backlog: Group[] = [];
  /** Leased as live, and sent before to a host that may have missed it. */
  readonly #repeats: Record<SparkplugLane, OutboxEntry[]> = {
    sparkplug: [],
    sparkplugWaveform: [],
  };
  #notices: { device: Device; metric: Metric }[] = [];
  #tickAtMs = Number.NEGATIVE_INFINITY;
  /** Monotonic ms before which no reading is leased. */
  readonly #dataAtMs: number;
  readonly #sentAtMs = new Map<Device, number>();
  readonly #liveTimeMs = new Map<Device, number>();

  constructor(parts: RunnerParts, options: RunnerOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#dataAtMs = parts.clock.monotonic() + options.dataAfterMs;
  }

  /** A metric from outside the outbox (the outcome of a command), sent in its turn. */
  notify(device: Device, metric: Metric): void {
    this.#notices.push({ device, metric });
    this.#parts.wake.ring();
  }

  async run(signal: AbortSignal): Promise<SessionEnd> {
    const { session, connection, inbox, wake } = this.#parts;
    for (;;) {
      const news = wake.arm();
      if (connection.closed.aborted) return "lost";
      if (signal.aborted) return await this.#leave("stopped");
      if (session.isNodeBorn && inbox.hasHostLeft) return await this.#leave("host_offline");
      if (!session.isNodeBorn && !inbox.mayBeBorn) {
        await this.#idle([signal, connection.closed, news], false);
      } else if (!session.isNodeBorn || inbox.takeRebirth()) {
        // A host also requests births when it has missed messages: what it was sent last is sent again.
        if (session.isNodeBorn) this.#doubt();
        else inbox.begin();
        if ((await this.#births()) === "oversize") return await this.#leave("birth_too_large");
      } else if (!(await this.#turn())) {
        await this.#idle([signal, connection.closed, news], true);
      }
    }
  }

  async #births(): Promise<"sent" | "oversize" | "lost"> {
    const { session, sender, report, book, clock, inbox, nodeValues, onBorn, connection } =
      this.#parts;
    this.#look();
    book.takeRenewed();
    this.#parts.alarmNews.clear();
    const nowMs = clock.now();
    const metrics = report.birth(nodeValues(), nowMs, clock.monotonic());
    const result = await sender.send(session.nbirth(nowMs, metrics));
    if (result !== "sent") return result;
    for (const device of book.configured) {
      if (inbox.hasHostLeft) return "sent";
      if (!book.isSilent(device) && (await sender.birth(device)) === "lost") return "lost";
    }
    onBorn();
    // Births are not readings, yet a broker that disconnected on one must be distinguished from one that did so later.
    await connection.prove();
    return "sent";
  }

  /** Sends the first in line; false if there is nothing to do now. */
  async #turn(): Promise<boolean> {
    const { outbox, clock, window, pace, book } = this.#parts;
    if (this.#notices.length > 0) return await this.#sendNotices();
    if (this.#parts.alarmNews.next !== null) return await this.#sendAlarm();
    // No reading of a changed sensor is sent before the birth that declares it.
    if (book.isOutdated || clock.monotonic() - this.#tickAtMs >= TICK_MS) {
      this.#tickAtMs = clock.monotonic();
      await this.#tick();
      return true;
    }
    if (clock.monotonic() < this.#dataAtMs) return false;
    const live = outbox.lease("sparkplug", "live", LIVE_MAX);
    const unheard = this.#withoutRepeats("sparkplug", live);
    if (unheard.length > 0) return await this.#sendLive(unheard);
    if (live.length > 0) return true;
    if (window.messages >= this.#options.windowMax || this.#isProofOverdue()) {
      return await this.#prove();
    }
    if (this.#backlog.length === 0) {
      this.#backlog = this.#groups(this.#leaseBacklog("sparkplug", BACKLOG_MAX), true);
    }
    if (this.#backlog.length > 0) {
      if (!pace.hasToken) return window.messages > 0 && (await this.#prove());
      pace.take(1);
      return await this.#sendBacklog();
    }
    if (window.messages > 0) return await this.#prove();
    return await this.#sendWaveform();
  }

  async #sendLive(entries: readonly OutboxEntry[]): Promise<boolean> {
    const { settle } = this.#parts;
    const kept: OutboxEntry[] = [];
    for (const group of this.#groups(entries, false)) {
      const newest = Math.max(...group.items.map((item) => item.reading.timeMs));
      const before = this.#liveTimeMs.get(group.device) ?? Number.NEGATIVE_INFINITY;
      this.#liveTimeMs.set(group.device, Math.max(before, newest));
      const { isLost, held } = await this.#sendGroup(group);
      if (isLost) break;
      kept.push(...held.map(({ entry }) => entry));
    }
    // They go live after the births.
    settle("sparkplug", kept, "kept");
    return true;
  }

  /** What was held back is sent next. */
  async #sendBacklog(): Promise<boolean> {
    const group = this.#backlog.shift();
    if (group === undefined) return true;
    const { held } = await this.#sendGroup(group);
    if (held.length > 0) this.#backlog.unshift({ device: group.device, items: held });
    return true;
  }

  async #sendGroup(group: Group): Promise<GroupResult> {
    this.#sentAtMs.set(group.device, this.#parts.clock.monotonic());
    return await this.#parts.sender.readings(group);
  }

  #groups(entries: readonly OutboxEntry[], isHistorical: boolean): Group[] {
    const { historyBatch } = this.#options;
    return groupByDevice(entries, this.#parts.book, () => isHistorical, historyBatch);
  }

  /**
   * If a host may already have received the newest reading of a sensor and kind, that reading is history: it follows
   * the older ones, so that history is sent oldest first. Returns what goes live now.
   */
  #withoutRepeats(lane: SparkplugLane, entries: readonly OutboxEntry[]): OutboxEntry[] {
    const { window } = this.#parts;
    return entries.filter((entry) => {
      const isRepeat = window.isRepeat(lane, entry);
      if (isRepeat) this.#repeats[lane].push(entry);
      return !isRepeat;
    });
  }

  #leaseBacklog(lane: SparkplugLane, max: number): OutboxEntry[] {
    const entries = this.#parts.outbox.lease(lane, "backlog", max);
    if (entries.length > 0) return entries;
    return this.#repeats[lane]
      .splice(0, max)
      .toSorted((a, b) => a.reading.timeMs - b.reading.timeMs);
  }

  /** One measurement, and only if no scalar reading is pending. */
  async #sendWaveform(): Promise<boolean> {
    const { outbox, sender, book, clock, window, settle, onDamaged } = this.#parts;
    const { waveforms } = this.#options;
    const lane = "sparkplugWaveform";
    const [live] = outbox.lease(lane, "live", 1);
    if (live !== undefined && this.#withoutRepeats(lane, [live]).length === 0) return true;
    const entry = live ?? this.#leaseBacklog(lane, 1)[0];
    if (!entry) return false;
    const attributes = membersOf(entry.reading.attributes);
    const reason = attributes?.["recording_reason"];
    const known = typeof reason === "number" ? reason : null;
    if (attributes === null) {
      onDamaged(entry);
      settle(lane, [entry], "skipped");
      return true;
    }
    if (waveforms === "never" || !isWanted(waveforms, known)) {
      settle(lane, [entry], "skipped");
      return true;
    }
    this.#sentAtMs.set(book.ofSensor(entry.reading.sensor), clock.monotonic());
    const isHistorical = !entry.live || window.isRepeat(lane, entry);
    if ((await sender.waveforms(entry, isHistorical)) === "held") settle(lane, [entry], "kept");
    return true;
  }

  async #sendNotices(): Promise<boolean> {
    const { session, sender, clock } = this.#parts;
    const [notice] = this.#notices;
    if (notice === undefined) return true;
    const { device, metric } = notice;
    if (session.isMetricBorn(device.id, metric.name)) {
      const news = device.other(metric.name, { timeMs: metric.timeMs, value: metric.value });
      const result = await sender.data(() => session.ddata(clock.now(), device.id, [news]));
      // It is sent after the births, or after the reconnect.
      if (result === "held" || result === "lost") return true;
    }
    this.#notices.splice(this.#notices.indexOf(notice), 1);
    return true;
  }

  /** One transition. An alarm that was never announced (a bad value may be any) causes a new birth. */
  async #sendAlarm(): Promise<boolean> {
    const { alarmNews, session, sender, book, clock } = this.#parts;
    const change = alarmNews.next;
    if (change === null) return true;
    const device = book.ofSensor(change.sensor);
    if (!session.isDeviceBorn(device.id)) {
      // Its birth contains it.
      alarmNews.done(change);
      return true;
    }
    device.add(alarmShape(change.stand));
    const isBorn = session.isMetricBorn(device.id, alarmMetricName(change.stand));
    const metric = isBorn ? device.alarm(change.stand) : null;
    let result: DataResult = "sent";
    if (!isBorn) result = await sender.birth(device);
    else if (metric !== null) {
      result = await sender.data(() => session.ddata(clock.now(), device.id, [metric]));
    }
    // Held back or lost, births come next, and they contain the state of every alarm.
    if (result === "sent" || result === "oversize") alarmNews.done(change);
    return true;
  }

  #isProofOverdue(): boolean {
    const oldest = this.#parts.window.oldestAtMs;
    return oldest !== null && this.#parts.clock.monotonic() - oldest >= PROVE_AFTER_MS;
  }

  async #prove(): Promise<boolean> {
    const { window, connection } = this.#parts;
    const count = window.messages;
    if (await connection.prove()) window.prove(count, this.#parts.clock.monotonic());
    this.#settleDelivered(false);
    return true;
  }

  #doubt(): void {
    for (const [lane, entries] of this.#parts.window.doubt()) {
      this.#parts.settle(lane, entries, "kept");
    }
  }

  #settleDelivered(isLeaving: boolean): void {
    const { window, clock, settle, inbox } = this.#parts;
    // Its STATE arrives before the response that proves: the broker had nobody to deliver these messages to.
    if (inbox.hasHostLeft) return;
    for (const [lane, entries] of window.delivered(clock.monotonic(), isLeaving)) {
      settle(lane, entries, "sent");
    }
  }

  /** Devices are added and removed, node metrics change. */
  async #tick(): Promise<void> {
    const { session, sender, book, clock, report, nodeValues } = this.#parts;
    this.#settleDelivered(false);
    this.#look();
    for (const device of book.takeRenewed()) {
      if (!session.isDeviceBorn(device.id)) continue;
      if ((await sender.birth(device)) === "lost") return;
    }
    const born = session.bornDevices.flatMap((id) => book.byId(id) ?? []);
    for (const device of born) {
      if (!this.#isLost(device)) continue;
      const result = await sender.data(() => session.ddeath(clock.now(), device.id));
      if (result === "lost" || result === "held") return;
    }
    for (const device of book.configured) {
      if (session.isDeviceBorn(device.id) || book.isSilent(device)) continue;
      if ((await sender.birth(device)) === "lost") return;
    }
    const changes = report.changes(nodeValues(), clock.now(), clock.monotonic());
    // If it is held back, the NBIRTH contains the same.
    if (changes.length > 0) await sender.data(() => session.ndata(clock.now(), changes));
  }

  /** Waiting groups were built with the devices of their time. */
  #look(): void {
    const { book } = this.#parts;
    if (!book.look() || this.#backlog.length === 0) return;
    const entries = this.#backlog.flatMap(({ items }) => items.map(({ entry }) => entry));
    this.#backlog = this.#groups(entries, true);
  }

  #isLost(device: Device): boolean {
    const { book, clock } = this.#parts;
    if (!book.isSilent(device)) return false;
    // The known state of the sensor may lag behind the reading that was just sent.
    if (
      book.isConfigured(device) &&
      (this.#liveTimeMs.get(device) ?? -Infinity) > book.lastReadingMs(device)
    )
      return false;
    const quietMs = clock.monotonic() - (this.#sentAtMs.get(device) ?? -Infinity);
    return quietMs >= QUIET_MS && !this.#backlog.some((group) => group.device === device);
  }

  /** Intended end: NDEATH with this session's bdSeq, then DISCONNECT. */
  async #leave(end: SessionEnd): Promise<SessionEnd> {
    const { session, sender, connection, clock, window } = this.#parts;
    const isBorn = session.isNodeBorn;
    if (end === "stopped" && window.messages > 0) await this.#prove();
    if (isBorn) await sender.send(session.ndeath(clock.now()));
    if (end === "stopped") this.#settleDelivered(true);
    // Without a birth there is no death: the will would be a death without a birth.
    const failure =
      end === "birth_too_large" ? "the NBIRTH exceeds the broker's packet limit" : null;
    await connection.disconnect(isBorn, failure);
    return end;
  }

  /** Waits for an event: a message, a reading, a notice, the next tick or token, the end. */
  async #idle(ends: readonly AbortSignal[], isBorn: boolean): Promise<void> {
    const { outbox, clock, pace } = this.#parts;
    if (ends.some((end) => end.aborted)) return;
    const over = new AbortController();
    const stop = () => over.abort();
    for (const end of ends) end.addEventListener("abort", stop, { once: true });
    const isPaced = this.#backlog.length > 0;
    const graceMs = this.#dataAtMs - clock.monotonic();
    const sleepMs = Math.min(
      TICK_MS,
      isPaced ? pace.waitMs : TICK_MS,
      graceMs > 0 ? graceMs : TICK_MS,
    );
    const waits = [clock.sleep(sleepMs, over.signal)];
    // A lane is only waited for if its readings could be sent: while scalars wait for their token, waveforms do not
    // count.
    if (isBorn && graceMs <= 0) {
      waits.push(outbox.changed("sparkplug", over.signal));
      if (!isPaced) waits.push(outbox.changed("sparkplugWaveform", over.signal));
    }
    await Promise.race(waits);
    over.abort();
    for (const end of ends) end.removeEventListener("abort", stop);
  }
}
