/** What each uplink sends in a month, for those who pay by the byte. */

import { FORMAT_SPECS } from "../config/formats.ts";
import { profileOf } from "../config/profiles.ts";
import type { Settings } from "../config/settings.ts";
import type { Message } from "../core/message.ts";
import { type Kind, readingKinds, type Sensor } from "../core/sensor.ts";
import { kindValues } from "../core/sensors/kind-values.ts";
import { type Site } from "../core/site.ts";
import { fixedSite } from "../core/site-source.ts";
import type { StoredReading } from "../core/stored-reading.ts";
import { createGlob } from "../core/text/glob.ts";
import { createSelector, type Uplink } from "../core/uplink.ts";
import { VERSION } from "../lib/version.ts";
import { isTls } from "../pipeline/link/peer-chain.ts";
import { publishPacketBytes } from "../pipeline/link/publish-writer.ts";
import { createProfile } from "../pipeline/publish/formats/create-profile.ts";

interface MonthOfUplink {
  readonly uplink: string;
  readonly messagesPerMonth: number;
  readonly bytesPerMonth: number;
}

interface Configured {
  readonly settings: Pick<Settings, "pollIntervalS" | "publishClearRemoved">;
  readonly site: Site;
  readonly uplinks: readonly Uplink[];
}

const MONTH_S = 30 * 86_400;
const DAY_S = 86_400;
/** Headers of IP and TCP; of a TLS record; a PUBACK. */
const TCP_BYTES = 40;
const TLS_BYTES = 22;
const ACK_BYTES = 4;
const PING_BYTES = 2;
const PING_EVERY_S = 30;
/** `agent/stats`, each minute: as measured with one uplink. */
const STATS_EVERY_S = 60;
const STATS_BYTES = 1_450;
/** `{code}/state` with its topic, when the sensor has sent something, at most each minute. */
const STATE_EVERY_S = 60;
const STATE_BYTES = 180;

/**
 * A reading of each sensor and kind in each of its intervals (pollIntervalS, POLL_INTERVAL_S), states, statistics and pings,
 * with acknowledgements and the headers of TCP and TLS, each message in its own packet. With `onChange` as if
 * nothing changed. Not counted: waveforms, alarms, descriptions, what is sent again.
 */
export function monthsOf({ settings, site, uplinks }: Configured): MonthOfUplink[] {
  return uplinks.map((uplink) => {
    const total = { messages: 0, bytes: 0 };
    const overhead = TCP_BYTES + (isTls(uplink.urls[0] ?? "") ? TLS_BYTES : 0);
    const add = (times: number, bytes: number, answerBytes: number) => {
      total.bytes += times * (bytes + answerBytes + 2 * overhead);
    };
    const publish = (times: number, bytes: number) => {
      total.messages += times;
      add(times, bytes, ACK_BYTES);
    };
    const selector = createSelector(uplink.select, site.sensors);
    const messages = messagesOf(uplink, { settings, site });
    const hasStates = uplink.formats.some((format) => format !== "sparkplug");
    for (const sensor of site.sensors) {
      const kinds = readingKinds(sensor).filter((kind) => selector.includes(sensor.code, kind));
      if (sensor.enabled === false || kinds.length === 0) continue;
      const everyS = kinds.map((kind) => intervalS(uplink, sensor, kind, settings.pollIntervalS));
      kinds.forEach((kind, i) => {
        for (const bytes of messages(sensor, kind)) publish(MONTH_S / (everyS[i] ?? 60), bytes);
      });
      if (hasStates) publish(MONTH_S / Math.max(STATE_EVERY_S, Math.min(...everyS)), STATE_BYTES);
    }
    if (hasStates) publish(MONTH_S / STATS_EVERY_S, STATS_BYTES);
    add(MONTH_S / PING_EVERY_S, PING_BYTES, PING_BYTES);
    return {
      uplink: uplink.name,
      messagesPerMonth: Math.round(total.messages),
      bytesPerMonth: Math.round(total.bytes),
    };
  });
}

function intervalS(
  { everyS, onChange }: Uplink,
  sensor: Sensor,
  kind: Kind,
  pollIntervalS: number,
): number {
  // A node's state is stored when it has changed, and once a day.
  if (kind === "node") return DAY_S;
  const ownS = sensor.pollIntervalS ?? pollIntervalS;
  const globs = Object.keys(onChange?.values ?? {}).map(createGlob);
  const isListed = kindValues(sensor, kind).some(({ name }) => globs.some((glob) => glob(name)));
  const leastS = isListed ? (onChange?.atLeastEveryS ?? 0) : 0;
  return Math.max(ownS, everyS ?? 0, leastS);
}

/** The bytes of each message that a reading of a sensor and kind becomes. */
function messagesOf(
  uplink: Uplink,
  { settings, site }: Pick<Configured, "settings" | "site">,
): (sensor: Sensor, kind: Kind) => number[] {
  const { encode } = createProfile(
    uplink,
    { waveforms: { read: () => null } },
    { site: fixedSite(site), version: VERSION, clearRemoved: settings.publishClearRemoved },
    profileOf(uplink.profile)?.create,
  );
  const isWanted = createSelector(uplink.select, site.sensors).value ?? (() => true);
  return (sensor, kind) => {
    const values = kindValues(sensor, kind).filter(({ name }) => isWanted(name));
    const entry = { reading: sampleOf(sensor, kind), live: true };
    const encoded: Message[] = [];
    if (uplink.formats.includes("json")) encoded.push(...encode.json(entry));
    if (uplink.formats.includes("plain")) encoded.push(...encode.plain(entry));
    const bytes = encoded.map((message) => publishPacketBytes(message, uplink.version));
    for (const spec of FORMAT_SPECS)
      if (uplink.formats.includes(spec.name))
        bytes.push(spec.messageBytes(sensor.code, values.length));
    return bytes;
  };
}

const SAMPLES = { number: 12.3456, boolean: true, string: "A" } as const;

function sampleOf(sensor: Sensor, kind: Kind): StoredReading {
  const values = kindValues(sensor, kind);
  const units = values.flatMap(({ name, unit }) => (unit === null ? [] : [[name, unit]]));
  return {
    seq: 0,
    id: "0".repeat(32),
    sensor: sensor.code,
    kind,
    timeMs: 0,
    offsetMinutes: 0,
    storedAtMs: 0,
    values: JSON.stringify(
      Object.fromEntries(values.map(({ name, type }) => [name, SAMPLES[type]])),
    ),
    units: JSON.stringify(Object.fromEntries(units)),
    quality: "{}",
    attributes: JSON.stringify(ATTRIBUTES[kind] ?? { version: 12, battery_type: 2 }),
    raw: "{}",
    waveforms: [],
  };
}

const ATTRIBUTES: Readonly<Partial<Record<Kind, object>>> = {
  accel: {
    version: 12,
    battery_type: 2,
    sample_rate: 6400,
    samples: 4096,
    recording_reason: 2,
    device: 1,
    time_data: "2026-11-20T15:04:05.000Z",
  },
};
