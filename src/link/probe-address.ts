import type { SessionInfo } from "../core/link.ts";
import { inUplinkWords, type LinkFailure } from "./link-errors.ts";
import type { MqttLinkOptions } from "./link-options.ts";
import { MqttSession } from "./mqtt-session.ts";

const DISCONNECT_MS = 1_000;

/** The result of one attempt at one address. */
export type ProbeResult = { readonly info: SessionInfo } | { readonly failure: LinkFailure };

/** Opens one session at an address, without a will, and closes it at once. Never rejects; aborting stops the attempt. */
export async function probeAddress(
  options: MqttLinkOptions,
  url: string,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const session = new MqttSession(options, url, { isolate: false, retain: true });
  const stop = () => session.abort("stopped");
  let info: SessionInfo | null = null;
  const ending = session.run(null, {
    onConnectSent: () => {},
    onMessage: () => {},
    onOpen() {
      info = session.info(1);
      void session.disconnect(DISCONNECT_MS, false, null);
    },
  });
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  const { failure } = await ending;
  signal.removeEventListener("abort", stop);
  if (info !== null) return { info };
  if (failure === null) return { failure: { text: "no session", needsHands: false } };
  const { uplink } = options;
  return {
    failure:
      uplink === undefined ? failure : { ...failure, text: inUplinkWords(failure.text, uplink) },
  };
}
