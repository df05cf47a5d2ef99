/** Every topic that an uplink publishes for a site, with its content: for `gateside topics` and the collision check. Pure. */
import { channelLabels, channelOfValue } from "../channel-labels.ts";
import { publishedChannels } from "../convert/accel.ts";
import { type KindValue, kindValues } from "../kind-values.ts";
import { type Kind, readingKinds, type Sensor } from "../sensor.ts";
import { type Site } from "../site.ts";
import { topicLevel } from "../topic-level.ts";
import { createSelector, type Selector, type Uplink } from "../uplink.ts";
import {
  AGENT_ENTITIES,
  componentOf,
  type DiscoveryComponent,
  discoveryId,
  discoveryNode,
  discoveryTopic,
} from "./discovery.ts";
import { createTopics, type Topics } from "./topics.ts";

export interface PublishedTopic {
  readonly format: "json" | "plain" | "sparkplug";
  /** As it is sent; with names in braces if a level is only known at run time (alarms). */
  readonly topic: string;
  /** The content in words: two different streams must not share a topic. */
  readonly stream: string;
  readonly sensor: string | null;
  readonly kind: Kind | null;
  /**
   * Position of the value in the payload (JSON members, a Sparkplug metric's name); null if the payload is only the
   * value.
   */
  readonly path: string | null;
  readonly value: string | null;
  /** The channel's name and axis in the site file. */
  readonly name: string | null;
  readonly axis: string | null;
  readonly type: "json" | "number" | "boolean" | "string" | "bytes";
  readonly unit: string | null;
  /** Lowest and highest value of the configured range. */
  readonly range: readonly [number, number] | null;
  readonly qos: 0 | 1;
  readonly retained: boolean;
}

/** `documents`: signed configurations are accepted, and answered. `alarms`: ALARMS_ENABLED, default true. */
export type TopicPlan = { readonly documents?: boolean; readonly alarms?: boolean } & Pick<
  Uplink,
  | "formats"
  | "profile"
  | "topicPrefix"
  | "topics"
  | "select"
  | "history"
  | "waveforms"
  | "retain"
  | "commands"
  | "sparkplug"
  | "clientId"
>;

type TopicRow = Partial<PublishedTopic> & Pick<PublishedTopic, "format" | "topic" | "stream">;

const row = (given: TopicRow): PublishedTopic => ({
  sensor: null,
  kind: null,
  path: null,
  value: null,
  name: null,
  axis: null,
  type: "json",
  unit: null,
  range: null,
  qos: 1,
  retained: false,
  ...given,
});

/** In the order of the site file, the agent's own first. */
export function publishedTopics(plan: TopicPlan, site: Site): PublishedTopic[] {
  const select = createSelector(plan.select, site.sensors);
  const isAbout = (sensor: Sensor) =>
    readingKinds(sensor).some((kind) => select.includes(sensor.code, kind));
  const sensors = site.sensors.filter(isAbout);
  const hasSession = plan.formats.some((format) => format !== "sparkplug");
  return [
    ...(hasSession ? sessionTopics(plan, site, sensors, select) : []),
    ...(plan.sparkplug === null ? [] : sparkplugTopics(plan, plan.sparkplug, site, sensors)),
  ];
}

