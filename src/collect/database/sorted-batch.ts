/** The messages of a batch by what is written of them. */
import type { PendingDelivery } from "../delivery.ts";
import type { Item, ReadingItem, Received } from "../parse/item.ts";
import { rejected } from "../parse/parse-message.ts";
import type { Rejection } from "./write-others.ts";

/** A message and its interpretation. */
export interface Entry {
  readonly delivery: PendingDelivery;
  readonly item: Item;
}

type OfType<T extends Item["type"]> = Extract<Item, { type: T }>;

interface SortedBatch {
  /** Readings, and the delivery of each. */
  readonly items: ReadingItem[];
  readonly deliveries: PendingDelivery[];
  readonly waveforms: OfType<"waveform">[];
  readonly events: OfType<"event">[];
  readonly gaps: OfType<"gap">[];
  readonly boxStates: Received<OfType<"boxState">>[];
  readonly boxStats: Received<OfType<"boxStats">>[];
  readonly sensorStates: Received<OfType<"sensorState">>[];
  readonly abouts: Received<OfType<"about">>[];
  readonly machines: Received<OfType<"machine">>[];
  readonly rejections: Rejection[];
  /** Those that something of was stored. */
  readonly sites: Set<string>;
  /** Times that need a partition. */
  readonly timesMs: number[];
}

/** The batch, grouped by the kind of its messages; what is older than the horizon is rejected. */
export function sortOut(entries: readonly Entry[], horizonMs: number): SortedBatch {
  const sorted: SortedBatch = {
    items: [],
    deliveries: [],
    waveforms: [],
    events: [],
    gaps: [],
    boxStates: [],
    boxStats: [],
    sensorStates: [],
    abouts: [],
    machines: [],
    rejections: [],
    sites: new Set(),
    timesMs: [],
  };
  for (const { item: parsed, delivery } of entries) {
    const { receivedMs } = delivery;
    const item = tooOld(parsed, horizonMs) ?? parsed;
    if (item.type !== "rejected" && item.type !== "ignored") sorted.sites.add(item.site);
    switch (item.type) {
      case "reading":
        sorted.items.push(item);
        sorted.deliveries.push(delivery);
        sorted.timesMs.push(item.timeMs);
        break;
      case "waveform":
        sorted.waveforms.push(item);
        sorted.timesMs.push(item.timeMs);
        break;
      case "event":
        sorted.events.push(item);
        sorted.timesMs.push(item.timeMs);
        break;
      case "gap":
        sorted.gaps.push(item);
        break;
      case "boxState":
        sorted.boxStates.push({ item, receivedMs });
        break;
      case "boxStats":
        sorted.boxStats.push({ item, receivedMs });
        break;
      case "sensorState":
        sorted.sensorStates.push({ item, receivedMs });
        break;
      case "machine":
        sorted.machines.push({ item, receivedMs });
        break;
      case "about":
        sorted.abouts.push({ item, receivedMs });
        break;
      case "rejected":
        sorted.rejections.push({ item, delivery });
        break;
      case "ignored":
        break;
    }
  }
  return sorted;
}

function tooOld(item: Item, horizonMs: number): Rejection["item"] | null {
  if (!("timeMs" in item) || item.timeMs >= horizonMs) return null;
  const [time, horizon] = [item.timeMs, horizonMs].map((ms) => new Date(ms).toISOString());
  const detail = `${time} is before ${horizon}, since when data is kept`;
  return { ...rejected("time_out_of_range", detail), site: item.site };
}
