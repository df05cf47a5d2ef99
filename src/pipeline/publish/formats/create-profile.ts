import { selectsMachine, siteMachines } from "../../../core/site-machines.ts";
import { fromSite, type SiteSource } from "../../../core/site-source.ts";
import { createSelector, type Uplink } from "../../../core/uplink.ts";
import { createGatesideProfile } from "./gateside.ts";
import type { CreateProfile, PayloadProfile, ProfileOptions, ProfileParts } from "./profile.ts";

export interface UplinkText {
  readonly site: SiteSource;
  readonly version: string;
  readonly instance?: string;
  readonly run?: string;
  /** PUBLISH_CLEAR_REMOVED. */
  readonly clearRemoved: boolean;
}

/** The profile configured for an uplink. The site's name is fixed: another one requires a restart. @param create by default our own topics */
export function createProfile(
  uplink: Uplink,
  parts: ProfileParts,
  text: UplinkText,
  create: CreateProfile = createGatesideProfile,
): PayloadProfile {
  const selector = fromSite(text.site, ({ sensors }) => createSelector(uplink.select, sensors));
  const machines = fromSite(text.site, (site) => {
    const own = uplink.machines ? siteMachines(site) : [];
    return new Set(own.filter((one) => selectsMachine(uplink.select, one)).map(({ id }) => id));
  });
  const options: ProfileOptions = {
    prefix: uplink.topicPrefix,
    site: text.site.current.site,
    source: text.site,
    templates: uplink.topics,
    version: text.version,
    ...(text.instance === undefined ? {} : { instance: text.instance }),
    ...(text.run === undefined ? {} : { run: text.run }),
    formats: uplink.formats,
    waveforms: uplink.waveforms,
    withRaw: uplink.withRaw,
    compact: uplink.compact,
    retain: uplink.retain,
    clearRemoved: text.clearRemoved,
    isWanted: selector().value,
    hasMachine: (id) => machines().has(id),
    isChosen: (sensor, kind) => selector().includes(sensor, kind),
  };
  return create(parts, { ...options, deviceId: uplink.clientId });
}
