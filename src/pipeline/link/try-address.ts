/** One session at an address of a broker, opened and closed at once: used by `doctor` and the set-up page. */

import { publicUrl } from "../../core/addresses/public-url.ts";
import type { AddressReport } from "../../core/configuration/setup.ts";
import type { SessionInfo } from "../../core/delivery/link.ts";
import { snippetOf } from "../../core/failure.ts";
import type { Message } from "../../core/message.ts";
import type { MqttLinkOptions } from "./link-options.ts";
import { probeAddress } from "./probe-address.ts";
import { publishResult } from "./publish-result.ts";

/** Publishes the message if there is one. Null once aborted. */
export async function tryAddress(
  options: MqttLinkOptions,
  address: string,
  signal: AbortSignal,
  message: Message | null = null,
): Promise<AddressReport | null> {
  const url = publicUrl(address);
  const result = await probeAddress(options, address, signal, message);
  if (signal.aborted) return null;
  if ("info" in result) {
    const connected = `connected${limits(result.info, options.version)}`;
    if (message === null) return { url, ok: true, detail: connected };
    const { published, isReadBack } = result;
    const { ok, detail } = publishResult(message, published, options, isReadBack);
    if (isReadBack === false && message.payload.length > SMALL.length) {
      // Which of the two it is: the right to publish, or the size.
      const small = await tryAddress(options, address, signal, { ...message, payload: SMALL });
      if (small?.ok)
        return { url, ok: false, detail: `${connected}; ${tooLarge(message.payload.length)}` };
    }
    return { url, ok, detail: `${connected}; ${detail}` };
  }
  const redact = (given: string) => options.redact?.(given) ?? given;
  const { text, brokerText = "" } = result.failure;
  const quoted =
    brokerText === "" ? "" : `; it sent: ${snippetOf(Buffer.from(brokerText), redact)}`;
  return { url, ok: false, detail: `${redact(text)}${quoted}` };
}

const SMALL = "{}";

const tooLarge = (bytes: number) =>
  `the broker drops a publish of ${bytes} bytes although it acknowledges it, and delivers small ones: raise its limit (mosquitto: max_packet_size, message_size_limit; EMQX: mqtt.max_packet_size; RabbitMQ: mqtt.max_packet_size_authenticated), or set PUBLISH_WAVEFORMS=never`;

function limits(info: SessionInfo, version: 4 | 5): string {
  if (version === 4) return " (MQTT 3.1.1 announces no limits)";
  const { receiveMaximum, maximumPacketSize, retainAvailable } = info;
  const packet = maximumPacketSize === null ? "any size" : `${maximumPacketSize} bytes`;
  const inflight = receiveMaximum === null ? "65535" : String(receiveMaximum);
  const retain = retainAvailable ? "" : ", NO retained messages";
  return `; it accepts packets of ${packet}, ${inflight} in flight${retain}`;
}
