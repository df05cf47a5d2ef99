/**
 * The uplinks file (plant section 10), fully checked: first by its published schema, then by the rules the schema
 * cannot express.
 */

import { dirname, resolve } from "node:path";
import uplinksSchema from "#uplinks-schema";
import type { ConfigurationFault } from "../core/configuration/configuration-fault.ts";
import { isJsonObject } from "../core/record.ts";
import { type Site } from "../core/site.ts";
import { machineFaults } from "../core/site-machines.ts";
import { withoutTrailing } from "../core/text/text-ends.ts";
import { crossingTopics, topicFaults } from "../core/topics/collisions.ts";
import { topicLevel } from "../core/topics/topic-level.ts";
import { MAIN_UPLINK, SELECT_ALL, type Uplink } from "../core/uplink.ts";
import type { SemanticOptions } from "../features/formats.ts";
import { byFormats, FORMAT_SPECS } from "./formats.ts";
import { parseJsonText } from "./json-text.ts";
import { platformOf, profileOf } from "./profiles.ts";
import type { Settings } from "./settings.ts";
import type { UplinksContext } from "./uplinks-context.ts";
import { readCredentials, secretNow, tlsWithDigest } from "./uplinks-secrets.ts";
import { checkUplinks } from "./uplinks-semantics.ts";
import { isOneBroker } from "./uplinks-sessions.ts";
import type { WrittenUplink } from "./uplinks-written.ts";
import { placedIn, readWrittenFile } from "./written-file.ts";

export interface LoadedUplinks {
  /** Null if there are faults. */
  readonly uplinks: readonly Uplink[] | null;
  readonly faults: readonly ConfigurationFault[];
  readonly warnings: readonly ConfigurationFault[];
}

/** The file by its schema alone: what it names (certificates, secrets) may be elsewhere. */
export function readUplinks(text: string, path: string) {
  return readWrittenFile(text, path, {
    schema: uplinksSchema,
    schemaFile: "config/uplinks.schema.json",
    isSecretive: true,
  });
}

/** `path` is absolute; it is shown before every location, and relative files are beside it. */
export function loadUplinks(text: string, path: string, context: UplinksContext): LoadedUplinks {
  const { value, faults, warnings } = readUplinks(text, path);
  if (value === undefined) return { uplinks: null, faults, warnings };
  const directory = dirname(path);
  const beyond = checkUplinks(value, directory, context);
  faults.push(...beyond.faults);
  const written = faults.length === 0 ? (value as WrittenUplinks).uplinks : [];
  const note = (fault: ConfigurationFault) => void faults.push(fault);
  const placedUplinks = written.flatMap((one, i): PlacedUplink[] => {
    const place = `uplinks[${i}]`;
    if (one.enabled === false) return [];
    return [{ place, uplink: asUplink(one, place, directory, context, note) }];
  });
  for (const one of placedUplinks) faults.push(...topicsOf(one, context));
  faults.push(...crossings(placedUplinks, context));
  return {
    uplinks: faults.length === 0 ? placedUplinks.map(({ uplink }) => uplink) : null,
    faults: placedIn(path, faults),
    warnings: placedIn(path, [...warnings, ...beyond.warnings]),
  };
}

interface PlacedUplink {
  readonly place: string;
  readonly uplink: Uplink;
}

/** Topic collisions can be checked once topics are made from the site's sensors. */
function topicsOf({ place, uplink }: PlacedUplink, { site }: UplinksContext): ConfigurationFault[] {
  if (site === null) return [];
  return [
    ...topicFaults(uplink, site, platformOf).map((fault) => ({
      place: `${place}.topics`,
      ...fault,
    })),
    ...machineFaults(uplink, site).map(({ member, ...fault }) => ({
      place: `${place}.${member}`,
      ...fault,
    })),
  ];
}

/** Two uplinks on one broker that write the same topics: each would replace what the other has retained. */
function crossings(
  uplinks: readonly PlacedUplink[],
  { main, site }: UplinksContext,
): ConfigurationFault[] {
  if (site === null) return [];
  const all = [...(main === null ? [] : [{ place: MAIN_UPLINK, uplink: main }]), ...uplinks];
  return all.flatMap((second, i) =>
    all
      .slice(0, i)
      .filter((first) => isOneBroker(first.uplink, second.uplink))
      .flatMap((first) =>
        crossingTopics(first.uplink, second.uplink, site, platformOf).map(
          ({ problem, remedy }) => ({
            place: `${second.place}.topics`,
            problem: `with ${first.place} at the same broker: ${problem}`,
            remedy,
          }),
        ),
      ),
  );
}

