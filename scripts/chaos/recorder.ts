import { setTimeout as sleep } from "node:timers/promises";
import mqtt, { type MqttClient } from "mqtt";
import { Received, type ReceivedOptions } from "./received.ts";

export interface RecorderOptions extends ReceivedOptions {
  /** First level of its topics. */
  readonly prefix: string;
}

const CHECK_MS = 10;

/** A subscriber that checks as it listens. */
export class Recorder extends Received {
  readonly #client: MqttClient;
  #isListening = false;

  constructor(url: string, options: RecorderOptions) {
    super(options);
    this.#client = mqtt.connect(url, {
      protocolVersion: 5,
      reconnectPeriod: 50,
      resubscribe: false,
      // Long enough that a broker that is suspended for a while does not lose the connection.
      keepalive: 120,
      properties: { receiveMaximum: 65535 },
    });
    this.#client.on("error", () => {});
    this.#client.on("close", () => {
      this.#isListening = false;
    });
    this.#client.on("connect", () => {
      this.#client.subscribe(`${options.prefix}/#`, { qos: 1, rap: true, rh: 2 }, (error) => {
        this.#isListening = !error;
        // Without its subscription it would wait forever; the next connection tries again.
        if (error) this.#client.stream.destroy();
      });
    });
    this.#client.on("message", (topic, payload) => this.take(topic, payload.toString()));
  }

  /** Resolves once the broker has granted its subscription. */
  async ready(): Promise<void> {
    while (!this.#isListening) await sleep(CHECK_MS);
  }
  /** Resolves once it has noticed that the broker is gone: the next `ready` means the next broker. */
  async lost(): Promise<void> {
    while (this.#isListening || this.#client.connected) await sleep(CHECK_MS);
  }
  close(): Promise<void> {
    return this.#client.endAsync(true);
  }
}
