/** A subscriber that accounts for every id, so that a program cannot be fast by losing or duplicating messages. */
import mqtt, { type MqttClient } from "mqtt";
import { until } from "./measure.ts";

/** What is published about a sensor besides its readings. */
const NO_READINGS: ReadonlySet<string> = new Set(["state", "about", "alarm"]);
const ID = Buffer.from('"id":"');

export class MessageCounter {
  readonly #client: MqttClient;
  readonly #readings = new Map<string, number>();
  readonly #waveforms = new Map<string, number>();
  /** Payload bytes of readings and waveforms. */
  bytes = 0;
  /** Messages about machines. */
  machines = 0;
  lastAt = 0;
  /** Called for each reading with its topic, payload and arrival, ms since 1970. */
  onReading: ((topic: string, payload: Buffer, at: number) => void) | null = null;

  private constructor(client: MqttClient) {
    this.#client = client;
    client.on("message", (topic, payload) => this.#count(topic, payload));
  }

  /** `prefix` is the first topic level of the program that is watched. */
  static async open(url: string, prefix: string): Promise<MessageCounter> {
    const client = await mqtt.connectAsync(url, {
      protocolVersion: 5,
      reconnectPeriod: 0,
      properties: { receiveMaximum: 65_535 },
    });
    const counter = new MessageCounter(client);
    await client.subscribeAsync(`${prefix}/#`, { qos: 0 });
    return counter;
  }

  #count(topic: string, payload: Buffer): void {
    const levels = topic.split("/");
    if (levels[2] === "machine") {
      this.machines += 1;
      return;
    }
    if (levels[2] === "agent" || NO_READINGS.has(levels[3] ?? "")) return;
    this.lastAt = performance.now();
    this.bytes += payload.length;
    const from = payload.indexOf(ID) + ID.length;
    const id = payload.toString("latin1", from, payload.indexOf(0x22, from));
    if (levels[3] === "waveform") {
      const key = `${id} ${levels[4]}`;
      this.#waveforms.set(key, (this.#waveforms.get(key) ?? 0) + 1);
    } else {
      this.#readings.set(id, (this.#readings.get(id) ?? 0) + 1);
      this.onReading?.(topic, payload, Date.now());
    }
  }

  get readings(): number {
    return this.#readings.size;
  }
  get waveforms(): number {
    return this.#waveforms.size;
  }
  /** Messages beyond the first of an id. */
  get doubles(): number {
    const all = [...this.#readings.values(), ...this.#waveforms.values()];
    return all.reduce((sum, count) => sum + count - 1, 0);
  }

  /** Waits until exactly this many ids have been seen; more are as wrong as fewer. */
  async expect(readings: number, waveforms: number, timeoutMs = 600_000): Promise<void> {
    await until(
      `${readings} readings and ${waveforms} waveforms at the subscriber`,
      () => this.readings >= readings && this.waveforms >= waveforms,
      timeoutMs,
    ).catch((error: unknown) => {
      throw new Error(
        `${String(error)}: there were ${this.readings} and ${this.waveforms}, ${this.doubles} doubles`,
      );
    });
    if (this.readings !== readings || this.waveforms !== waveforms) {
      throw new Error(`${this.readings} readings and ${this.waveforms} waveforms: too many`);
    }
  }

  /** Every id once, at the end of a run. */
  requireNoDoubles(): void {
    if (this.doubles > 0) throw new Error(`${this.doubles} messages came twice`);
  }

  close(): Promise<void> {
    return this.#client.endAsync(true);
  }
}
