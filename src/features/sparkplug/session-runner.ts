/**
 * One session after CONNECT and SUBSCRIBE: wait for the host, births, then turns. One message at a time, and in each
 * turn: first a rebirth, then live readings, then one message of the backlog, waveforms if nothing else is pending.
 * In one file: what a host sees is the order of all these steps.
 */

import type { TokenBucket } from "../../lib/token-bucket.ts";
import { alarmMetricName, type PendingAlarmChanges } from "./alarms.ts";
import { BornMachines } from "./born-machines.ts";
import { BornSensors } from "./born-sensors.ts";
import type { Device } from "./device.ts";
import type { MachineSource } from "./devices.ts";
import type { SparkplugInbox, Wake } from "./inbox.ts";
import type { LeasedReadings, LeasedReadingsParts } from "./leased-readings.ts";
import type { NodeReport, NodeValue } from "./node-metrics.ts";
import type { Metric } from "./payload.ts";
import type { DataResult, NodeConnection } from "./sender.ts";
import type { NodeSession } from "./session.ts";
import type { Settlements } from "./settlements.ts";

/** How a session ended; `lost` has causes outside this process, with `host_absent` there was no birth. */
export type RunEnd = "stopped" | "host_offline" | "host_absent" | "lost" | "birth_too_large";

/** Interval at which device states and node metrics are checked. */
const TICK_MS = 1_000;
/** A message written longer ago than this is proven even while more waits to be sent. */
const PROVE_AFTER_MS = 1_000;

export interface RunnerParts
  extends Pick<LeasedReadingsParts, "sender" | "devices" | "window" | "outbox" | "clock"> {
  readonly session: NodeSession;
  readonly connection: NodeConnection;
  readonly inbox: SparkplugInbox;
  readonly wake: Wake;
  readonly leased: LeasedReadings;
  readonly report: NodeReport;
  readonly pendingAlarms: PendingAlarmChanges;
  /** Null: machines are no devices of this node. */
  readonly machines: MachineSource | null;
  readonly nodeValues: () => readonly NodeValue[];
  readonly pace: TokenBucket;
  readonly settlements: Pick<Settlements, "oversize" | "settle">;
  readonly onBorn: () => void;
}
export interface RunnerOptions {
  /** Messages written before a proof is required. */
  readonly windowMax: number;
  /** Requests for births within this time of the last ones are answered by one at its end, ms. */
  readonly rebirthMs: number;
  /** Births are sent at once, data only this long after the session began. */
  readonly dataAfterMs: number;
  /** Longest wait for the primary host; null if there is no other server at which it may be online. */
  readonly hostWaitMs: number | null;
}

export class SessionRunner {
  readonly #parts: RunnerParts;
  readonly #options: RunnerOptions;
  #notices: { device: Device; metric: Metric }[] = [];
  readonly #sensors: BornSensors;
  readonly #machines: BornMachines;
  #tickAtMs = Number.NEGATIVE_INFINITY;
  /** When the last births began, monotonic ms. */
  #bornAtMs = Number.NEGATIVE_INFINITY;
  /** Monotonic ms before which no reading is leased. */
  readonly #dataAtMs: number;
  /** Monotonic ms at which a session without its host ends. */
  readonly #hostDueAtMs: number;

  constructor(parts: RunnerParts, options: RunnerOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#sensors = new BornSensors(parts);
    this.#machines = new BornMachines(parts);
    const now = parts.clock.monotonic();
    this.#dataAtMs = now + options.dataAfterMs;
    this.#hostDueAtMs = now + (options.hostWaitMs ?? Number.POSITIVE_INFINITY);
  }

  /** A metric from outside the outbox (the outcome of a command), sent in its turn. */
  notify(device: Device, metric: Metric): void {
    this.#notices.push({ device, metric });
    this.#parts.wake.ring();
  }

