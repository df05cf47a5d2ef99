/** One session at an address of a broker, opened and closed at once: used by `doctor` and the set-up page. */
import { snippetOf } from "../core/failure.ts";
import type { SessionInfo } from "../core/link.ts";
import { publicUrl } from "../core/public-url.ts";
import type { AddressReport } from "../core/setup.ts";
import type { Uplink } from "../core/uplink.ts";
import type { MqttLinkOptions } from "../link/link-options.ts";
import { probeAddress } from "../link/probe-address.ts";
import { brokerOptions } from "./assemble.ts";

const CONNECT_MAX_MS = 20_000;

/**
 * With a client id of its own, so that a running agent keeps its session; nothing is published. @param suffix of that
 * client id
 */
export function trialOptions(uplink: Uplink, suffix: string): MqttLinkOptions {
  return {
    ...brokerOptions(uplink, `${uplink.clientId}-${suffix}`),
    name: "mqtt",
    connectTimeoutMs: CONNECT_MAX_MS,
  };
}

/** Null once aborted. */
export async function tryAddress(
  options: MqttLinkOptions,
  address: string,
  signal: AbortSignal,
): Promise<AddressReport | null> {
  const url = publicUrl(address);
  const result = await probeAddress(options, address, signal);
  if (signal.aborted) return null;
  if ("info" in result)
    return { url, ok: true, detail: `connected${limits(result.info, options.version)}` };
  const redact = (given: string) => options.redact?.(given) ?? given;
  const { text, brokerText = "" } = result.failure;
  const quoted =
    brokerText === "" ? "" : `; it sent: ${snippetOf(Buffer.from(brokerText), redact)}`;
  return { url, ok: false, detail: `${redact(text)}${quoted}` };
}

function limits(info: SessionInfo, version: 4 | 5): string {
  if (version === 4) return " (MQTT 3.1.1 announces no limits)";
  const { receiveMaximum, maximumPacketSize, retainAvailable } = info;
  const packet = maximumPacketSize === null ? "any size" : `${maximumPacketSize} bytes`;
  const inflight = receiveMaximum === null ? "65535" : String(receiveMaximum);
  const retain = retainAvailable ? "" : ", NO retained messages";
  return `; it accepts packets of ${packet}, ${inflight} in flight${retain}`;
}
