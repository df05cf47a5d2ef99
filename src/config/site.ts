/**
 * The site file (contract section 4), fully checked: first by its published schema, then by the rules the schema cannot
 * express.
 */

import { Ajv } from "ajv";
import siteSchema from "#site-schema";
import { sensorBands } from "../core/bands/definition.ts";
import type { ConfigurationFault } from "../core/configuration.ts";
import { EMPTY_SITE } from "../core/empty-site.ts";
import type { Sensor } from "../core/sensor.ts";
import type { Site } from "../core/site.ts";
import { parseJsonText, undecodedWarnings } from "./json-text.ts";
import { schemaFault } from "./schema-fault.ts";
import { checkSemantics } from "./site-semantics.ts";

/** The bundle holds the schema compiled with these (scripts/compiled-schemas.ts). */
export const SITE_SCHEMA_OPTIONS = { allErrors: true, verbose: true, strict: true } as const;

export interface LoadedSite {
  /** Null if there are faults. */
  readonly site: Site | null;
  readonly faults: readonly ConfigurationFault[];
  readonly warnings: readonly ConfigurationFault[];
}

export interface SiteOptions {
  /** Sensor codes become Sparkplug device ids, which have rules of their own. */
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
  const at = (place: string) => (place === "" ? path : `${path}: ${place}`);
  if (options.mayBeEmpty && /^\uFEFF?\s*$/.test(text)) return emptySite(path);
  const parsed = parseJsonText(text.replace(/^\uFEFF/, ""));
  if ("fault" in parsed) {
    const { line, column, problem, remedy } = parsed.fault;
    return {
      site: null,
      warnings: [],
      faults: [{ place: `${path}:${line}:${column}`, problem, remedy }],
    };
  }
  const faults: ConfigurationFault[] = parsed.doubles.map(({ line, column, problem }) => ({
    place: `${path}:${line}:${column}`,
    problem,
    remedy: "keep one",
  }));
  const warnings: ConfigurationFault[] = undecodedWarnings(parsed.undecoded, path);

  const validate = new Ajv(SITE_SCHEMA_OPTIONS).compile(siteSchema);
  if (!validate(parsed.value)) {
    for (const error of validate.errors ?? []) {
      const isNoSensors = error.keyword === "minItems" && error.instancePath === "/sensors";
      if (isNoSensors && options.mayBeEmpty) warnings.push({ place: "sensors", ...NO_SENSORS });
      else faults.push(schemaFault(error, { schemaFile: "config/site.schema.json" }));
    }
  }
  const meaning = checkSemantics(parsed.value, options);
  faults.push(...meaning.faults);
  const placed = (fault: ConfigurationFault): ConfigurationFault =>
    fault.place.startsWith(path) ? fault : { ...fault, place: at(fault.place) };
  return {
    site: faults.length === 0 ? asSite(parsed.value as WrittenSite) : null,
    faults: faults.map(placed),
    warnings: [...warnings, ...meaning.warnings].map(placed),
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
