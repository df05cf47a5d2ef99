import type { Kind, Sensor } from "../sensor.ts";
import type { SiteMachine } from "../site-machines.ts";
import { renderTopic, type TopicFields, type TopicTemplates, templateText } from "./template.ts";
import { topicLevel } from "./topic-level.ts";

/** Every topic of the formats json and plain on one uplink (contract section 6, plant sections 10, 11 and 16). */
export interface Topics {
  /** `{prefix}/{site}`: agent topics, about and alarms are below it in spite of templates. */
  readonly root: string;
  readonly agentState: string;
  readonly agentStats: string;
  readonly agentGap: string;
  readonly agentEvent: string;
  readonly saveSettings: string;
  readonly acknowledge: string;
  readonly saveSettingsResult: string;
  /** Signed site and uplinks files (plant section 12). */
  readonly siteDocument: string;
  readonly siteDocumentResult: string;
  sensorState(sensor: string): string;
  about(sensor: string): string;
  alarm(sensor: string, alarm: string, value: string): string;
  reading(sensor: string, kind: Kind): string;
  history(sensor: string, kind: Kind): string;
  value(sensor: string, kind: Kind, value: string): string;
  waveform(sensor: string, channel: number): string;
  machine(machine: SiteMachine): string;
}

interface TopicRules {
  readonly templates: TopicTemplates;
  /** The sensor as it is now in the site file; undefined once it is removed. */
  sensor(code: string): Sensor | undefined;
}

const CONTRACT_TOPICS: TopicRules = { templates: {}, sensor: () => undefined };

/** `prefix` may have several levels: it is checked with the settings. */
export function createTopics(prefix: string, site: string, rules = CONTRACT_TOPICS): Topics {
  const root = `${prefix}/${topicLevel(site)}`;
  const of = (sensor: string) => `${root}/${topicLevel(sensor)}`;
  const { templates } = rules;
  const texts = {
    reading: templateText(templates, "reading"),
    history: templateText(templates, "history"),
    state: templateText(templates, "state"),
    waveform: templateText(templates, "waveform"),
    value: templateText(templates, "value"),
    machine: templateText(templates, "machine"),
  };
  const render = (
    text: string,
    code: string,
    more: Pick<TopicFields, "kind" | "channel" | "value">,
  ) => renderTopic(text, { prefix, site, code, sensor: rules.sensor(code), ...more });
  return {
    root,
    agentState: `${root}/agent/state`,
    agentStats: `${root}/agent/stats`,
    agentGap: `${root}/agent/gap`,
    agentEvent: `${root}/agent/event`,
    saveSettings: `${root}/agent/cmd/saveSettings`,
    acknowledge: `${root}/agent/cmd/acknowledge`,
    saveSettingsResult: `${root}/agent/cmd/saveSettings/result`,
    siteDocument: `${root}/agent/cmd/site`,
    siteDocumentResult: `${root}/agent/cmd/site/result`,
    about: (sensor) => `${of(sensor)}/about`,
    alarm: (sensor, alarm, value) =>
      `${of(sensor)}/alarm/${topicLevel(alarm)}/${topicLevel(value)}`,
    sensorState: (sensor) => render(texts.state, sensor, {}),
    reading: (sensor, kind) => render(texts.reading, sensor, { kind }),
    history: (sensor, kind) => render(texts.history, sensor, { kind }),
    value: (sensor, kind, value) => render(texts.value, sensor, { kind, value }),
    waveform: (sensor, channel) =>
      render(texts.waveform, sensor, { kind: "accel", channel: `channel${channel}` }),
    machine: (machine) => {
      const [sensor] = machine.sensors;
      return renderTopic(texts.machine, { prefix, site, code: "", sensor, machine });
    },
  };
}