interface WrittenUplinks {
  readonly uplinks: readonly WrittenUplink[];
}

function asUplink(
  written: WrittenUplink,
  place: string,
  directory: string,
  { site, pending }: UplinksContext,
  note: (fault: ConfigurationFault) => void,
): Uplink {
  const file = (path: string | undefined) => (path === undefined ? null : resolve(directory, path));
  const name = topicLevel(site?.site ?? "");
  const formats = written.formats ?? ["json"];
  return {
    name: written.name,
    urls: written.url.split(",").map((url) => withoutTrailing(new URL(url.trim()).href, "/")),
    version: written.version ?? profileOf(written.profile)?.version ?? 5,
    clientId: written.clientId ?? `gateside-${name}-${written.name}`,
    ...readCredentials(written, place, directory, note, pending),
    alpn: written.alpn ?? [],
    tls: tlsWithDigest({
      caFile: file(written.caFile),
      certFile: file(written.certFile),
      keyFile: file(written.keyFile),
    }),
    formats,
    profile: written.profile ?? "gateside",
    topicPrefix: written.topicPrefix ?? "gateside",
    topics: written.topics ?? {},
    select: { ...SELECT_ALL, ...written.select },
    history: written.history ?? true,
    waveforms: written.waveforms ?? "alarm",
    maxAgeHours: written.maxAgeHours ?? null,
    onChange: written.onChange ?? null,
    everyS: written.everyS ?? null,
    compact: written.compact ?? false,
    machines: written.machines ?? false,
    startFrom: written.startFrom ?? "stored",
    inflight: written.inflight ?? 100,
    backlogRatePerS: written.backlogRate ?? 0,
    requireSubscriber: written.requireSubscriber ?? false,
    retain: written.retain ?? true,
    withRaw: written.raw ?? false,
    commands: written.commands ?? false,
    sparkplug: null,
    ...byFormats(formats, (spec) => spec.ofFile(written, name)),
  };
}

/** The uplink that the settings describe; null if MQTT_URL is not set. */
export function mainUplink(settings: Settings): Uplink | null {
  if (settings.mqttUrls.length === 0) return null;
  return {
    name: MAIN_UPLINK,
    urls: settings.mqttUrls,
    version: settings.mqttVersion,
    clientId: settings.mqttClientId,
    username: secretNow(settings.mqttSecretFiles, "username", settings.mqttUsername),
    password: secretNow(settings.mqttSecretFiles, "password", settings.mqttPassword),
    tls: tlsWithDigest({
      caFile: settings.mqttCaFile,
      certFile: settings.mqttCertFile,
      keyFile: settings.mqttKeyFile,
    }),
    secretFiles: settings.mqttSecretFiles ?? {},
    proxy: secretNow(settings.mqttSecretFiles, "proxy", settings.mqttProxy),
    alpn: settings.mqttAlpn,
    sasKey: null,
    formats: settings.publishFormats,
    profile: "gateside",
    topicPrefix: settings.mqttTopicPrefix,
    topics: {},
    select: SELECT_ALL,
    history: true,
    waveforms: settings.publishWaveforms,
    maxAgeHours: null,
    onChange: null,
    everyS: null,
    compact: false,
    machines: settings.publishMachines,
    startFrom: "stored",
    inflight: settings.mqttInflight,
    backlogRatePerS: settings.mqttBacklogRate,
    requireSubscriber: settings.mqttRequireSubscriber,
    retain: true,
    withRaw: settings.publishRaw,
    commands: settings.commandsEnabled,
    sparkplug: null,
    ...byFormats(settings.publishFormats, (spec) => spec.ofSettings(settings)),
  };
}

/** What the site's machines forbid `main`. */
export function mainMachineFaults(main: Uplink, site: Site): ConfigurationFault[] {
  return machineFaults(main, site).map(({ member, ...fault }) => ({
    place: member === "machines" ? "PUBLISH_MACHINES" : "SPARKPLUG_MACHINES",
    ...fault,
  }));
}

/** What the formats of uplinks require of the site file, which is checked first. @param main settings as shown; null: unknown */
export function siteRules(
  main: Readonly<Record<string, string>> | null,
  text: string,
): SemanticOptions {
  const parsed = parseJsonText(text.replace(/^\uFEFF/, ""));
  const value = "fault" in parsed || !isJsonObject(parsed.value) ? {} : parsed.value;
  const uplinks = Array.isArray(value["uplinks"]) ? value["uplinks"] : [];
  return Object.assign({}, ...FORMAT_SPECS.map((spec) => spec.siteRules(main, uplinks)));
}
