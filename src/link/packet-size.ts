import type { Message } from "../core/message.ts";

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
export function lengthBytes(value: number): number {
  return value < 128 ? 1 : value < 16_384 ? 2 : value < 2_097_152 ? 3 : 4;
}
