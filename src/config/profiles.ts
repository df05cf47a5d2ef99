/** The profiles of uplinks: our own, and those that features bring. */
import type { PlatformOf } from "../core/topics/published-row.ts";
import type { Profile } from "../core/uplink.ts";
import type { FeatureSpec } from "../features/feature.ts";
import type { ProfileSpec } from "../features/formats.ts";
import { SPECS } from "../features/specs.ts";

const PROFILE_SPECS: readonly ProfileSpec[] = SPECS.flatMap(
  ({ profiles = [] }: FeatureSpec) => profiles,
);

/** In the order of the schema. */
export const BUILT_PROFILES: readonly Profile[] = [
  "gateside",
  ...PROFILE_SPECS.map(({ name }) => name),
];

/** Null for our own topics, and for what is no profile. */
export const profileOf = (name: unknown): ProfileSpec | null =>
  PROFILE_SPECS.find((spec) => spec.name === name) ?? null;

export const platformOf: PlatformOf = (name) => profileOf(name)?.topics ?? null;

/** The platform names the topics, for each device the same. */
export const hasFixedTopics = (name: unknown) => profileOf(name)?.topics.fixed !== undefined;

/** Whether readers of the topic make something of it that must go with the uplink. */
export const isEntity = (topic: string) =>
  PROFILE_SPECS.some(({ entities }) => entities !== undefined && topic.startsWith(entities));
