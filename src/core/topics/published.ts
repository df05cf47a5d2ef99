/** Every topic that an uplink publishes for a site, with its content: for `gateside topics` and the collision check. Pure. */

import { publishedChannels } from "../../pipeline/convert/accel.ts";
import { type Kind, readingKinds, type Sensor } from "../sensor.ts";
import { channelLabels } from "../sensors/channel-labels.ts";
import type { Site } from "../site.ts";
import { createSelector, type Selector } from "../uplink.ts";
import { machineTopics, planMachines } from "./published-machines.ts";
import {
  described,
  type FormatTopics,
  type PlatformOf,
  type PublishedTopic,
  row,
  type TopicPlan,
} from "./published-row.ts";
import { topicLevel } from "./topic-level.ts";
import { createTopics, type Topics } from "./topics.ts";

/** In the order of the site file, the agent's own first. @param formats of sessions of their own; by default none */
export function publishedTopics(
  plan: TopicPlan,
  site: Site,
  platformOf: PlatformOf,
  formats: readonly FormatTopics[] = [],
): PublishedTopic[] {
  const select = createSelector(plan.select, site.sensors);
  const isAbout = (sensor: Sensor) =>
    readingKinds(sensor).some((kind) => select.includes(sensor.code, kind));
  const sensors = site.sensors.filter(isAbout);
  const hasSession = plan.formats.some((format) => format !== "sparkplug");
  return [
    ...(hasSession ? sessionTopics(plan, site, sensors, select, platformOf) : []),
    ...formats.flatMap((topicsOf) => topicsOf(plan, site, sensors)),
  ];
}

function sessionTopics(
  plan: TopicPlan,
  site: Site,
  sensors: readonly Sensor[],
  select: Selector,
  platformOf: PlatformOf,
): PublishedTopic[] {
  const platform = platformOf(plan.profile);
  if (platform?.fixed !== undefined)
    return platform.fixed(plan, site, sensors, select, planMachines(plan, site));
  const byCode = new Map(sensors.map((sensor) => [sensor.code, sensor]));
  const topics = createTopics(plan.topicPrefix, site.site, {
    templates: plan.topics,
    sensor: (code) => byCode.get(code),
  });
  const own = [
    ...agentTopics(plan, topics),
    ...machineTopics(plan, topics, site, platform),
    ...sensors.flatMap((sensor) => sensorTopics(plan, topics, sensor, select)),
    ...(platform?.beside?.(site, sensors, select) ?? []),
  ];
  return own.map((one) => (plan.retain ? one : { ...one, retained: false }));
}

/** Events and active alarms are published with the format json. */
const hasAlarms = ({ alarms, formats }: TopicPlan) => alarms !== false && formats.includes("json");

function agentTopics(plan: TopicPlan, topics: Topics): PublishedTopic[] {
  const json = (topic: string, stream: string, retained: boolean) =>
    row({ format: "json", topic, stream, retained });
  return [
    json(topics.agentState, "the agent's state", true),
    json(topics.agentStats, "the agent's statistics", true),
    json(topics.agentGap, "dropped readings", false),
    ...(hasAlarms(plan) ? [json(topics.agentEvent, "alarm events", false)] : []),
    ...(plan.commands ? [json(topics.saveSettingsResult, "results of commands", false)] : []),
    ...(plan.commands && plan.alarms !== false
      ? [json(`${topics.acknowledge}/result`, "results of alarm actions", false)]
      : []),
    ...(plan.documents
      ? [json(topics.siteDocumentResult, "results of signed configurations", false)]
      : []),
  ];
}

function sensorTopics(
  plan: TopicPlan,
  topics: Topics,
  sensor: Sensor,
  select: Selector,
): PublishedTopic[] {
  const { code } = sensor;
  const of = { sensor: code, format: "json" } as const;
  const kinds = readingKinds(sensor).filter((kind) => select.includes(code, kind));
  return [
    row({ ...of, topic: topics.sensorState(code), stream: `state of ${code}`, retained: true }),
    row({ ...of, topic: topics.about(code), stream: `about ${code}`, retained: true }),
    ...(hasAlarms(plan)
      ? [
          row({
            ...of,
            topic: `${topics.root}/${topicLevel(code)}/alarm/{alarm}/{value}`,
            stream: `alarms of ${code}`,
            retained: true,
          }),
        ]
      : []),
    ...kinds.flatMap((kind) => [
      ...(plan.formats.includes("json") ? jsonTopics(plan, topics, sensor, kind, select) : []),
      ...(plan.formats.includes("plain") ? plainTopics(topics, sensor, kind, select) : []),
    ]),
  ];
}

function jsonTopics(
  plan: TopicPlan,
  topics: Topics,
  sensor: Sensor,
  kind: Kind,
  select: Selector,
): PublishedTopic[] {
  const { code } = sensor;
  const of = { sensor: code, kind, format: "json" } as const;
  const live = {
    ...of,
    topic: topics.reading(code, kind),
    stream: `live readings of ${code} ${kind}`,
    retained: true,
  };
  const values = described(sensor, kind, select);
  const waveforms =
    kind === "accel" && plan.waveforms !== "never" ? publishedChannels(sensor, true) : [];
  const labels = channelLabels(sensor, kind);
  return [
    row(live),
    ...values.map((value) => row({ ...live, ...value, path: `values.${value.value}` })),
    ...(plan.history
      ? [
          row({
            ...of,
            topic: topics.history(code, kind),
            stream: `history of ${code} ${kind}`,
          }),
        ]
      : []),
    ...waveforms.map(({ number, axis }) =>
      row({
        ...of,
        topic: topics.waveform(code, number),
        stream: `waveforms of ${code} channel${number}`,
        value: `channel${number}`,
        name: labels?.[`channel${number}`]?.name ?? null,
        axis,
        unit: "G",
      }),
    ),
  ];
}

function plainTopics(
  topics: Topics,
  sensor: Sensor,
  kind: Kind,
  select: Selector,
): PublishedTopic[] {
  return described(sensor, kind, select).map((value) =>
    row({
      format: "plain",
      sensor: sensor.code,
      kind,
      ...value,
      topic: topics.value(sensor.code, kind, value.value),
      stream: `value ${value.value} of ${sensor.code} ${kind}`,
      retained: true,
    }),
  );
}
