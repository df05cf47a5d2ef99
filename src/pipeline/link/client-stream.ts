/**
 * All that goes past the public interface of mqtt.js (why: docs/decisions/link.md): the stream of one client, shared with it. Only PUBLISH packets are ours,
 * written between those of mqtt.js. Its exact version is pinned; test/pipeline/link/mqtt-assumptions.test.ts fails if another one breaks what this relies on:
 *
 * - The stream exists as soon as the client does, and shows every byte that arrives.
 * - Packets are written at once: what follows a flush on the wire was written after it.
 * - Identifiers come from `messageIdProvider`, so those below `FIRST_OF_CLIENT` are free for ours.
 * - A PUBACK for a publish that mqtt.js has not sent is reported by `packetreceive`, and does no harm.
 */
import type { Duplex } from "node:stream";
import type { IClientOptions, MqttClient } from "mqtt";
import type { Message } from "../../core/message.ts";
import { codeOf } from "../../core/thrown.ts";
import { InboundGuard, type TooLargePacket } from "./inbound-guard.ts";
import { PublishWriter } from "./publish-writer.ts";

/** Packet identifiers (MQTT 2.2.1) from here up belong to mqtt.js, for SUBSCRIBE; those below to our publishes. */
const FIRST_OF_CLIENT = 65_000;
const LAST = 65_535;
/** Publishes that can be in flight at a time: each has its own identifier. */
export const PUBLISHES_MAX = FIRST_OF_CLIENT - 1;

export interface StreamEvents {
  /** The CONNECT that mqtt.js queued left, as far as can be told. */
  connectSent(): void;
  /** It did not. */
  connectUnsent(): void;
  /** The broker sends a packet that exceeds the limit. */
  tooLarge(packet: TooLargePacket): void;
}

export class ClientStream {
  readonly #stream: Duplex;
  readonly #writer: PublishWriter;
  readonly #isTaken: (id: number) => boolean;
  #lastId = 0;

  /** @param isTaken whether a packet identifier is in flight; PUBLISHES_MAX never are */
  constructor(
    { stream }: Pick<MqttClient, "stream">,
    version: 4 | 5,
    isTaken: (id: number) => boolean,
  ) {
    this.#stream = stream;
    this.#writer = new PublishWriter(stream, version);
    this.#isTaken = isTaken;
  }

  /** @param bytesMax of an inbound packet: mqtt.js would collect a larger one in memory first */
  watch(scheme: string, isTunnelled: boolean, bytesMax: number, events: StreamEvents): void {
    const guard = new InboundGuard(bytesMax);
    this.#stream.on("data", (chunk: Buffer) => {
      const packet = guard.feed(chunk);
      if (packet !== null) events.tooLarge(packet);
    });
    if (scheme === "mqtt:" && isTunnelled) events.connectSent();
    else if (scheme === "mqtt:") this.#stream.once("connect", events.connectSent);
    else if (scheme === "mqtts:") this.#stream.once("secureConnect", events.connectSent);
    else {
      // A web socket stream does not show it: assumed sent, unless the address could not even be reached.
      events.connectSent();
      this.#stream.once("error", (err: unknown) => {
        const code = codeOf(err);
        if (code === "ECONNREFUSED" || code === "ENOTFOUND") events.connectUnsent();
      });
    }
  }

  /** Writes a PUBLISH with this turn's others (see `PublishWriter.write`); returns its packet identifier, 0 with QoS 0. */
  send(message: Message, retain: boolean, bytes: number, onWritten: (() => void) | null): number {
    const id = message.qos === 0 ? 0 : this.#nextId();
    this.#writer.write(message, id, retain, bytes, onWritten);
    return id;
  }

  /** What was sent so far is written before anything that mqtt.js writes after this. */
  flush(): void {
    this.#writer.flush();
  }

  destroy(): void {
    this.#stream.destroy();
  }

  #nextId(): number {
    do this.#lastId = this.#lastId >= PUBLISHES_MAX ? 1 : this.#lastId + 1;
    while (this.#isTaken(this.#lastId));
    return this.#lastId;
  }
}

/** The source of mqtt.js's own identifiers. */
export function clientPacketIds(): NonNullable<IClientOptions["messageIdProvider"]> {
  let last = LAST;
  return {
    allocate() {
      last = last >= LAST ? FIRST_OF_CLIENT : last + 1;
      return last;
    },
    getLastAllocated: () => last,
    register: () => true,
    deallocate: () => {},
    clear: () => {},
  };
}
