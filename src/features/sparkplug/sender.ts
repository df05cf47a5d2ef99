/** Passes the messages of one session to the link, one after the other: the only queue that assigns seq. */
import { setImmediate as eventLoopTurn } from "node:timers/promises";
import type { OutboxEntry } from "../../core/delivery/delivery.ts";
import type { SessionLink } from "../../core/delivery/link.ts";
import type { PublishOutcome } from "../../core/message.ts";
import type { WaveformReader } from "../../core/ports.ts";
import { type Device } from "./device.ts";
import type { Devices } from "./devices.ts";
import {
  waveformBytes,
  waveformMetricName,
  waveformProperties,
  waveformShape,
} from "./metric-shape.ts";
import { type ParsedReading, parseReading } from "./parsed-reading.ts";
import type { Metric } from "./payload.ts";
import type { SparkplugLane } from "./proof-window.ts";
import type { NodeSession, Outgoing } from "./session.ts";

/** lost: the session is over; the content of the message is unproven. */
export type SendResult = "sent" | "oversize" | "lost";
/** held: births or the end of the session come first, and it was not sent. */
export type DataResult = SendResult | "held";

/** One reading to be sent. */
interface SentItem {
  readonly entry: OutboxEntry;
  readonly reading: ParsedReading;
}
/** Readings of one device that are sent in one message, all of them history or all of them live. */
export interface SentGroup {
  readonly device: Device;
  readonly isHistorical: boolean;
  readonly items: readonly SentItem[];
}

/** The result for a group: whether the session is over, and what was not sent because births come first. */
export interface GroupResult {
  readonly isLost: boolean;
  readonly held: readonly SentItem[];
}
const ALL_SENT: GroupResult = { isLost: false, held: [] };

/** A message stays small enough for every host and broker, and soon gives way to live data and commands. */
const METRICS_MAX = 500;

/**
 * Entries by device, in their order, in messages of limited size. A message with history contains at most
 * `historyBatch` records: common hosts that key a payload by metric name keep only the last of each name.
 */
export function groupByDevice(
  entries: readonly OutboxEntry[],
  devices: Devices,
  isHistorical: boolean,
  historyBatch: number,
): SentGroup[] {
  const recordsMax = isHistorical ? historyBatch : Number.POSITIVE_INFINITY;
  const groups: (SentGroup & { items: SentItem[]; metrics: number })[] = [];
  const open = new Map<Device, (typeof groups)[number]>();
  for (const entry of entries) {
    const device = devices.ofSensor(entry.reading.sensor);
    const reading = parseReading(entry.reading);
    const count = Object.keys(reading.values).length;
    let group = open.get(device);
    if (!group || group.metrics + count > METRICS_MAX || group.items.length >= recordsMax) {
      group = { device, isHistorical, items: [], metrics: 0 };
      groups.push(group);
      open.set(device, group);
    }
    group.items.push({ entry, reading });
    group.metrics += count;
  }
  return groups;
}

export interface SenderParts {
  readonly session: NodeSession;
  readonly connection: NodeConnection;
  readonly devices: Devices;
  readonly waveforms: WaveformReader;
  readonly now: () => number;
  /** True while no data may be sent: a host requested births, or is gone. */
  readonly isHeld: () => boolean;
  /** The message was passed to the link with these entries complete. */
  readonly onSent: (lane: SparkplugLane, entries: readonly OutboxEntry[]) => void;
  /** A stored text is damaged; the undamaged part of the reading is sent. */
  readonly onDamaged: (entry: OutboxEntry) => void;
  /** A message exceeds the broker's limit. */
  readonly onOversize: (what: string, lane: SparkplugLane, entries: readonly OutboxEntry[]) => void;
}

export class Sender {
  readonly #parts: SenderParts;
  /** Devices whose birth the broker refuses: none of their data can be sent in this session. */
  readonly #unbirthable = new Set<Device>();

  constructor(parts: SenderParts) {
    this.#parts = parts;
  }

  /** `isDivisible`: what is too large is sent in parts. */
  async send({ topic, payload, spend }: Outgoing, isDivisible = false): Promise<SendResult> {
    const { result } = await this.#parts.connection.publish(topic, payload, isDivisible);
    if (result === "oversize") return "oversize";
    if (result !== "delivered") return "lost";
    spend();
    return "sent";
  }

  /**
   * Inbound messages are read before each data message, and a rebirth request among them holds this one back: after its
   * receipt, only data already in the socket can precede the NBIRTH.
   */
  async data(make: () => Outgoing, isDivisible = false): Promise<DataResult> {
    await eventLoopTurn();
    return this.#parts.isHeld() ? "held" : await this.send(make(), isDivisible);
  }

