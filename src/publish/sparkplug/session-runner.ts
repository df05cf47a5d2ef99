/**
 * The life of one session after CONNECT and SUBSCRIBE: wait for the host, births, then turns. One message at a time, and
 * in each turn: a rebirth first, then live readings, then one message of the backlog, waveforms when nothing else waits.
 */
import type { Clock, DeliveryOutcome, Logger, Outbox, OutboxEntry } from "../../core/ports.ts";
import type { TokenBucket } from "../token-bucket.ts";
import { isWanted } from "../waveform.ts";
import type { NodeConnection } from "./connection.ts";
import { type Device, membersOf } from "./device.ts";
import type { DeviceBook } from "./device-book.ts";
import type { Inbox } from "./inbox.ts";
import type { NodeReport, NodeValue } from "./node-metrics.ts";
import type { Metric } from "./payload.ts";
import type { ProofWindow, SparkplugLane } from "./proof-window.ts";
import { type Group, groupByDevice, type Sender } from "./sender.ts";
import type { NodeSession } from "./session.ts";
import type { Wake } from "./wake.ts";

/** How a session ended; `lost` is everybody's fault but ours. */
export type SessionEnd = "stopped" | "host_offline" | "lost" | "birth_too_large";

/** Device states and node metrics are looked at this often. */
const TICK_MS = 1_000;
/** Written longer ago than this, a message is proven even while more waits to be sent. */
const PROVE_AFTER_MS = 1_000;
const LIVE_MAX = 256;
const BACKLOG_MAX = 256;
/** A silent sensor whose backlog was just told stays born this long, so that the next piece needs no new birth. */
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
  /** Messages written before the broker must answer for them. */
  readonly windowMax: number;
  readonly waveforms: "always" | "alarm" | "never";
  /** Births go out at once, data only this long after the session began. */
  readonly dataAfterMs: number;
}