  async run(signal: AbortSignal): Promise<RunEnd> {
    const { session, connection, inbox, wake, clock } = this.#parts;
    for (;;) {
      const news = wake.arm();
      if (connection.closed.aborted) return "lost";
      if (signal.aborted) return await this.#leave("stopped");
      if (session.isNodeBorn && inbox.hasHostLeft) return await this.#leave("host_offline");
      if (!session.isNodeBorn && !inbox.mayBeBorn) {
        if (clock.monotonic() >= this.#hostDueAtMs) return await this.#leave("host_absent");
        await this.#idle([signal, connection.closed, news], false);
      } else if (!session.isNodeBorn || this.#rebirthInMs <= 0) {
        // A host also requests births when it has missed messages: what it was sent last is sent again.
        if (inbox.takeRebirth() && session.isNodeBorn) this.#doubt();
        else inbox.begin();
        this.#bornAtMs = clock.monotonic();
        if ((await this.#births()) === "oversize") return await this.#leave("birth_too_large");
      } else if (inbox.isRebirthDue) {
        // No data goes out between a request and the births.
        await this.#idle([signal, connection.closed, news], false);
      } else if (!(await this.#turn())) {
        await this.#idle([signal, connection.closed, news], true);
      }
    }
  }

  get #rebirthInMs(): number {
    if (!this.#parts.inbox.isRebirthDue) return Number.POSITIVE_INFINITY;
    return this.#bornAtMs + this.#options.rebirthMs - this.#parts.clock.monotonic();
  }

  async #births(): Promise<"sent" | "oversize" | "lost"> {
    const { session, sender, report, devices, clock, nodeValues, onBorn, connection } = this.#parts;
    this.#look();
    devices.takeRenewed();
    this.#parts.pendingAlarms.clear();
    const nowMs = clock.now();
    const metrics = report.birth(nodeValues(), nowMs, clock.monotonic());
    const result = await sender.send(session.nbirth(nowMs, metrics));
    if (result !== "sent") return result;
    const born = await this.#sensors.bearAll();
    if (born !== "born") return born === "host_left" ? "sent" : "lost";
    if (!(await this.#machines.bearAll())) return "lost";
    onBorn();
    // Births are not readings, yet a broker that disconnected on one must be distinguished from one that did so later.
    await connection.prove();
    return "sent";
  }

  /** Sends the first in line; false if there is nothing to do now. */
  async #turn(): Promise<boolean> {
    const { clock, window, pace, devices, leased } = this.#parts;
    if (this.#notices.length > 0) return await this.#sendNotices();
    if (this.#parts.pendingAlarms.next !== null) return await this.#sendAlarm();
    // No reading of a changed sensor is sent before the birth that declares it.
    if (devices.isOutdated || clock.monotonic() - this.#tickAtMs >= TICK_MS) {
      this.#tickAtMs = clock.monotonic();
      await this.#tick();
      return true;
    }
    if (clock.monotonic() < this.#dataAtMs) return false;
    if (await leased.sendLive()) return true;
    if (window.messages >= this.#options.windowMax || this.#isProofOverdue()) {
      return await this.#prove();
    }
    if (leased.leaseBacklog()) {
      if (!pace.hasToken) return window.messages > 0 && (await this.#prove());
      pace.take(1);
      await leased.sendBacklog();
      return true;
    }
    if (window.messages > 0) return await this.#prove();
    return await leased.sendWaveform();
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
    const { pendingAlarms, session, sender, devices, clock } = this.#parts;
    const change = pendingAlarms.next;
    if (change === null) return true;
    const device = devices.ofSensor(change.sensor);
    if (!session.isDeviceBorn(device.id)) {
      // Its birth contains it.
      pendingAlarms.done(change);
      return true;
    }
    const isBorn = session.isMetricBorn(device.id, alarmMetricName(change.stand));
    if (!isBorn) device.announce(change.stand);
    const metric = isBorn ? device.alarm(change.stand) : null;
    let result: DataResult = "sent";
    if (!isBorn) result = await sender.birth(device);
    else if (metric !== null) {
      result = await sender.data(() => session.ddata(clock.now(), device.id, [metric]));
    }
    // Held back or lost, births come next, and they contain the state of every alarm.
    if (result === "sent" || result === "oversize") pendingAlarms.done(change);
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
      this.#parts.settlements.settle(lane, entries, "kept");
    }
  }

  #settleDelivered(isLeaving: boolean): void {
    const { window, clock, settlements, inbox } = this.#parts;
    // Its STATE arrives before the response that proves: the broker had nobody to deliver these messages to.
    if (inbox.hasHostLeft) return;
    for (const [lane, entries] of window.delivered(clock.monotonic(), isLeaving)) {
      settlements.settle(lane, entries, "sent");
    }
  }

  /** Devices are added and removed, node metrics change. */
  async #tick(): Promise<void> {
    const { session, sender, clock, report, nodeValues } = this.#parts;
    this.#settleDelivered(false);
    this.#look();
    if (!(await this.#sensors.tick(this.#machines))) return;
    if (!(await this.#machines.tick())) return;
    const changes = report.changes(nodeValues(), clock.now(), clock.monotonic());
    // If it is held back, the NBIRTH contains the same.
    if (changes.length > 0) await sender.data(() => session.ndata(clock.now(), changes));
  }

  #look(): void {
    if (this.#parts.devices.look()) this.#parts.leased.regroup();
  }

  /** Intended end: NDEATH with this session's bdSeq, then DISCONNECT. */
  async #leave(end: RunEnd): Promise<RunEnd> {
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
    const { outbox, clock, pace, leased } = this.#parts;
    if (ends.some((end) => end.aborted)) return;
    const over = new AbortController();
    const stop = () => over.abort();
    for (const end of ends) end.addEventListener("abort", stop, { once: true });
    const isPaced = leased.hasBacklog;
    const graceMs = this.#dataAtMs - clock.monotonic();
    const sleepMs = Math.min(
      TICK_MS,
      isPaced ? pace.waitMs : TICK_MS,
      graceMs > 0 ? graceMs : TICK_MS,
      Math.max(1, this.#rebirthInMs),
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
