/**
 * The site file (contract section 4), fully checked: first by its published schema, then by the rules the schema cannot
 * express.
 */

import siteSchema from "#site-schema";
import { sensorBands } from "../core/bands/definition.ts";
import type { ConfigurationFault } from "../core/configuration/configuration-fault.ts";
import { EMPTY_SITE } from "../core/configuration/empty-site.ts";
import { withUnchanged } from "../core/configuration/site-difference.ts";
import type { Sensor } from "../core/sensor.ts";
import { shaftAt } from "../core/shaft.ts";
import type { Site } from "../core/site.ts";
import { checkSemantics } from "./site-semantics.ts";
import { placedIn, readWrittenFile } from "./written-file.ts";

export interface LoadedSite {
  /** Null if there are faults. */
  readonly site: Site | null;
  readonly faults: readonly ConfigurationFault[];
  readonly warnings: readonly ConfigurationFault[];
  /** For the next reading of the file; null if there are faults. */
  readonly written: WrittenSite | null;
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
  const warnings = [{ place: path, ...NO_SENSORS }];
  return { site: EMPTY_SITE, faults: [], warnings, written: null };
}

/**
 * `path` is shown before every location.
 * @param before what an earlier reading found without a fault: its unchanged sensors stay the same objects, and what was found out
 * about them is not found out again
 */
export function loadSite(
  text: string,
  path: string,
  options: SiteOptions = {},
  before: WrittenSite | null = null,
): LoadedSite {
  if (options.mayBeEmpty && /^\uFEFF?\s*$/.test(text)) return emptySite(path);
  const {
    value: read,
    faults,
    warnings,
  } = readWrittenFile(text, path, {
    schema: siteSchema,
    schemaFile: "config/site.schema.json",
    excuse: ({ keyword, instancePath }) =>
      options.mayBeEmpty === true && keyword === "minItems" && instancePath === "/sensors"
        ? { place: "sensors", ...NO_SENSORS }
        : null,
  });
  if (read === undefined) return { site: null, faults, warnings, written: null };
  const isSound = before !== null && faults.length === 0;
  const value = isSound ? withUnchanged(before, read as WrittenSite) : read;
  const beyond = checkSemantics(value, options);
  faults.push(...beyond.faults);
  const written = faults.length === 0 ? (value as WrittenSite) : null;
  return {
    site: written && asSite(written),
    written,
    faults: placedIn(path, faults),
    warnings: placedIn(path, [...warnings, ...beyond.warnings]),
  };
}

type WrittenSensor = Omit<Sensor, "kinds" | "channels"> &
  Partial<Pick<Sensor, "kinds" | "channels">>;

/** Nothing changes these objects. */
export type WrittenSite = {
  readonly site: string;
  readonly sensors: readonly WrittenSensor[];
} & Pick<Site, "machines" | "alarms" | "zoneReadings">;

/** What was made of a written sensor, and with which machines. */
const MADE = new WeakMap<
  WrittenSensor,
  { readonly sensor: Sensor; readonly machines: Site["machines"] }
>();

function asSite(written: WrittenSite): Site {
  const { machines } = written;
  return {
    site: written.site,
    sensors: written.sensors.map((one) => {
      const made = MADE.get(one);
      if (made !== undefined && made.machines === machines) return made.sensor;
      const sensor: Sensor = { ...one, kinds: one.kinds ?? [], channels: one.channels ?? {} };
      const bands = sensorBands(sensor, machines ?? []);
      const machine = machines?.find(({ id }) => id === sensor.location?.machine);
      const shaft = machine === undefined ? null : shaftAt(machine, sensor.location);
      const whole = {
        ...sensor,
        ...(bands === null ? {} : { bands }),
        ...(shaft === null ? {} : { shaft }),
      };
      MADE.set(one, { sensor: whole, machines });
      return whole;
    }),
    ...(machines === undefined ? {} : { machines }),
    ...(written.alarms === undefined ? {} : { alarms: written.alarms }),
    ...(written.zoneReadings === undefined ? {} : { zoneReadings: written.zoneReadings }),
  };
}
