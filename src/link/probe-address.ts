import type { SessionInfo } from "../core/link.ts";
import type { Message, PublishOutcome } from "../core/message.ts";
import { inOperatorWords, type LinkFailure } from "./link-errors.ts";
import type { MqttLinkOptions } from "./link-options.ts";
import { MqttSession } from "./mqtt-session.ts";
import { publishPacketBytes } from "./packet-size.ts";

const DISCONNECT_MS = 1_000;

const PUBLISH_MS = 8_000;

/** The result of one attempt at one address; `published` null: nothing was, or there was no acknowledgement in time. */
export type ProbeResult =
  | { readonly info: SessionInfo; readonly published: PublishOutcome | null }
  | { readonly failure: LinkFailure };

/**
 * Opens one session at an address, without a will, publishes the message if there is one, and closes it at once. Never
 * rejects; aborting stops the attempt.
 */
export async function probeAddress(
  options: MqttLinkOptions,
  url: string,
  signal: AbortSignal,
  message: Message | null = null,
): Promise<ProbeResult> {
  const session = new MqttSession(options, url, { isolate: false, retain: true });
  const stop = () => session.abort("stopped");
  let info: SessionInfo | null = null;
  let published: PublishOutcome | null = null;
  const leave = () => void session.disconnect(DISCONNECT_MS, false, null);
  let giveUp: NodeJS.Timeout | undefined;
  const ending = session.run(null, {
    onConnectSent: () => {},
    onMessage: () => {},
    onOpen() {
      info = session.info(1);
      if (message === null) return leave();
      giveUp = setTimeout(leave, PUBLISH_MS);
      session.send(message, publishPacketBytes(message, options.version), (outcome) => {
        published ??= outcome;
        leave();
      });
    },
  });
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  const { failure } = await ending;
  clearTimeout(giveUp);
  signal.removeEventListener("abort", stop);
  if (info !== null) return { info, published };
  if (failure === null) return { failure: { text: "no session", needsHands: false } };
  return { failure: { ...failure, text: inOperatorWords(failure.text, options) } };
}