export class SessionRunner {
  readonly #parts: RunnerParts;
  readonly #options: RunnerOptions;
  #backlog: Group[] = [];
  #notices: { device: Device; metric: Metric }[] = [];
  #tickAtMs = Number.NEGATIVE_INFINITY;
  /** Monotonic ms before which no reading is leased. */
  readonly #dataAtMs: number;
  readonly #toldAtMs = new Map<Device, number>();
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
        // A host asks for births when it has missed messages, too: what it was told last is told again.
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
    book.look();
    const nowMs = clock.now();
    const metrics = report.birth(nodeValues(), nowMs, clock.monotonic());
    const result = await sender.send(session.nbirth(nowMs, metrics));
    if (result !== "sent") return result;
    for (const device of book.configured) {
      if (inbox.hasHostLeft) return "sent";
      if (!book.isSilent(device) && (await sender.birth(device)) === "lost") return "lost";
    }
    onBorn();
    // Births are no readings, yet a broker that hung up on one must be told from one that did so later.
    await connection.prove();
    return "sent";
  }

  /** Sends what is first in line; false when there is nothing to do now. */
  async #turn(): Promise<boolean> {
    const { outbox, clock, window, pace } = this.#parts;
    if (this.#notices.length > 0) return await this.#sendNotices();
    if (clock.monotonic() - this.#tickAtMs >= TICK_MS) {
      this.#tickAtMs = clock.monotonic();
      await this.#tick();
      return true;
    }
    if (clock.monotonic() < this.#dataAtMs) return false;
    const live = outbox.lease("sparkplug", "live", LIVE_MAX);
    if (live.length > 0) return await this.#sendLive(live);
    if (window.messages >= this.#options.windowMax || this.#isProofOverdue()) {
      return await this.#prove();
    }
    if (this.#backlog.length === 0) {
      const entries = outbox.lease("sparkplug", "backlog", BACKLOG_MAX);
      this.#backlog = groupByDevice(entries, this.#parts.book, () => true);
    }
    if (this.#backlog.length > 0) {
      if (!pace.hasToken) return window.messages > 0 && (await this.#prove());
      const group = this.#backlog.shift();
      pace.take(1);
      return group ? await this.#sendGroup(group) : true;
    }
    if (window.messages > 0) return await this.#prove();
    return await this.#sendWaveform();
  }

  async #sendLive(entries: readonly OutboxEntry[]): Promise<boolean> {
    const { book, window } = this.#parts;
    const isHistorical = (entry: OutboxEntry) => !entry.live || window.isRepeat("sparkplug", entry);
    for (const group of groupByDevice(entries, book, isHistorical)) {
      const newest = Math.max(...group.items.map((item) => item.reading.timeMs));
      const before = this.#liveTimeMs.get(group.device) ?? Number.NEGATIVE_INFINITY;
      this.#liveTimeMs.set(group.device, Math.max(before, newest));
      if (!(await this.#sendGroup(group))) break;
    }
    return true;
  }

  async #sendGroup(group: Group): Promise<boolean> {
    this.#toldAtMs.set(group.device, this.#parts.clock.monotonic());
    return await this.#parts.sender.readings(group);
  }

  /** One measurement, and only when no scalar reading waits. */
  async #sendWaveform(): Promise<boolean> {
    const { outbox, sender, book, clock, window, settle, onDamaged } = this.#parts;
    const { waveforms } = this.#options;
    const lane = "sparkplugWaveform";
    const entry = outbox.lease(lane, "live", 1)[0] ?? outbox.lease(lane, "backlog", 1)[0];
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
    this.#toldAtMs.set(book.ofSensor(entry.reading.sensor), clock.monotonic());
    await sender.waveforms(entry, !entry.live || window.isRepeat(lane, entry));
    return true;
  }

  async #sendNotices(): Promise<boolean> {
    const { session, sender, clock } = this.#parts;
    for (const { device, metric } of this.#notices.splice(0)) {
      if (!session.isMetricBorn(device.id, metric.name)) continue;
      const news = device.other(metric.name, { timeMs: metric.timeMs, value: metric.value });
      if ((await sender.send(session.ddata(clock.now(), device.id, [news]))) === "lost") break;
    }
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
    // Its STATE comes before the answer that proves: the broker had nobody to hand these messages to.
    if (inbox.hasHostLeft) return;
    for (const [lane, entries] of window.delivered(clock.monotonic(), isLeaving)) {
      settle(lane, entries, "sent");
    }
  }

  /** Devices come and go, node metrics change. */
  async #tick(): Promise<void> {
    const { session, sender, book, clock, report, nodeValues } = this.#parts;
    this.#settleDelivered(false);
    book.look();
    const born = session.bornDevices.flatMap((id) => book.byId(id) ?? []);
    for (const device of born) {
      if (!this.#isLost(device)) continue;
      if ((await sender.send(session.ddeath(clock.now(), device.id))) === "lost") return;
    }
    for (const device of book.configured) {
      if (session.isDeviceBorn(device.id) || book.isSilent(device)) continue;
      if ((await sender.birth(device)) === "lost") return;
    }
    const changes = report.changes(nodeValues(), clock.now(), clock.monotonic());
    if (changes.length > 0) await sender.send(session.ndata(clock.now(), changes));
  }

  #isLost(device: Device): boolean {
    const { book, clock } = this.#parts;
    if (!book.isSilent(device)) return false;
    // What is known of the sensor may lag behind the reading that was just sent.
    if ((this.#liveTimeMs.get(device) ?? -Infinity) > book.lastReadingMs(device)) return false;
    const quietMs = clock.monotonic() - (this.#toldAtMs.get(device) ?? -Infinity);
    return quietMs >= QUIET_MS && !this.#backlog.some((group) => group.device === device);
  }

  /** Intended end: NDEATH with this session's bdSeq, then DISCONNECT. */
  async #leave(end: SessionEnd): Promise<SessionEnd> {
    const { session, sender, connection, clock, window } = this.#parts;
    const isBorn = session.isNodeBorn;
    if (end === "stopped" && window.messages > 0) await this.#prove();
    if (isBorn) await sender.send(session.ndeath(clock.now()));
    if (end === "stopped") this.#settleDelivered(true);
    // Nothing was born, nothing dies: the will would be a death without a birth.
    await connection.disconnect(isBorn);
    return end;
  }

  /** Until something happens: a message, a reading, a notice, the next tick or token, the end. */
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
    // A lane is only waited for where its readings could be taken: while scalars wait for their token, waveforms are not.
    if (isBorn && graceMs <= 0) {
      waits.push(outbox.changed("sparkplug", over.signal));
      if (!isPaced) waits.push(outbox.changed("sparkplugWaveform", over.signal));
    }
    await Promise.race(waits);
    over.abort();
    for (const end of ends) end.removeEventListener("abort", stop);
  }
}
