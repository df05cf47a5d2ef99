import type { InboundMessage, SessionInfo } from "../../core/delivery/link.ts";
import type { Message, PublishOutcome } from "../../core/message.ts";
import { inOperatorWords, type LinkFailure } from "./link-errors.ts";
import type { MqttLinkOptions } from "./link-options.ts";
import { MqttSession } from "./mqtt-session.ts";
import { publishPacketBytes } from "./publish-writer.ts";

const DISCONNECT_MS = 1_000;

const PUBLISH_MS = 8_000;
/** After its acknowledgement. */
const READ_BACK_MS = 3_000;
/** Brokers send what is retained at once after a subscription. */
const RETAINED_MS = 2_000;

/** The result of one attempt at one address; `published` null: nothing was, or there was no acknowledgement in time. */
export type ProbeResult =
  | {
      readonly info: SessionInfo;
      readonly published: PublishOutcome | null;
      /** Whether it came back; null where that was not tried: MQTT 5 says what it refuses, or this client may not subscribe. */
      readonly isReadBack: boolean | null;
    }
  | { readonly failure: LinkFailure };

/** What a probe does in its session; `leave` ends it. */
interface Visit {
  open(session: MqttSession, leave: () => void): void;
  received?(message: InboundMessage, leave: () => void): void;
}

/**
 * Opens one session at an address, without a will, publishes the message if there is one, and closes it at once. MQTT 3.1.1
 * acknowledges what it drops: there the message is read back. Never rejects; aborting stops the attempt.
 */
export async function probeAddress(
  options: MqttLinkOptions,
  url: string,
  signal: AbortSignal,
  message: Message | null = null,
): Promise<ProbeResult> {
  let published: PublishOutcome | null = null;
  let isReadBack: boolean | null = null;
  const seen = await visit(options, url, signal, PUBLISH_MS, {
    open(session, leave) {
      if (message === null) return leave();
      const publish = () =>
        session.send(message, publishPacketBytes(message, options.version), (outcome) => {
          published ??= outcome;
          if (isReadBack !== false || outcome.result !== "delivered") leave();
          else setTimeout(leave, READ_BACK_MS).unref();
        });
      if (options.version === 5) return publish();
      void session.subscribe([{ topic: message.topic, qos: 1 }]).then((refused) => {
        if (session.isOpen && refused.length === 0) isReadBack = false;
        publish();
      });
    },
    received({ topic, payload }, leave) {
      if (topic !== message?.topic || payload.length !== message.payload.length) return;
      isReadBack = true;
      if (published !== null) leave();
    },
  });
  return "info" in seen ? { ...seen, published, isReadBack } : seen;
}

/** The same, for what is retained on a topic: null for nothing. A subscription that the broker denies is a failure. */
export async function readRetained(
  options: MqttLinkOptions,
  url: string,
  signal: AbortSignal,
  topic: string,
): Promise<{ readonly payload: Uint8Array | null } | { readonly failure: LinkFailure }> {
  let payload: Uint8Array | null = null;
  let isGranted = false;
  const seen = await visit(options, url, signal, RETAINED_MS, {
    open: (session, leave) =>
      void session.subscribe([{ topic, qos: 1 }]).then((refused) => {
        // A broker may also end the session instead of an answer.
        isGranted = session.isOpen && refused.length === 0;
        if (!isGranted) leave();
      }),
    received(message, leave) {
      if (message.topic === topic) payload = message.payload;
      leave();
    },
  });
  if ("failure" in seen) return seen;
  if (payload !== null || isGranted) return { payload };
  const text = `the broker denies this client the subscription to ${topic}`;
  return { failure: { text, needsHands: true } };
}

async function visit(
  options: MqttLinkOptions,
  url: string,
  signal: AbortSignal,
  staysMs: number,
  { open, received }: Visit,
): Promise<{ readonly info: SessionInfo } | { readonly failure: LinkFailure }> {
  const session = new MqttSession(options, url, { isolate: false, retain: true });
  const stop = () => session.abort("stopped");
  let info: SessionInfo | null = null;
  const leave = () => void session.disconnect(DISCONNECT_MS, false, null);
  let giveUp: NodeJS.Timeout | undefined;
  const ending = session.run(null, {
    onConnectSent: () => {},
    onMessage: (message) => received?.(message, leave),
    onOpen() {
      info = session.info(1);
      giveUp = setTimeout(leave, staysMs);
      open(session, leave);
    },
  });
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  const { failure } = await ending;
  clearTimeout(giveUp);
  signal.removeEventListener("abort", stop);
  if (info !== null) return { info };
  if (failure === null) return { failure: { text: "no session", needsHands: false } };
  return { failure: { ...failure, text: inOperatorWords(failure.text, options) } };
}
