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
import { expectation } from "./setting-spec.ts";
import { type AlarmEmail, type FeatureSettings, type UnboundSettings } from "./settings-shape.ts";
import { plainSettings, type RawSettings, SETTINGS } from "./settings-table.ts";
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

  const alarmWebhookUrl = addressOf("ALARM_WEBHOOK_URL", raw, note);
  const alarmWebhookHeaders =
    raw.ALARM_WEBHOOK_HEADERS === undefined
      ? {}
      : parseHeaders("ALARM_WEBHOOK_HEADERS", raw.ALARM_WEBHOOK_HEADERS, note);
  checkOneLogin(alarmWebhookUrl, alarmWebhookHeaders, note);
  const hookCaFile = refining.path(raw.ALARM_WEBHOOK_CA_FILE);
  if (hookCaFile !== null)
    checkTlsFiles({ ca: { name: "ALARM_WEBHOOK_CA_FILE", path: hookCaFile } }, note);

  return {
    ...plainSettings(raw, cwd),
    ...gateway,
    ...broker,
    ...listeners,
    historyDays,
    publishFormats,
    alarmWebhookUrl,
    alarmWebhookHeaders,
    heartbeatUrl: addressOf("HEARTBEAT_URL", raw, note),
    alarmEmail: emailOf(raw, note),
    commandResponsePrefix: responsePrefixOf(raw.COMMAND_RESPONSE_PREFIX, note),
    ...refineFeatures(raw, refining),
  };
}

function refineFeatures(raw: RawSettings, refining: Refining): FeatureSettings {
  const refined = SPECS.map((spec: FeatureSpec) => spec.refine?.({ ...raw }, refining));
  return Object.assign({}, ...refined);
}

/** Of the two, one would be sent beside the other. */
function checkOneLogin(url: string | null, headers: Readonly<Record<string, string>>, note: Note) {
  if (url === null || new URL(url).username === "") return;
  if (!Object.keys(headers).some((name) => name.toLowerCase() === "authorization")) return;
  note({
    place: "ALARM_WEBHOOK_URL",
    problem: "contains a user name, but ALARM_WEBHOOK_HEADERS contains an Authorization header",
    remedy: "keep one of the two",
  });
}

/** Kept as written: it may contain a token anywhere. */
function addressOf(
  place: "ALARM_WEBHOOK_URL" | "HEARTBEAT_URL",
  raw: RawSettings,
  note: Note,
): string | null {
  const url = raw[place];
  if (url === undefined) return null;
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  note({
    place,
    problem: "is not an http:// or https:// address",
    remedy: expectation(SETTINGS[place]),
  });
  return null;
}

/** All three, or none. */
function emailOf(raw: RawSettings, note: Note): AlarmEmail | null {
  const { ALARM_EMAIL_URL: url, ALARM_EMAIL_FROM: from, ALARM_EMAIL_TO: to } = raw;
  const given = { ALARM_EMAIL_URL: url, ALARM_EMAIL_FROM: from, ALARM_EMAIL_TO: to };
  if (Object.values(given).every((value) => value === undefined)) return null;
  for (const [place, value] of Object.entries(given)) {
    if (value === undefined)
      note({
        place,
        problem: "is missing, but other ALARM_EMAIL_… settings are set",
        remedy: "set all of ALARM_EMAIL_URL, ALARM_EMAIL_FROM and ALARM_EMAIL_TO, or none of them",
      });
  }
  if (url === undefined || from === undefined || to === undefined) return null;
  if (!URL.canParse(url) || !/^smtps?:$/.test(new URL(url).protocol)) {
    note({
      place: "ALARM_EMAIL_URL",
      problem: "is not an smtp:// or smtps:// address",
      remedy: expectation(SETTINGS.ALARM_EMAIL_URL),
    });
    return null;
  }
  return { url, from, to: to.split(",").map((address) => address.trim()) };
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
