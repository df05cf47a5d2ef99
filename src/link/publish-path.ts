import type { MqttClient } from "mqtt";
import type { Message } from "../core/message.ts";
import { PublishIds } from "./packet-ids.ts";
import { PublishWriter } from "./publish-writer.ts";

/** Longest text that MQTT allows (1.5.4), bytes. */
const TEXT_BYTES_MAX = 65_535;

/**
 * direct: PUBLISH packets are written by `PublishWriter`, beside mqtt.js · library: by mqtt.js's own `publish`, at
 * about twice the CPU per message (docs/benchmarks.md).
 */
export type PublishPathName = "direct" | "library";

/** How PUBLISH packets of one session are written. */
export interface PublishPath {
  /**
   * Sends one message of `bytes` in all (`publishPacketBytes`); returns its packet identifier, 0 with QoS 0.
   * `onWritten` is called once a message of QoS 0 has left this process, and not if the connection fails first. Throws
   * a RangeError if a text is longer than MQTT allows; nothing of such a message is written.
   */
  send(message: Message, retain: boolean, bytes: number, onWritten: (() => void) | null): number;
  /** Everything sent so far is written to the connection before anything that is written after this. */
  flush(): void;
}

/** `isTaken` says whether a packet identifier is in flight. */
export function publishPath(
  name: PublishPathName,
  client: MqttClient,
  version: 4 | 5,
  isTaken: (id: number) => boolean,
): PublishPath {
  return name === "direct"
    ? new DirectPath(new PublishWriter(client.stream, version), isTaken)
    : new LibraryPath(client, version);
}

class DirectPath implements PublishPath {
  readonly #writer: PublishWriter;
  readonly #isTaken: (id: number) => boolean;
  readonly #ids = new PublishIds();

  constructor(writer: PublishWriter, isTaken: (id: number) => boolean) {
    this.#writer = writer;
    this.#isTaken = isTaken;
  }
  send(message: Message, retain: boolean, bytes: number, onWritten: (() => void) | null): number {
    const id = message.qos === 0 ? 0 : this.#ids.next(this.#isTaken);
    this.#writer.write(message, id, retain, bytes, onWritten);
    return id;
  }
  flush(): void {
    this.#writer.flush();
  }
}

class LibraryPath implements PublishPath {
  readonly #client: MqttClient;
  readonly #version: 4 | 5;

  constructor(client: MqttClient, version: 4 | 5) {
    this.#client = client;
    this.#version = version;
  }
  send(message: Message, retain: boolean, _bytes: number, onWritten: (() => void) | null): number {
    const { topic, payload, qos, contentType, correlationData, userProperties } = message;
    // mqtt.js would end the session because of it.
    const texts = [topic, contentType ?? "", ...Object.entries(userProperties ?? {}).flat()];
    if (texts.some((text) => Buffer.byteLength(text) > TEXT_BYTES_MAX)) {
      throw new RangeError("a string is longer than 65,535 bytes");
    }
    const properties = {
      ...(contentType === undefined ? {} : { contentType }),
      ...(correlationData === undefined ? {} : { correlationData: Buffer.from(correlationData) }),
      ...(userProperties === undefined ? {} : { userProperties: { ...userProperties } }),
    };
    const bytes =
      typeof payload === "string"
        ? payload
        : Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
    this.#client.publish(
      topic,
      bytes,
      { qos, retain, ...(this.#version === 5 ? { properties } : {}) },
      (error) => {
        if (!error) onWritten?.();
      },
    );
    return qos === 0 ? 0 : this.#client.getLastMessageId();
  }
  /** mqtt.js writes each packet in turn. */
  flush(): void {}
}
