/** The publish with which `doctor` tries an uplink: a session that lives may still have its publishes refused. */
import { hasFixedTopics } from "../config/profiles.ts";
import type { PublishTrial } from "../core/agent-status.ts";
import type { Message } from "../core/message.ts";
import type { Site } from "../core/site.ts";
import { createTopics } from "../core/topics/topics.ts";
import { clientIdsOf, type Uplink } from "../core/uplink.ts";
import type { Destination } from "../features/sessions.ts";
import { publishResult } from "../pipeline/link/publish-result.ts";

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
