/** What a subscriber received, checked message by message: under how many ids, and whether live topics only moved forward. */
import { createHash } from "node:crypto";

export type Values = Readonly<Record<string, unknown>>;

interface Seen {
  readonly id: string;
  readonly sensor: string;
  readonly kind: string;
  readonly time: string;
  readonly values: Values;
  readonly attributes: unknown;
  readonly raw: unknown;
  readonly historical: boolean;
}
export interface GapRecord {
  readonly sensor: string;
  readonly kind: string;
  readonly from: string;
  readonly to: string;
  readonly count: number;
  readonly reason: string;
  /** Uplink of the readings; absent if there is only one. */
  readonly uplink?: string;
}
/** What was received about an alarm. */
export interface ReceivedEvent {
  readonly id: string;
  readonly readingId: string;
  /** What distinguishes it from others, as text. */
  readonly content: string;
}
export interface ReceivedReading {
  readonly kind: string;
  count: number;
  /** As first received; null unless they are kept. */
  readonly values: Values | null;
}

export interface ReceivedOptions {
  /** Kept to compare another subscriber's values with them. */
  readonly keepsValues: boolean;
  /** Expected topic of a reading, without `/history`; by default the contract's. */
  readonly topicOf?: (sensor: string, kind: string) => RegExp;
}

/** Topics of a sensor that carry no reading, by their fourth level. */
const OTHER_TOPICS = ["state", "about", "alarm"];

export class Received {
  readonly ids = new Map<string, ReceivedReading>();
  /** `id channel` of every waveform. */
  readonly waveforms = new Set<string>();
  readonly faults: string[] = [];
  /** Contents that arrived under more than one id: what, and both ids. */
  readonly doubled = new Map<string, readonly [string, string]>();
  /** By id. */
  readonly events = new Map<string, ReceivedEvent>();
  live = 0;
  readonly #options: ReceivedOptions;
  /** By their text: a gap too is published at least once. */
  readonly #gaps = new Map<string, GapRecord>();
  /** Hash of each content, and the id under which it first arrived. */
  readonly #contents = new Map<string, string>();
  /** Hash of the content of each id. */
  readonly #contentOf = new Map<string, string>();
  readonly #newest = new Map<string, { readonly time: string; readonly id: string }>();

  constructor(options: ReceivedOptions) {
    this.#options = options;
  }

  get gaps(): Iterable<GapRecord> {
    return this.#gaps.values();
  }
  /** One message. */
  take(topic: string, text: string): void {
    if (topic.endsWith("/agent/gap")) {
      this.#gaps.set(text, JSON.parse(text));
      return;
    }
    if (topic.endsWith("/agent/event")) return this.#event(JSON.parse(text));
    const [, , sensor = "", kind = "", last] = topic.split("/");
    if (sensor === "agent") return;
    const isHistory = topic.endsWith("/history");
    const { topicOf } = this.#options;
    if (topicOf === undefined) {
      if (OTHER_TOPICS.includes(kind)) return;
      if (kind === "waveform") {
        const { id, channel }: { id: string; channel: string } = JSON.parse(text);
        this.waveforms.add(`${id} ${channel}`);
        return;
      }
      if (last !== undefined && !isHistory) return;
    } else if (OTHER_TOPICS.includes(topic.split("/").at(-1) ?? "") || /\/alarm\//.test(topic)) {
      return;
    }
    const seen: Seen = JSON.parse(text);
    if (seen.historical !== isHistory)
      this.faults.push(`${topic}: historical is ${seen.historical}`);
    if (topicOf?.(seen.sensor, seen.kind).test(topic.replace(/\/history$/, "")) === false)
      this.faults.push(`${seen.sensor} ${seen.kind} came on ${topic}`);
    const known = this.ids.get(seen.id);
    const { keepsValues } = this.#options;
    if (known) known.count += 1;
    else
      this.ids.set(seen.id, {
        kind: seen.kind,
        count: 1,
        values: keepsValues ? seen.values : null,
      });
    this.#content(seen);
    if (!isHistory) this.#live(topic, seen);
  }

  /** An event may come again under its own id; one transition under two ids is two. */
  #event(told: Readonly<Record<string, unknown>> & { id: string; readingId: string }): void {
    const { id, sensor, kind, value, alarm, state, severity, time, readingId } = told;
    const content = JSON.stringify([sensor, kind, value, alarm, state, severity, time, readingId]);
    this.events.set(id, { id, readingId, content });
  }

  #content({ id, sensor, kind, time, values, attributes, raw }: Seen): void {
    // Records may differ in an attribute alone (a battery type), and an uplink may be without raw values.
    const hash = createHash("sha256")
      .update(`${sensor} ${kind} ${time} ${JSON.stringify([values, attributes, raw])}`)
      .digest("base64");
    const first = this.#contentOf.get(id);
    if (first === undefined) this.#contentOf.set(id, hash);
    else if (first !== hash)
      this.faults.push(`${sensor} ${kind} ${time} ${id} came with other values`);
    const before = this.#contents.get(hash);
    if (before === undefined) this.#contents.set(hash, id);
    else if (before !== id)
      this.doubled.set(`${sensor} ${kind} ${time} as ${before} and ${id}`, [before, id]);
  }

  /** The same reading may arrive again if its acknowledgement was lost; any other must be newer. */
  #live(topic: string, { id, time }: Seen): void {
    this.live += 1;
    const before = this.#newest.get(topic);
    if (before && before.id !== id && time <= before.time) {
      this.faults.push(`${topic} went from ${before.time} to ${time}`);
    }
    this.#newest.set(topic, { id, time });
  }
}
