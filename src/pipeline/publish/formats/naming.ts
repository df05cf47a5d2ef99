import type { Sensor } from "../../../core/sensor.ts";
import { fromSite, type SiteSource } from "../../../core/site-source.ts";
import type { TopicTemplates } from "../../../core/topics/template.ts";
import { createTopics, type Topics } from "../../../core/topics/topics.ts";

/** Inputs of an uplink's topics. */
export interface Naming {
  readonly prefix: string;
  readonly site: string;
  /** Names and locations of the sensors. */
  readonly source: SiteSource;
  /** By default those of contract section 6. */
  readonly templates?: TopicTemplates;
}

/** The sensors by their codes, as they are now in the site file. */
export function sensorsOf(source: SiteSource): () => ReadonlyMap<string, Sensor> {
  return fromSite(source, ({ sensors }) => new Map(sensors.map((sensor) => [sensor.code, sensor])));
}

/** Topics that follow the site file: values derived from it belong in caches that are dropped with it. */
export function createSiteTopics(naming: Naming): Topics {
  const sensors = sensorsOf(naming.source);
  return createTopics(naming.prefix, naming.site, {
    templates: naming.templates ?? {},
    sensor: (code) => sensors().get(code),
  });
}
