/** When what a number is of was changed (core/scaling.ts), kept for as long as the sensor is in the site file: trends mark it. */
import { parsedObject } from "../../../core/parsed-json.ts";
import type { Logger } from "../../../core/ports.ts";
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
import type { Meta } from "../database/meta.ts";

const NAME = "scale-changes";
/** Of a sensor, the newest. */
const CHANGES_MAX = 40;

interface ScaleChangesParts {
  readonly site: SiteSource;
  readonly memory: Pick<Meta, "get" | "set">;
  readonly logger: Logger;
  /** The clock of the readings, ms. */
  readonly gatewayNow: () => number;
}

interface Known {
  readonly scales: Scales;
  readonly changes: readonly ScaleChange[];
}

/** @returns the changes of a sensor, oldest first */
export function keepScaleChanges({ site, memory, logger, gatewayNow }: ScaleChangesParts) {
  let kept = memory.get(NAME) ?? "{}";
  let known = new Map(Object.entries(parsedObject(kept) ?? {}).flatMap(knownOf));
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
    const text = JSON.stringify(Object.fromEntries(known));
    if (text === kept) return;
    try {
      memory.set(NAME, text);
      kept = text;
    } catch (err) {
      // A full disk: the next change, or the next start, keeps them.
      logger.warn({ err }, "changes of scales could not be kept");
    }
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
