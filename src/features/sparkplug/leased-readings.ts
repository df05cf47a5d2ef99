import type { OutboxEntry } from "../../core/delivery/delivery.ts";
import type { Clock, Outbox } from "../../core/ports.ts";
import { isWanted } from "../../pipeline/publish/formats/waveform.ts";
import { type Device } from "./device.ts";
import type { Devices } from "./devices.ts";
import { membersOf } from "./parsed-reading.ts";
import type { ProofWindow, SparkplugLane } from "./proof-window.ts";
import { type GroupResult, groupByDevice, type Sender, type SentGroup } from "./sender.ts";
import type { Settlements } from "./settlements.ts";

const LIVE_MAX = 256;
const BACKLOG_MAX = 256;
/** A silent sensor whose backlog was just sent stays born for this long, so that the next piece needs no new birth. */
const QUIET_MS = 5_000;

export interface LeasedReadingsParts {
  readonly outbox: Outbox;
  readonly sender: Sender;
  readonly devices: Devices;
  readonly window: ProofWindow;
  readonly clock: Clock;
  readonly settlements: Pick<Settlements, "settle" | "damaged">;
}

export interface LeasedReadingsOptions {
  readonly waveforms: "always" | "alarm" | "never";
  /** SPARKPLUG_HISTORY_BATCH: maximum records in one historical message. */
  readonly historyBatch: number;
}

/** What one session leases from the outbox and sends: live readings, the backlog, waveforms. */
export class LeasedReadings {
  readonly #parts: LeasedReadingsParts;
  readonly #options: LeasedReadingsOptions;
  #backlog: SentGroup[] = [];
  /** Leased as live, and sent before to a host that may have missed it. */
  readonly #repeats: Record<SparkplugLane, OutboxEntry[]> = {
    sparkplug: [],
    sparkplugWaveform: [],
  };
  readonly #sentAtMs = new Map<Device, number>();
  readonly #liveTimeMs = new Map<Device, number>();

  constructor(parts: LeasedReadingsParts, options: LeasedReadingsOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  /** True while leased readings of the backlog are still to be sent. */
  get hasBacklog(): boolean {
    return this.#backlog.length > 0;
  }

  /** Leases the next piece of the backlog once the last one is sent; false if nothing is pending. */
  leaseBacklog(): boolean {
    if (this.#backlog.length === 0) {
      this.#backlog = this.#groups(this.#lease("sparkplug", BACKLOG_MAX), true);
    }
    return this.hasBacklog;
  }

  /** The devices have changed: leased groups were built with the devices of their time. */
  regroup(): void {
    if (this.#backlog.length === 0) return;
    const entries = this.#backlog.flatMap(({ items }) => items.map(({ entry }) => entry));
    this.#backlog = this.#groups(entries, true);
  }

  /** True once a silent device may die: what was sent of it is some seconds old, and nothing of it is to be sent. */
  isQuiet(device: Device): boolean {
    const { devices, clock } = this.#parts;
    // The known state of the sensor may lag behind the reading that was just sent.
    if (
      devices.isConfigured(device) &&
      (this.#liveTimeMs.get(device) ?? -Infinity) > devices.lastReadingMs(device)
    )
      return false;
    const quietMs = clock.monotonic() - (this.#sentAtMs.get(device) ?? -Infinity);
    return quietMs >= QUIET_MS && !this.#backlog.some((group) => group.device === device);
  }

  /** Sends the readings that are live now; false if there are none. */
  async sendLive(): Promise<boolean> {
    const leased = this.#parts.outbox.lease("sparkplug", "live", LIVE_MAX);
    const entries = this.#withoutRepeats("sparkplug", leased);
    if (entries.length === 0) return leased.length > 0;
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
    this.#parts.settlements.settle("sparkplug", kept, "kept");
    return true;
  }

  /** Sends the first message of the leased backlog. What was held back is sent next. */
  async sendBacklog(): Promise<void> {
    const group = this.#backlog.shift();
    if (group === undefined) return;
    const { held } = await this.#sendGroup(group);
    if (held.length > 0) this.#backlog.unshift({ ...group, items: held });
  }

  /** Sends one measurement, and only if no scalar reading is pending; false if there is none. */
  async sendWaveform(): Promise<boolean> {
    const { outbox, sender, devices, clock, window, settlements } = this.#parts;
    const { waveforms } = this.#options;
    const lane = "sparkplugWaveform";
    const [live] = outbox.lease(lane, "live", 1);
    if (live !== undefined && this.#withoutRepeats(lane, [live]).length === 0) return true;
    const entry = live ?? this.#lease(lane, 1)[0];
    if (!entry) return false;
    const attributes = membersOf(entry.reading.attributes);
    const reason = attributes?.["recording_reason"];
    const known = typeof reason === "number" ? reason : null;
    if (attributes === null) {
      settlements.damaged(entry);
      settlements.settle(lane, [entry], "skipped");
      return true;
    }
    if (waveforms === "never" || !isWanted(waveforms, known)) {
      settlements.settle(lane, [entry], "skipped");
      return true;
    }
    this.#sentAtMs.set(devices.ofSensor(entry.reading.sensor), clock.monotonic());
    const isHistorical = !entry.live || window.isRepeat(lane, entry);
    if ((await sender.waveforms(entry, isHistorical)) === "held")
      settlements.settle(lane, [entry], "kept");
    return true;
  }

  async #sendGroup(group: SentGroup): Promise<GroupResult> {
    this.#sentAtMs.set(group.device, this.#parts.clock.monotonic());
    return await this.#parts.sender.readings(group);
  }

  #groups(entries: readonly OutboxEntry[], isHistorical: boolean): SentGroup[] {
    const { historyBatch } = this.#options;
    return groupByDevice(entries, this.#parts.devices, isHistorical, historyBatch);
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

  #lease(lane: SparkplugLane, max: number): OutboxEntry[] {
    const entries = this.#parts.outbox.lease(lane, "backlog", max);
    if (entries.length > 0) return entries;
    return this.#repeats[lane]
      .splice(0, max)
      .toSorted((a, b) => a.reading.timeMs - b.reading.timeMs);
  }
}
