import { isEvent } from "../../../core/delivery/event-kind.ts";
import type { Message } from "../../../core/message.ts";
import { readingKinds, type Sensor } from "../../../core/sensor.ts";
import { kindValues } from "../../../core/sensors/kind-values.ts";
import { aboutPayload } from "./about.ts";
import { eventMessages } from "./alarm-messages.ts";
import type { Encode } from "./encoder.ts";
import { createJsonEncoder } from "./json.ts";
import { createSiteTopics } from "./naming.ts";
import { createPlainEncoder } from "./plain.ts";
import {
  agentStatePayload,
  gapPayload,
  type PublishedAgentState,
  sensorStatePayload,
  statsPayload,
} from "./presence-payloads.ts";
import type { PayloadProfile, ProfileOptions, ProfileParts } from "./profile.ts";
import { createWaveformEncoder } from "./waveform.ts";

/** Nothing to send in this lane. */
export const encodeNothing: Encode = () => [];

/** Contract section 6: the agent's own topics and payloads. */
export function createGatesideProfile(
  parts: ProfileParts,
  options: ProfileOptions,
): PayloadProfile {
  const { site, version, instance, run, retain, formats, waveforms } = options;
  const topics = createSiteTopics(options);
  const encodeReading = createJsonEncoder(options);
  const json = (topic: string, payload: string, retained: boolean): Message => ({
    topic,
    payload,
    qos: 1,
    retain: retained && retain,
    contentType: "application/json",
  });
  const kindsOf = (sensor: Sensor) =>
    readingKinds(sensor).filter((kind) => options.isChosen?.(sensor.code, kind) ?? true);
  const agentState = (word: PublishedAgentState) =>
    json(topics.agentState, agentStatePayload(site, word, version, instance, run), true);
  return {
    topics,
    takesCommands: true,
    encode: {
      json: (entry) =>
        isEvent(entry.reading)
          ? eventMessages(topics, entry.reading, retain)
          : encodeReading(entry),
      plain: createPlainEncoder(options),
      waveform:
        waveforms === "never"
          ? encodeNothing
          : createWaveformEncoder(parts.waveforms, { ...options, which: waveforms }),
    },
    will: agentState,
    agentState: (word) => [agentState(word)],
    stats: (status) => [json(topics.agentStats, statsPayload(site, status, run), true)],
    gap: (gap) => [json(topics.agentGap, gapPayload(site, gap), false)],
    sensorState: (state) => [
      json(topics.sensorState(state.code), sensorStatePayload(site, state), true),
    ],
    describe: (sensor) => [
      json(topics.about(sensor.code), aboutPayload(site, sensor, options.compact), true),
    ],
    describeAgent: () => [],
    farewell: () => [],
    retainedTopics: (sensor) => ({
      state: retain ? [topics.sensorState(sensor.code)] : [],
      descriptions: retain ? [topics.about(sensor.code)] : [],
      readings: (retain && formats.includes("json") ? kindsOf(sensor) : []).map((kind) =>
        topics.reading(sensor.code, kind),
      ),
      values: (retain && formats.includes("plain") ? kindsOf(sensor) : []).flatMap((kind) =>
        kindValues(sensor, kind).map(({ name }) => topics.value(sensor.code, kind, name)),
      ),
    }),
    marker: retain ? topics.agentState : null,
    subscriptions: [],
    wantsDescriptions: () => false,
  };
}
