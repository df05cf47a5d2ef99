/** Faults in the topics of an uplink, once they are made from a site's sensors. Pure. */
import type { Site } from "../site.ts";
import { longestSite } from "./longest-site.ts";
import { publishedTopics } from "./published.ts";
import type { FormatTopics, PlatformOf, PublishedTopic, TopicPlan } from "./published-row.ts";
import { topicLevel } from "./topic-level.ts";
import { createTopics } from "./topics.ts";

export interface TopicFault {
  readonly problem: string;
  readonly remedy: string;
}

/** One wrong template affects the topics of every sensor; the first few are enough. */
const FAULTS_MAX = 20;
/** AMQP 0-9-1: the length of a routing key is one byte. */
const AMQP_TOPIC_BYTES_MAX = 255;
/** MQTT 5 section 1.5.4: the length of a text is two bytes. */
const TOPIC_BYTES_MAX = 65_535;
const SPARKPLUG_NAMESPACE = "spBv1.0";

const isFixed = ({ profile }: TopicPlan, platformOf: PlatformOf) =>
  platformOf(profile)?.fixed !== undefined;

/** Two streams on one topic, topics of ours that templates collide with, and topics that the platform rejects. */
export function topicFaults(plan: TopicPlan, site: Site, platformOf: PlatformOf): TopicFault[] {
  if (isFixed(plan, platformOf)) return [];
  const rows = publishedTopics(plan, site, platformOf);
  const faults = [
    ...sharedTopics(rows),
    ...reservedTopics(plan, site, rows),
    ...sparkplugTopics(rows),
    ...longTopics(plan, rows, platformOf),
  ];
  if (faults.length <= FAULTS_MAX) return faults;
  const more = faults.length - FAULTS_MAX;
  return [
    ...faults.slice(0, FAULTS_MAX),
    {
      problem: `and ${more} more topics with the same problem`,
      remedy: "correct the template first",
    },
  ];
}

/** Of two uplinks on one broker: topics that both would write. Equal streams below an equal prefix are known to share theirs. */
export function crossingTopics(
  first: TopicPlan,
  second: TopicPlan,
  site: Site,
  platformOf: PlatformOf,
): TopicFault[] {
  if (isFixed(first, platformOf) || isFixed(second, platformOf)) return [];
  const own = (plan: TopicPlan) => publishedTopics(plan, site, platformOf);
  const streams = new Map(own(first).map(({ topic, stream }) => [topic, stream]));
  const isSamePrefix = first.topicPrefix === second.topicPrefix;
  const crossing = own(second).filter(({ topic, stream }) => {
    const other = streams.get(topic);
    return other !== undefined && !(isSamePrefix && other === stream);
  });
  const topics = new Set(crossing.map(({ topic }) => topic));
  const [example] = crossing;
  const remedy = "use another prefix or template";
  if (example !== undefined) {
    const more = topics.size === 1 ? "" : `, and ${topics.size - 1} more topics`;
    return [{ problem: `both publish to ${example.topic}${more}`, remedy }];
  }
  if (isSamePrefix) return [];
  const intrusion =
    reservedTopics(first, site, own(second))[0] ?? reservedTopics(second, site, own(first))[0];
  return intrusion === undefined ? [] : [{ problem: intrusion.problem, remedy }];
}

/** Sparkplug hosts take everything below this level for Sparkplug payloads. */
function sparkplugTopics(rows: readonly PublishedTopic[]): TopicFault[] {
  const row = rows.find(({ topic }) => topic.startsWith(`${SPARKPLUG_NAMESPACE}/`));
  if (row === undefined) return [];
  const problem = `${row.stream} would have the topic ${row.topic}, but topics below ${SPARKPLUG_NAMESPACE}/ are reserved for Sparkplug`;
  return [{ problem, remedy: "use another prefix or template" }];
}

