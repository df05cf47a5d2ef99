import { setTimeout as sleep } from "node:timers/promises";
import mqtt, { type MqttClient } from "mqtt";

interface Seen {
  readonly id: string;
  readonly sensor: string;
  readonly kind: string;
  readonly time: string;
  readonly values: unknown;
  readonly raw: unknown;
  readonly historical: boolean;
}
export interface GapRecord {
  readonly sensor: string;
  readonly kind: string;
  readonly from: string;
  readonly to: string;
  readonly count: number;
}

const LOOK_MS = 10;

/** A subscriber that judges as it listens: what came, under how many ids, and whether live topics went forward. */
export class Recorder {
  readonly ids = new Map<
    string,
    { readonly sensor: string; readonly kind: string; count: number }
  >();
  readonly gaps: GapRecord[] = [];
  readonly faults: string[] = [];
  /** Contents that came under more than one id. */
  readonly doubled = new Set<string>();
  live = 0;
  readonly #contents = new Map<string, string>();
  readonly #newest = new Map<string, { readonly time: string; readonly id: string }>();
  readonly #client: MqttClient;
  #isListening = false;

  constructor(url: string) {
    this.#client = mqtt.connect(url, {
      protocolVersion: 5,
      reconnectPeriod: 50,
      resubscribe: false,
      // A broker that is stopped for a while is not lost.
      keepalive: 120,
      properties: { receiveMaximum: 65535 },
    });
    this.#client.on("error", () => {});
    this.#client.on("close", () => {
      this.#isListening = false;
    });
    this.#client.on("connect", () => {
      this.#client.subscribe("gateside/#", { qos: 1, rap: true, rh: 2 }, (error) => {
        this.#isListening = !error;
      });
    });
    this.#client.on("message", (topic, payload) => this.#take(topic, payload.toString()));
  }

  /** Resolves once the broker has granted its subscription. */
  async ready(): Promise<void> {
    while (!this.#isListening) await sleep(LOOK_MS);
  }
  /** Resolves once it has noticed that the broker is gone: the next `ready` means the next broker. */
  async lost(): Promise<void> {
    while (this.#isListening || this.#client.connected) await sleep(LOOK_MS);
  }
  close(): Promise<void> {
    return this.#client.endAsync(true);
  }

  #take(topic: string, text: string): void {
    if (topic.endsWith("/agent/gap")) {
      this.gaps.push(JSON.parse(text));
      return;
    }
    const [, , sensor = "", kind = "", last] = topic.split("/");
    const isHistory = last === "history";
    if (sensor === "agent" || kind === "state" || kind === "waveform") return;
    if (last !== undefined && !isHistory) return;
    const seen: Seen = JSON.parse(text);
    if (seen.historical !== isHistory)
      this.faults.push(`${topic}: historical is ${seen.historical}`);
    const known = this.ids.get(seen.id);
    if (known) known.count += 1;
    else this.ids.set(seen.id, { sensor, kind, count: 1 });
    const content = `${sensor} ${kind} ${seen.time} ${JSON.stringify([seen.values, seen.raw])}`;
    const before = this.#contents.get(content);
    if (before === undefined) this.#contents.set(content, seen.id);
    else if (before !== seen.id)
      this.doubled.add(`${content.slice(0, 120)} as ${before} and ${seen.id}`);
    if (!isHistory) this.#live(topic, seen);
  }

  /** The same reading may come again where its acknowledgement was lost; anything else must be newer. */
  #live(topic: string, { id, time }: Seen): void {
    this.live += 1;
    const before = this.#newest.get(topic);
    if (before && before.id !== id && time <= before.time) {
      this.faults.push(`${topic} went from ${before.time} to ${time}`);
    }
    this.#newest.set(topic, { id, time });
  }
}
