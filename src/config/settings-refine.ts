/** Cross checks between settings, and their names and shapes in the program. */

import { resolve } from "node:path";
import type { ConfigurationFault } from "../core/configuration/configuration-fault.ts";
import { withoutTrailing } from "../core/text/text-ends.ts";
import type { FeatureSpec } from "../features/feature.ts";
import { SPECS } from "../features/specs.ts";
import { parseFormats, parseHeaders } from "./checks.ts";
import { type Note, shown } from "./fault.ts";
import { FORMATS } from "./formats.ts";
import { refineBroker } from "./refine-broker.ts";
import { refineGateway } from "./refine-gateway.ts";
import { refineListeners } from "./refine-listeners.ts";
import type { Refining } from "./refining.ts";
import type { FeatureSettings, UnboundSettings } from "./settings-shape.ts";
import { plainSettings, type RawSettings } from "./settings-table.ts";
import { checkTlsFiles } from "./tls-files.ts";

export function refineSettings(
  raw: RawSettings,
  cwd: string,
  faults: ConfigurationFault[],
  warnings: ConfigurationFault[],
): UnboundSettings {
  const rejected = new Set(faults.map(({ place }) => place));
  const refining: Refining = {
    // A rejected value is absent here, or replaced by its default: what seems wrong with that is the same fault again.
    note: (fault) => {
      const isKnown = rejected.has(fault.place) || rejected.has(`${fault.place}_FILE`);
      if (!isKnown) faults.push(fault);
    },
    warn: (place, problem, remedy) => void warnings.push({ place, problem, remedy }),
    path: (value) => (value === undefined ? null : resolve(cwd, value)),
    authorities(place, value) {
      const path = refining.path(value);
      if (path !== null) checkTlsFiles({ ca: { name: place, path } }, refining.note);
    },
    headers: (place, text) => (text === undefined ? {} : parseHeaders(place, text, refining.note)),
  };
  const { note, warn } = refining;
  const gateway = refineGateway(raw, refining);
  const broker = refineBroker(raw, refining);
  const listeners = refineListeners(raw, refining);
  const historyDays = Math.max(raw.HISTORY_DAYS, raw.BACKFILL_DAYS + 2);
  if (historyDays !== raw.HISTORY_DAYS) {
    warn(
      "HISTORY_DAYS",
      `${raw.HISTORY_DAYS} is less than BACKFILL_DAYS + 2`,
      `${historyDays} is used instead; set HISTORY_DAYS to at least that`,
    );
  }
  const publishFormats = parseFormats(raw.PUBLISH_FORMATS, FORMATS, note);
  if (publishFormats.length === 0 && /^[\s,]*$/.test(raw.PUBLISH_FORMATS)) {
    note({
      place: "PUBLISH_FORMATS",
      problem: "contains no format",
      remedy: `use one or more of ${FORMATS.join(", ")}, comma-separated`,
    });
  }

  return {
    ...plainSettings(raw, cwd),
    ...gateway,
    ...broker,
    ...listeners,
    historyDays,
    publishFormats,
    commandResponsePrefix: responsePrefixOf(raw.COMMAND_RESPONSE_PREFIX, note),
    ...refineFeatures(raw, refining),
  };
}

function refineFeatures(raw: RawSettings, refining: Refining): FeatureSettings {
  const refined = SPECS.map((spec: FeatureSpec) => spec.refine?.({ ...raw }, refining));
  return Object.assign({}, ...refined);
}

function responsePrefixOf(given: string | undefined, note: Note): string | null {
  const prefix = withoutTrailing(given ?? "", "/");
  if (prefix === "" && !given) return null;
  if (prefix === "" || /[+#\0]|^\$/.test(prefix)) {
    note({
      place: "COMMAND_RESPONSE_PREFIX",
      problem: `${shown(given)} is not a valid topic to publish on`,
      remedy: "use topic levels without + and #, such as replies/gateside",
    });
  }
  return prefix;
}