function sharedTopics(rows: readonly PublishedTopic[]): TopicFault[] {
  const first = new Map<string, string>();
  const reported = new Set<string>();
  const faults: TopicFault[] = [];
  for (const { topic, stream } of rows) {
    const other = first.get(topic);
    if (other === undefined) first.set(topic, stream);
    else if (other !== stream && !reported.has(`${topic} ${stream}`)) {
      reported.add(`${topic} ${stream}`);
      faults.push({
        problem: `${stream} and ${other} would share the topic ${topic}`,
        remedy:
          "add a placeholder that distinguishes them, such as {sensor}, {kind}, {channel} or {value}",
      });
    }
  }
  return faults;
}

/** Alarms, commands and future topics are below levels reserved for the agent. */
function reservedTopics(
  plan: TopicPlan,
  site: Site,
  rows: readonly PublishedTopic[],
): TopicFault[] {
  const { root } = createTopics(plan.topicPrefix, site.site);
  const agent = `${root}/agent/`;
  const alarms = new Map(
    site.sensors.map(({ code }) => [`${root}/${topicLevel(code)}/alarm/`, code]),
  );
  const faults: TopicFault[] = [];
  const reported = new Set<string>();
  for (const { topic, stream, sensor } of rows) {
    if (sensor === null || reported.has(topic) || stream.startsWith("alarms of ")) continue;
    const levels = topic.split("/");
    const above = `${levels.slice(0, -2).join("/")}/`;
    const alarmed = alarms.get(above);
    if (!topic.startsWith(agent) && alarmed === undefined) continue;
    reported.add(topic);
    const owner = alarmed === undefined ? "the agent's own topics" : `alarms of ${alarmed}`;
    faults.push({
      problem: `${stream} and ${owner} would share the topic ${topic}`,
      remedy: `use topics outside ${alarmed === undefined ? `${agent}…` : `${above}…`}`,
    });
  }
  return faults;
}

/** Topics that RabbitMQ accepts over MQTT and cannot deliver over AMQP; null if none is so long. */
export function beyondAmqp(
  plan: TopicPlan,
  site: Site,
  platformOf: PlatformOf,
  formats: readonly FormatTopics[],
): TopicFault | null {
  const select = { ...plan.select, sensors: [], areas: [], machines: [] };
  const longer = (one: TopicPlan, of: Site) =>
    longerThanAmqp(publishedTopics(one, of, platformOf, formats));
  if (longer({ ...plan, select }, longestSite(site)).length === 0) return null;
  const long = longer(plan, site);
  const [first] = long;
  if (first === undefined) return null;
  const more = long.length === 1 ? "" : `, and ${long.length - 1} more topics are as long`;
  return {
    problem: `${first.slice(0, 80)}… has ${bytesOf(first)} bytes${more}: RabbitMQ cannot deliver more than ${AMQP_TOPIC_BYTES_MAX}`,
    remedy: "with RabbitMQ, shorten the prefix, the names or the template",
  };
}

function longerThanAmqp(rows: readonly PublishedTopic[]): string[] {
  const topics = new Set(rows.map(({ topic }) => topic));
  return [...topics].filter((topic) => bytesOf(topic) > AMQP_TOPIC_BYTES_MAX);
}

const bytesOf = (topic: string) => new TextEncoder().encode(topic).length;

function longTopics(
  plan: TopicPlan,
  rows: readonly PublishedTopic[],
  platformOf: PlatformOf,
): TopicFault[] {
  const limits = platformOf(plan.profile)?.limits;
  const bytesMax = limits?.bytesMax ?? TOPIC_BYTES_MAX;
  const faults: TopicFault[] = [];
  for (const topic of new Set(rows.map((one) => one.topic))) {
    const slashes = topic.split("/").length - 1;
    const slashesMax = limits?.slashesMax(topic) ?? Number.POSITIVE_INFINITY;
    if (slashes > slashesMax)
      faults.push({
        problem: `${topic} has ${slashes} slashes, but ${limits?.platform} allows at most ${slashesMax}`,
        remedy: "shorten the prefix or the template",
      });
    const bytes = bytesOf(topic);
    if (bytes > bytesMax)
      faults.push({
        problem: `${topic.slice(0, 80)}… has ${bytes} bytes, but the limit is ${bytesMax}`,
        remedy: "shorten the names, or use ids or codes instead",
      });
  }
  return faults;
}
