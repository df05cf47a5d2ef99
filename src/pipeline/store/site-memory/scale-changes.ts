/** When what a number is of was changed (core/scaling.ts), kept for as long as the sensor is in the site file: trends mark it. */
import { parsedObject } from "../../../core/parsed-json.ts";
import { isJsonObject } from "../../../core/record.ts";
import {
  type ScaleChange,
  type Scales,
  scaleChanges,
  scalesIn,
  scalesOf,
} from "../../../core/scaling.ts";
import { normalCode } from "../../../core/sensor.ts";
import type { SiteSource } from "../../../core/site-source.ts";
import { KeptText, type KeptTextParts } from "./kept-text.ts";

const NAME = "scale-changes";
/** Of a sensor, the newest. */
const CHANGES_MAX = 40;

interface ScaleChangesParts extends KeptTextParts {
  readonly site: SiteSource;
  /** The clock of the readings, ms. */
  readonly gatewayNow: () => number;
}

interface Known {
  readonly scales: Scales;
  readonly changes: readonly ScaleChange[];
}

/** @returns the changes of a sensor, oldest first */
export function keepScaleChanges({ site, gatewayNow, ...parts }: ScaleChangesParts) {
  const kept = new KeptText(parts, NAME, "{}", "changes of scales");
  let known = new Map(Object.entries(parsedObject(kept.text) ?? {}).flatMap(knownOf));
  const remember = (): void => {
    const nowMs = gatewayNow();
    known = new Map(
      site.current.sensors.map((sensor): [string, Known] => {
        const code = normalCode(sensor.code);
        const before = known.get(code);
        const scales = scalesOf(sensor);
        // The first time nothing is known of what it was before.
        const more = before === undefined ? [] : scaleChanges(before.scales, scales, nowMs);
        return [
          code,
          { scales, changes: [...(before?.changes ?? []), ...more].slice(-CHANGES_MAX) },
        ];
      }),
    );
    kept.keep(JSON.stringify(Object.fromEntries(known)));
  };
  remember();
  site.onChange(remember);
  return (code: string): readonly ScaleChange[] => known.get(normalCode(code))?.changes ?? [];
}

/** A damaged entry is no reason not to start: nothing is known of what its sensor was before. */
function knownOf([code, kept]: [string, unknown]): [string, Known][] {
  if (!isJsonObject(kept)) return [];
  const scales = scalesIn(kept["scales"]);
  if (scales === null) return [];
  const changes = Array.isArray(kept["changes"]) ? kept["changes"] : [];
  return [[code, { scales, changes: changes.flatMap(changeIn) }]];
}

function changeIn(kept: unknown): ScaleChange[] {
  if (!isJsonObject(kept)) return [];
  const { key, timeMs, text } = kept;
  const isWhole = typeof key === "string" && typeof timeMs === "number" && typeof text === "string";
  return isWhole ? [{ key, timeMs, text }] : [];
}
