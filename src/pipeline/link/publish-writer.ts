import type { Writable } from "node:stream";
import type { Message } from "../../core/message.ts";

/** A burst grows to this many bytes before it is written to the stream within its turn. */
const BURST_BYTES_MAX = 262_144;
const BURST_BYTES_MIN = 4_096;
/** Bursts whose memory is reused once the kernel has them: the one being filled and the one being sent. */
const SPARE_MAX = 2;

const PUBLISH = 0x30;
const RETAIN = 0x01;
const QOS_SHIFT = 1;
const CONTENT_TYPE = 0x03;
const CORRELATION_DATA = 0x09;
const USER_PROPERTY = 0x26;

/**
 * Writes PUBLISH packets (MQTT 3.1.1 and 5.0, section 3.3) to a connection whose other packets belong to mqtt.js. The
 * packets of one turn of the event loop are written as one piece, in order: the path through mqtt.js (a copy of the
 * options, an entry in its store, five small writes per packet) costs twice as much per message.
 */
export class PublishWriter {
  readonly #stream: Writable;
  readonly #version: 4 | 5;
  readonly #spares: Buffer[] = [];
  #burst: Buffer = Buffer.alloc(0);
  #end = 0;
  #written: (() => void)[] = [];
  #isScheduled = false;

  constructor(stream: Writable, version: 4 | 5) {
    this.#stream = stream;
    this.#version = version;
  }

  /**
   * Sent with this turn's burst. `packetId` is 0 for QoS 0; `bytes` is the result of `publishPacketBytes`; `onWritten`
   * is called once the stream has passed it on, and not if the stream fails first. Throws a RangeError if a text is
   * longer than MQTT allows (1.5.4: 65,535 bytes); nothing of such a message is written.
   */
  write(
    message: Message,
    packetId: number,
    retain: boolean,
    bytes: number,
    onWritten: (() => void) | null,
  ): void {
    if (this.#end > 0 && this.#end + bytes > BURST_BYTES_MAX) this.flush();
    this.#reserve(bytes);
    const start = this.#end;
    try {
      this.#encode(message, packetId, retain, bytes);
      if (this.#end - start !== bytes)
        throw new RangeError("the packet is not as long as was counted");
    } catch (error) {
      this.#end = start;
      throw error;
    }
    if (onWritten !== null) this.#written.push(onWritten);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    process.nextTick(() => this.flush());
  }

  /** Passes what is collected to the stream now. */
  flush(): void {
    this.#isScheduled = false;
    if (this.#end === 0) return;
    const burst = this.#burst;
    const written = this.#written;
    const piece = burst.subarray(0, this.#end);
    this.#burst = this.#spares.pop() ?? Buffer.alloc(0);
    this.#end = 0;
    this.#written = [];
    this.#stream.write(piece, (error) => {
      if (error) return;
      if (burst.length <= BURST_BYTES_MAX && this.#spares.length < SPARE_MAX)
        this.#spares.push(burst);
      for (const done of written) done();
    });
  }

  #reserve(bytes: number): void {
    const needed = this.#end + bytes;
    if (needed <= this.#burst.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#burst.length, BURST_BYTES_MIN));
    this.#burst.copy(grown, 0, 0, this.#end);
    this.#burst = grown;
  }

  #encode(message: Message, packetId: number, retain: boolean, bytes: number): void {
    const { topic, payload, qos } = message;
    this.#byte(PUBLISH | (qos << QOS_SHIFT) | (retain ? RETAIN : 0));
    this.#variable(remainingLength(bytes));
    this.#text(topic);
    if (qos > 0) this.#two(packetId);
    if (this.#version === 5) this.#properties(message);
    if (typeof payload === "string") this.#end += this.#burst.write(payload, this.#end);
    else this.#bytes(payload);
  }

  #properties(message: Message): void {
    const { contentType, correlationData, userProperties } = message;
    const lengthAt = this.#end;
    // Nearly always below 128 bytes, whose length is one byte: counted first only if it is not.
    this.#end += 1;
    if (contentType !== undefined) {
      this.#byte(CONTENT_TYPE);
      this.#text(contentType);
    }
    if (correlationData !== undefined) {
      this.#byte(CORRELATION_DATA);
      this.#two(correlationData.byteLength);
      this.#bytes(correlationData);
    }
    for (const name in userProperties) {
      this.#byte(USER_PROPERTY);
      this.#text(name);
      this.#text(userProperties[name] ?? "");
    }
    const length = this.#end - lengthAt - 1;
    const shift = lengthBytes(length) - 1;
    if (shift > 0) this.#burst.copyWithin(lengthAt + 1 + shift, lengthAt + 1, this.#end);
    this.#end = lengthAt;
    this.#variable(length);
    this.#end += length;
  }

  #byte(value: number): void {
    this.#burst[this.#end++] = value;
  }
  #two(value: number): void {
    this.#end = this.#burst.writeUInt16BE(value, this.#end);
  }
  #variable(value: number): void {
    let rest = value;
    for (; rest >= 128; rest >>>= 7) this.#byte((rest & 127) | 128);
    this.#byte(rest);
  }
  #text(text: string): void {
    const length = this.#burst.write(text, this.#end + 2);
    this.#two(length);
    this.#end += length;
  }
  #bytes(bytes: Uint8Array): void {
    this.#burst.set(bytes, this.#end);
    this.#end += bytes.byteLength;
  }
}

/** For a packet of this many bytes in all: type byte, length bytes, remaining bytes. */
function remainingLength(bytes: number): number {
  let remaining = bytes - 2;
  while (1 + lengthBytes(remaining) + remaining > bytes) remaining -= 1;
  return remaining;
}

/** Exact bytes of the PUBLISH packet on the wire, as the broker counts them against its maximum packet size. */
export function publishPacketBytes(message: Message, version: 4 | 5): number {
  const { payload } = message;
  let remaining = 2 + Buffer.byteLength(message.topic) + (message.qos > 0 ? 2 : 0);
  remaining += typeof payload === "string" ? Buffer.byteLength(payload) : payload.byteLength;
  if (version === 5) {
    const properties = propertyBytes(message);
    remaining += lengthBytes(properties) + properties;
  }
  return 1 + lengthBytes(remaining) + remaining;
}

function propertyBytes(message: Message): number {
  let bytes = 0;
  if (message.contentType !== undefined) bytes += 3 + Buffer.byteLength(message.contentType);
  if (message.correlationData !== undefined) bytes += 3 + message.correlationData.byteLength;
  for (const name in message.userProperties) {
    const value = message.userProperties[name] ?? "";
    bytes += 5 + Buffer.byteLength(name) + Buffer.byteLength(value);
  }
  return bytes;
}

/** Bytes of a variable byte integer. */
function lengthBytes(value: number): number {
  return value < 128 ? 1 : value < 16_384 ? 2 : value < 2_097_152 ? 3 : 4;
}
