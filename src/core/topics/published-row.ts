import type { Kind, Sensor } from "../sensor.ts";
import { channelLabels, channelOfValue } from "../sensors/channel-labels.ts";
import { type KindValue, kindValues } from "../sensors/kind-values.ts";
import type { Site } from "../site.ts";
import type { SiteMachine } from "../site-machines.ts";
import type { Profile, Selector, Uplink } from "../uplink.ts";

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
export type TopicPlan = { readonly documents?: boolean; readonly alarms?: boolean } & Partial<
  Pick<Uplink, "machines">
> &
  Pick<
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

/** Topics of a format that has sessions of its own. @param sensors those that the uplink selects */
export type FormatTopics = (
  plan: TopicPlan,
  site: Site,
  sensors: readonly Sensor[],
) => PublishedTopic[];

/** What a platform makes of an uplink's topics. */
export interface PlatformTopics {
  /** In place of ours: it names the topics, for each device the same. @param machines those that the uplink publishes */
  fixed?(
    plan: TopicPlan,
    site: Site,
    sensors: readonly Sensor[],
    select: Selector,
    machines: readonly SiteMachine[],
  ): PublishedTopic[];
  /** After those of a machine. */
  ofMachine?(site: Site, machine: SiteMachine): PublishedTopic[];
  /** After all of ours. */
  beside?(site: Site, sensors: readonly Sensor[], select: Selector): PublishedTopic[];
  readonly limits?: {
    /** As a fault names it. */
    readonly platform: string;
    readonly bytesMax: number;
    slashesMax(topic: string): number;
  };
}

/** The rules of a profile; null: our own topics. */
export type PlatformOf = (profile: Profile) => PlatformTopics | null;

type TopicRow = Partial<PublishedTopic> & Pick<PublishedTopic, "format" | "topic" | "stream">;

export const row = (given: TopicRow): PublishedTopic => ({
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

/** A value of a reading with the site file's data on its channel. */
export function described(sensor: Sensor, kind: Kind, select: Selector) {
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