function sessionTopics(
  plan: TopicPlan,
  site: Site,
  sensors: readonly Sensor[],
  select: Selector,
): PublishedTopic[] {
  if (plan.profile === "thingsboard") return fixedTopics(THINGSBOARD, sensors, select);
  if (plan.profile === "azure-iot")
    return fixedTopics([[`devices/${plan.clientId}/messages/events/`, "everything"]], [], select);
  const byCode = new Map(sensors.map((sensor) => [sensor.code, sensor]));
  const topics = createTopics(plan.topicPrefix, site.site, {
    templates: plan.topics,
    sensor: (code) => byCode.get(code),
  });
  const own = [
    ...agentTopics(plan, topics),
    ...sensors.flatMap((sensor) => sensorTopics(plan, topics, sensor, select)),
    ...(plan.profile === "homeassistant" ? discoveryTopics(site, sensors, select) : []),
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

/** A value of a reading with the site file's data on its channel. */
function described(sensor: Sensor, kind: Kind, select: Selector) {
  const labels = channelLabels(sensor, kind);
  const values = kindValues(sensor, kind).filter(
    ({ name }) => select.value === null || select.value(name),
  );
  return values.map(({ name, unit, type, range }: KindValue) => {
    const label = labels?.[channelOfValue(kind, name) ?? ""];
    return {
      value: name,
      unit,
      type,
      range: range ?? null,
      name: label?.name ?? null,
      axis: label?.axis ?? null,
    };
  });
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

/** The messages that announce the box and every value to Home Assistant. */
function discoveryTopics(
  { site }: Site,
  sensors: readonly Sensor[],
  select: Selector,
): PublishedTopic[] {
  const agent = Object.entries(AGENT_ENTITIES).map(
    ([objectId, component]: [string, DiscoveryComponent]) =>
      row({
        format: "json",
        topic: discoveryTopic(component, discoveryNode(site), objectId),
        stream: `discovery of the agent's ${objectId}`,
        retained: true,
      }),
  );
  const values = sensors.flatMap((sensor) =>
    readingKinds(sensor)
      .filter((kind) => select.includes(sensor.code, kind))
      .flatMap((kind) =>
        described(sensor, kind, select).map(({ value, type }) =>
          row({
            format: "json",
            topic: discoveryTopic(
              componentOf(type),
              discoveryNode(site, sensor.code),
              discoveryId(kind, value),
            ),
            stream: `discovery of ${value} of ${sensor.code} ${kind}`,
            sensor: sensor.code,
            kind,
            retained: true,
          }),
        ),
      ),
  );
  return [...agent, ...values];
}

/** docs/mqtt.md "Profiles" cites their documentation. */
const THINGSBOARD: readonly (readonly [topic: string, stream: string])[] = [
  ["v1/gateway/connect", "sensors that are connected"],
  ["v1/gateway/disconnect", "sensors that are disconnected"],
  ["v1/gateway/attributes", "descriptions and states of the sensors"],
  ["v1/gateway/telemetry", "readings"],
  ["v1/devices/me/attributes", "the agent's state"],
  ["v1/devices/me/telemetry", "the agent's statistics, gaps"],
];

/** Platforms with fixed topics; their messages contain the sensor. */
function fixedTopics(
  topics: readonly (readonly [topic: string, stream: string])[],
  sensors: readonly Sensor[],
  select: Selector,
): PublishedTopic[] {
  const readings = sensors.flatMap((sensor) =>
    readingKinds(sensor)
      .filter((kind) => select.includes(sensor.code, kind))
      .flatMap((kind) =>
        described(sensor, kind, select).map((value) =>
          row({
            format: "json",
            topic: "v1/gateway/telemetry",
            stream: "readings",
            sensor: sensor.code,
            kind,
            ...value,
            path: `${sensor.code}[].values.${value.value}`,
          }),
        ),
      ),
  );
  return [...topics.map(([topic, stream]) => row({ format: "json", topic, stream })), ...readings];
}

function sparkplugTopics(
  plan: TopicPlan,
  { group, node }: NonNullable<Uplink["sparkplug"]>,
  site: Site,
  sensors: readonly Sensor[],
): PublishedTopic[] {
  const select = createSelector(plan.select, site.sensors);
  const of = { format: "sparkplug", type: "bytes", qos: 0 } as const;
  const nodeTopics = ["NBIRTH", "NDATA", "NDEATH"].map((verb) =>
    row({ ...of, topic: `spBv1.0/${group}/${verb}/${node}`, stream: `${verb} of ${node}` }),
  );
  const deviceTopics = sensors.flatMap((sensor) => {
    const topicOf = (verb: string) =>
      `spBv1.0/${group}/${verb}/${node}/${topicLevel(sensor.code.trim())}`;
    const messages = ["DBIRTH", "DDATA", "DDEATH"].map((verb) =>
      row({
        ...of,
        topic: topicOf(verb),
        stream: `${verb} of ${sensor.code}`,
        sensor: sensor.code,
      }),
    );
    const ddata = {
      ...of,
      topic: topicOf("DDATA"),
      stream: `DDATA of ${sensor.code}`,
      sensor: sensor.code,
    };
    const metrics = readingKinds(sensor)
      .filter((kind) => select.includes(sensor.code, kind))
      .flatMap((kind) =>
        described(sensor, kind, select).map((value) =>
          row({ ...ddata, kind, ...value, path: `${kind}/${value.value}` }),
        ),
      );
    const hasWaveforms = sensor.kinds.includes("accel") && plan.waveforms !== "never";
    const waveforms = hasWaveforms ? publishedChannels(sensor, true) : [];
    return [
      ...messages,
      ...metrics,
      ...waveforms.map(({ number, axis }) =>
        row({
          ...ddata,
          kind: "accel",
          path: `accel/waveform/channel${number}`,
          value: `channel${number}`,
          axis,
          unit: "G",
        }),
      ),
    ];
  });
  return [...nodeTopics, ...deviceTopics];
}