  async birth(device: Device, isReturning = false): Promise<SendResult> {
    const { session, devices, now, onOversize } = this.#parts;
    if (this.#unbirthable.has(device)) return "oversize";
    const nowMs = now();
    const metrics = devices.birthMetrics(device, nowMs, isReturning);
    const result = await this.send(session.dbirth(nowMs, device.id, metrics));
    if (result === "oversize") {
      this.#unbirthable.add(device);
      onOversize(`DBIRTH of ${device.id}`, "sparkplug", []);
    }
    return result;
  }

  /** Returns what was held back, oldest first. Nothing is sent for a device before its birth. */
  async readings(group: SentGroup): Promise<GroupResult> {
    const { session, now, onSent, onOversize, onDamaged } = this.#parts;
    const { device, items, isHistorical } = group;
    const entries = items.map((item) => item.entry);
    for (const { entry, reading } of items) if (!reading.isWhole) onDamaged(entry);
    const hasNew = items.reduce((any, item) => device.learn(item.reading) || any, false);
    if (hasNew || !session.isDeviceBorn(device.id)) {
      const born = await this.birth(device, !isHistorical);
      if (born === "lost") return { isLost: true, held: [] };
      if (born === "oversize") {
        onOversize(`DBIRTH of ${device.id}`, "sparkplug", entries);
        return ALL_SENT;
      }
    }
    const metrics = items.flatMap((item) => device.data(item.reading, isHistorical));
    if (metrics.length === 0) {
      onSent("sparkplug", entries);
      return ALL_SENT;
    }
    const isDivisible = items.length > 1;
    const make = () => session.ddata(now(), device.id, metrics);
    const result = await this.data(make, isDivisible);
    if (result === "held" || result === "oversize") {
      // Hosts did not get the qualities in a message that was not sent.
      device.resendQualities();
      return result === "held" ? { isLost: false, held: items } : await this.#halves(group);
    }
    // Unproven rather than unsent: part of it may have been sent before the connection broke.
    onSent("sparkplug", entries);
    return result === "lost" ? { isLost: true, held: [] } : ALL_SENT;
  }

  async #halves(group: SentGroup): Promise<GroupResult> {
    const { device, items } = group;
    if (items.length === 1) {
      const entries = items.map((item) => item.entry);
      this.#parts.onOversize(`DDATA of ${device.id}`, "sparkplug", entries);
      return ALL_SENT;
    }
    const middle = Math.ceil(items.length / 2);
    const first = await this.readings({ ...group, items: items.slice(0, middle) });
    if (first.isLost || first.held.length > 0) {
      return { ...first, held: [...first.held, ...items.slice(middle)] };
    }
    return await this.readings({ ...group, items: items.slice(middle) });
  }

  /** The channels of one measurement, a message each; all of them again if one was held back. */
  async waveforms(entry: OutboxEntry, isHistorical: boolean): Promise<DataResult> {
    const { session, devices, waveforms, now, onSent, onOversize } = this.#parts;
    const device = devices.ofSensor(entry.reading.sensor);
    const stored = entry.reading.waveforms.flatMap(({ fileId }) => waveforms.read(fileId) ?? []);
    const isNew = stored.reduce(
      (any, { channel, axis }) => device.add(waveformShape(channel, axis)) || any,
      false,
    );
    if (stored.length > 0 && (isNew || !session.isDeviceBorn(device.id))) {
      const born = await this.birth(device, !isHistorical);
      if (born === "lost") return born;
      if (born === "oversize") {
        onOversize(`DBIRTH of ${device.id}`, "sparkplugWaveform", [entry]);
        return born;
      }
    }
    let isTooLarge = false;
    for (const waveform of stored) {
      const metric: Metric = device.other(waveformMetricName(waveform.channel), {
        timeMs: waveform.timeMs,
        value: waveformBytes(waveform),
        contentType: "application/octet-stream",
        isHistorical,
        properties: waveformProperties(waveform),
      });
      const result = await this.data(() => session.ddata(now(), device.id, [metric]));
      if (result === "held") {
        device.resendQualities();
        return result;
      }
      if (result === "oversize") isTooLarge = true;
      if (result === "lost") {
        onSent("sparkplugWaveform", [entry]);
        return result;
      }
    }
    if (isTooLarge) onOversize(`waveform of ${device.id}`, "sparkplugWaveform", [entry]);
    else onSent("sparkplugWaveform", [entry]);
    return isTooLarge ? "oversize" : "sent";
  }
}

/** One session of the link as the edge node uses it: once it is closed, nothing is sent over a later one. */
export class NodeConnection {
  readonly #link: SessionLink;
  readonly #closed = new AbortController();

  constructor(link: SessionLink) {
    this.#link = link;
  }

  /** Aborted when the session ends, for any reason. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }
  /** The link reports that the session is over. */
  close(): void {
    this.#closed.abort();
  }

  /** Resolves when the socket has accepted the bytes: QoS 0 gives no other confirmation. */
  publish(topic: string, payload: Uint8Array, isDivisible: boolean): Promise<PublishOutcome> {
    if (this.closed.aborted) return Promise.resolve({ result: "lost" });
    return this.#link.publish({ topic, payload, qos: 0, retain: false, isDivisible });
  }
  /** True if the broker has read everything that was published before; false: the session is over. */
  prove(): Promise<boolean> {
    return this.closed.aborted ? Promise.resolve(false) : this.#link.prove();
  }
  /** Ends the connection without DISCONNECT: the broker publishes the will. */
  cut(reason: string): void {
    if (!this.closed.aborted) this.#link.renew(reason);
  }
  /**
   * DISCONNECT; with `publishWill`, MQTT 5 brokers publish the will too. `failure`: the reason, if something is wrong.
   */
  async disconnect(publishWill: boolean, failure: string | null): Promise<void> {
    if (!this.closed.aborted) await this.#link.leave(publishWill, failure);
  }
}
