import type { Kind } from "../core/sensor.ts";

/** `+ # /`, control characters, and halves of surrogate pairs, which have no UTF-8 form. */
const UNSAFE = /[+#/]|\p{Control}|\p{Surrogate}/gu;

/** A code or name as one topic level (contract 6). */
export function topicLevel(text: string): string {
  return text.replace(UNSAFE, "_");
}

/** Every topic of the formats json and plain (contract 6). */
export interface Topics {
  readonly agentState: string;
  readonly agentStats: string;
  readonly agentGap: string;
  readonly saveSettings: string;
  readonly saveSettingsResult: string;
  sensorState(sensor: string): string;
  reading(sensor: string, kind: Kind): string;
  history(sensor: string, kind: Kind): string;
  value(sensor: string, kind: Kind, value: string): string;
  waveform(sensor: string, channel: number): string;
}

/** `prefix` may have several levels: MQTT_TOPIC_PREFIX is checked where settings are. */
export function createTopics(prefix: string, site: string): Topics {
  const root = `${prefix}/${topicLevel(site)}`;
  const of = (sensor: string) => `${root}/${topicLevel(sensor)}`;
  return {
    agentState: `${root}/agent/state`,
    agentStats: `${root}/agent/stats`,
    agentGap: `${root}/agent/gap`,
    saveSettings: `${root}/agent/cmd/saveSettings`,
    saveSettingsResult: `${root}/agent/cmd/saveSettings/result`,
    sensorState: (sensor) => `${of(sensor)}/state`,
    reading: (sensor, kind) => `${of(sensor)}/${kind}`,
    history: (sensor, kind) => `${of(sensor)}/${kind}/history`,
    value: (sensor, kind, value) => `${of(sensor)}/${kind}/${topicLevel(value)}`,
    waveform: (sensor, channel) => `${of(sensor)}/waveform/channel${channel}`,
  };
}
