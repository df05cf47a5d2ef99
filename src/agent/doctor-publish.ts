/** The publish with which `doctor` tries an uplink: a session that lives may still have its publishes refused. */
import { hasFixedTopics } from "../config/profiles.ts";
import type { PublishTrial } from "../core/agent-status.ts";
import type { Message, PublishOutcome } from "../core/message.ts";
import { reasonName } from "../core/reason-names.ts";
import type { Site } from "../core/site.ts";
import { createTopics } from "../core/topics/topics.ts";
import { clientIdsOf, type Uplink } from "../core/uplink.ts";
import type { Destination } from "../features/feature.ts";
import { refusalRemedy } from "../pipeline/link/refusals.ts";

const NO_SUBSCRIBER = 0x10;

/** Whether topics of ours are published there, `agent/state` among them. */
export function hasAgentState(uplink: Uplink): boolean {
  return !hasFixedTopics(uplink.profile) && clientIdsOf(uplink).mqtt !== null;
}

/** Null if the uplink has no such topic. */
export function doctorMessage(uplink: Uplink, { site }: Pick<Site, "site">): Message | null {
  if (!hasAgentState(uplink)) return null;
  const { topicPrefix } = uplink;
  const topic = `${createTopics(topicPrefix, site).agentState}/doctor`;
  return { topic, payload: "{}", qos: 1, retain: false, contentType: "application/json" };
}

/** As large as any that is expected: MQTT 3.1.1 does not say what a broker accepts. */
export function largestMessage(
  message: Message,
  { waveforms, formats }: Pick<Uplink, "formats" | "waveforms">,
  { sensors }: Pick<Site, "sensors">,
): Message {
  const hasWaveforms =
    waveforms !== "never" &&
    formats.includes("json") &&
    sensors.some(({ kinds }) => kinds.includes("accel"));
  const padding = "0".repeat(hasWaveforms ? WAVEFORM_BYTES : READING_BYTES);
  return { ...message, payload: JSON.stringify({ padding }) };
}

/** 16,384 samples of an axis. */
const WAVEFORM_BYTES = 90_000;
const READING_BYTES = 4_000;

/**
 * @param outcome null: there was no acknowledgement in time
 * @param isReadBack null: that was not tried
 */
export function publishResult(
  { topic, payload }: Message,
  outcome: PublishOutcome | null,
  { clientId, version }: Pick<Uplink, "clientId" | "version">,
  isReadBack: boolean | null = null,
): Pick<PublishTrial, "ok" | "detail"> {
  const failed = (detail: string) => ({ ok: false, detail });
  switch (outcome?.result) {
    case "delivered":
      if (isReadBack === true)
        return {
          ok: true,
          detail: `a publish of ${payload.length} bytes to ${topic} was acknowledged and read back`,
        };
      if (isReadBack === false)
        return failed(
          `a publish of ${payload.length} bytes to ${topic} was acknowledged, but did not come back: MQTT 3.1.1 acknowledges what the broker drops. Give this client the right to publish and to read there`,
        );
      return {
        ok: true,
        detail: `a publish to ${topic} was acknowledged${version === 4 ? ", but MQTT 3.1.1 acknowledges refused publishes, too: see with a subscriber that it arrives, or use MQTT 5" : ""}`,
      };
    case "refused": {
      const { code } = outcome;
      if (code === NO_SUBSCRIBER)
        return { ok: true, detail: `a publish to ${topic} was acknowledged; nobody subscribes` };
      const remedy = refusalRemedy(code, clientId);
      return failed(`a publish to ${topic} is refused (${reasonName(code)}): ${remedy}`);
    }
    case "oversize":
      return failed(
        `a publish of ${outcome.bytes} bytes exceeds the broker's limit of ${outcome.limitBytes}`,
      );
    case "lost":
    case undefined:
      return failed(
        `a publish to ${topic} was not acknowledged; some brokers end the session if rights are missing`,
      );
  }
}

/** Through the running session; where there is nothing to publish, whether it is up. */
export async function tryDestination(
  uplink: Uplink,
  destination: Destination,
  message: Message | null,
  ended: Promise<null>,
): Promise<PublishTrial> {
  const { state } = destination;
  const trial = { uplink: uplink.name, url: state.url };
  if (!state.isConnected) {
    const detail = `the running agent has no session: ${state.lastError ?? "not connected yet"}`;
    return { ...trial, ok: false, detail };
  }
  // Before the publish, which may be refused by rules that name each of our topics but this one.
  const { refused } = state;
  const published =
    message === null || destination.publish === undefined
      ? null
      : publishResult(message, await Promise.race([destination.publish(message), ended]), uplink);
  if (refused) {
    const now = published?.ok ? `; ${published.detail}` : "";
    return { ...trial, ok: false, detail: `${refused.text}${now}` };
  }
  return { ...trial, ...(published ?? { ok: true, detail: "its session is up" }) };
}
