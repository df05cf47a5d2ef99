/** The formats of uplinks: the pipeline's own, and those that features bring. */
import type { FormatTopics } from "../core/topics/published-row.ts";
import type { Uplink, UplinkFormat } from "../core/uplink.ts";
import type { FeatureSpec } from "../features/feature.ts";
import type { FormatSpec } from "../features/formats.ts";
import { SPECS } from "../features/specs.ts";

export const FORMAT_SPECS: readonly FormatSpec[] = SPECS.flatMap(
  ({ formats = [] }: FeatureSpec) => formats,
);
export const FORMATS: readonly UplinkFormat[] = [
  "json",
  "plain",
  ...FORMAT_SPECS.map(({ name }) => name),
];

export const FORMAT_TOPICS: readonly FormatTopics[] = FORMAT_SPECS.map(
  (spec) => (plan, site, sensors) => spec.topics(plan, site, sensors),
);

/** What those of an uplink say of it. */
export function byFormats(
  formats: readonly UplinkFormat[],
  say: (spec: FormatSpec) => Partial<Uplink>,
): Partial<Uplink> {
  return Object.assign({}, ...FORMAT_SPECS.filter(({ name }) => formats.includes(name)).map(say));
}
