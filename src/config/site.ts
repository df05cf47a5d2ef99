/**
 * The site file (contract section 4), fully checked: first by its published schema, then by the rules the schema cannot
 * express.
 */

import siteSchema from "#site-schema";
import { sensorBands } from "../core/bands/definition.ts";
import type { ConfigurationFault } from "../core/configuration.ts";
import { EMPTY_SITE } from "../core/empty-site.ts";
import type { Sensor } from "../core/sensor.ts";
import type { Site } from "../core/site.ts";
import { checkSemantics } from "./site-semantics.ts";
import { placedIn, readWrittenFile } from "./written-file.ts";

export interface LoadedSite {
  /** Null if there are faults. */
  readonly site: Site | null;
  readonly faults: readonly ConfigurationFault[];
  readonly warnings: readonly ConfigurationFault[];
}

export interface SiteOptions {
  /** Sensor codes become Sparkplug device ids, which have their own rules. */
  readonly sparkplug?: boolean;
  /** The site's name is also the group id, because none was set. */
  readonly isSparkplugGroup?: boolean;
  /** SETUP_ENABLED: sensors may be added later, in the browser, so a site may start without any. */
  readonly mayBeEmpty?: boolean;
}

/** What to do about a site without sensors. */
const NO_SENSORS = {
  problem: "no sensors yet",
  remedy: "open the set-up page of the dashboard and add them",
} as const;

/** A site file that does not exist yet, or is empty. */
export function emptySite(path: string): LoadedSite {
  return { site: EMPTY_SITE, faults: [], warnings: [{ place: path, ...NO_SENSORS }] };
}

/** `path` is shown before every location. */
export function loadSite(text: string, path: string, options: SiteOptions = {}): LoadedSite {
  if (options.mayBeEmpty && /^\uFEFF?\s*$/.test(text)) return emptySite(path);
  const { value, faults, warnings } = readWrittenFile(text, path, {
    schema: siteSchema,
    schemaFile: "config/site.schema.json",
    excuse: ({ keyword, instancePath }) =>
      options.mayBeEmpty === true && keyword === "minItems" && instancePath === "/sensors"
        ? { place: "sensors", ...NO_SENSORS }
        : null,
  });
  if (value === undefined) return { site: null, faults, warnings };
  const beyond = checkSemantics(value, options);
  faults.push(...beyond.faults);
  return {
    site: faults.length === 0 ? asSite(value as WrittenSite) : null,
    faults: placedIn(path, faults),
    warnings: placedIn(path, [...warnings, ...beyond.warnings]),
  };
}

type WrittenSite = {
  readonly site: string;
  readonly sensors: readonly (Omit<Sensor, "kinds" | "channels"> &
    Partial<Pick<Sensor, "kinds" | "channels">>)[];
} & Pick<Site, "machines" | "alarms" | "zoneReadings">;

function asSite(written: WrittenSite): Site {
  return {
    site: written.site,
    sensors: written.sensors.map((one) => {
      const sensor: Sensor = { ...one, kinds: one.kinds ?? [], channels: one.channels ?? {} };
      const bands = sensorBands(sensor, written.machines ?? []);
      return bands === null ? sensor : { ...sensor, bands };
    }),
    ...(written.machines === undefined ? {} : { machines: written.machines }),
    ...(written.alarms === undefined ? {} : { alarms: written.alarms }),
    ...(written.zoneReadings === undefined ? {} : { zoneReadings: written.zoneReadings }),
  };
}
