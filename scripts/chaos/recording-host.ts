/** The Sparkplug side of a campaign: the primary host, which comes and goes, and an observer that is always connected. */
import mqtt, { type MqttClient } from "mqtt";
import { StrictHost } from "../../test/features/sparkplug/strict-host.ts";
import type { Wanted } from "./expectation.ts";
import type { Values } from "./received.ts";

const HOST_ID = "scada";
/** Time between the host's offline state and the last message that may follow it, ms. */
const HUSH_MS = 2000;

export class RecordingHost {
  readonly #host: StrictHost;
  readonly #bystander: MqttClient;
  readonly #faults: string[] = [];
  #offlineSince: number | null = null;

  constructor(url: string) {
    this.#host = new StrictHost(url, HOST_ID);
    this.#bystander = mqtt.connect(url, { reconnectPeriod: 50, resubscribe: false });
    this.#bystander.on("error", () => {});
    this.#bystander.on("connect", () => {
      this.#bystander.subscribe([`spBv1.0/STATE/${HOST_ID}`, "spBv1.0/plant/#"], { qos: 0 });
    });
    this.#bystander.on("message", (topic, payload) => this.#overhear(topic, payload));
  }

  /** Includes what the node did wrong while the host was offline. */
  get faults(): readonly string[] {
    return [...this.#host.faults, ...this.#faults];
  }

  /** If its connection is cut, the broker publishes its offline state (the will); otherwise the host does. */
  leave(isAbrupt: boolean): void {
    this.#host.leave(isAbrupt);
  }
  comeBack(): void {
    this.#host.comeBack();
  }

  /** Every value of a reading arrived, as data of its device with its time. */
  hasReading({ sensor, kind, timeMs }: Wanted, values: Values | null): boolean {
    return Object.entries(values ?? {}).every(([name, value]) =>
      this.#host.contents.has(StrictHost.contentOf(sensor, `${kind}/${name}`, timeMs, value)),
    );
  }

  hasWaveform({ sensor, timeMs }: Wanted, channel: string): boolean {
    return this.#host.values.has(`${sensor} accel/waveform/${channel} ${timeMs}`);
  }

  async close(): Promise<void> {
    await this.#host.close();
    await this.#bystander.endAsync(true);
  }

  #overhear(topic: string, payload: Buffer): void {
    const [, second, verb] = topic.split("/");
    if (second === "STATE") {
      const { online }: { online: boolean } = JSON.parse(payload.toString());
      if (online) this.#offlineSince = null;
      else this.#offlineSince ??= Date.now();
      return;
    }
    if (verb === "NDEATH" || this.#offlineSince === null) return;
    const sinceMs = Date.now() - this.#offlineSince;
    if (sinceMs > HUSH_MS) this.#faults.push(`${topic} with the host offline for ${sinceMs} ms`);
  }
}
