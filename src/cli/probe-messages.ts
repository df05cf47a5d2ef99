/** The messages for one reading: shown by `probe` and the set-up page. */
import { FORMAT_SPECS } from "../config/formats.ts";
import type { Settings } from "../config/settings.ts";
import type { Message } from "../core/message.ts";
import type { WaveformReader } from "../core/ports.ts";
import type { Reading } from "../core/reading.ts";
import type { Site } from "../core/site.ts";
import { fixedSite } from "../core/site-source.ts";
import type { StoredReading, StoredWaveform } from "../core/stored-reading.ts";
import { VERSION } from "../lib/version.ts";
import { createGatesideProfile } from "../pipeline/publish/formats/gateside.ts";

/** A waveform's text is tens of kilobytes; its beginning shows the format. */
export const PAYLOAD_SHOWN_MAX = 2_000;

/** As plain data. @param payloadMax characters of a payload; what follows is left out */
export function shownMessages(messages: readonly Message[], payloadMax = Number.POSITIVE_INFINITY) {
  return messages.map(({ topic, qos, retain, payload }) => ({
    topic,
    qos,
    retain,
    payload: String(payload).slice(0, payloadMax),
  }));
}

/** What each configured format would publish. */
export function messagesOf(
  reading: Reading,
  { settings, site }: { readonly settings: Settings; readonly site: Site },
  live: boolean,
): Message[] {
  const entry = { reading: asStored(reading), live };
  const { publishFormats: formats } = settings;
  const { encode } = createGatesideProfile(
    { waveforms: samplesOf(reading) },
    {
      prefix: settings.mqttTopicPrefix,
      site: site.site,
      source: fixedSite(site),
      version: VERSION,
      formats,
      waveforms: settings.publishWaveforms,
      withRaw: settings.publishRaw,
      retain: true,
      clearRemoved: settings.publishClearRemoved,
      isWanted: null,
    },
  );
  const messages: Message[] = [];
  if (formats.includes("json")) messages.push(...encode.json(entry), ...encode.waveform(entry));
  if (formats.includes("plain")) messages.push(...encode.plain(entry));
  for (const spec of FORMAT_SPECS)
    if (formats.includes(spec.name)) messages.push(spec.shown(reading, settings));
  return messages;
}

/** In the form that the store passes to the encoders; samples by channel number. */
function asStored(reading: Reading): StoredReading {
  const channels = reading.waveform?.channels ?? [];
  return {
    seq: 0,
    id: reading.id,
    sensor: reading.sensor,
    kind: reading.kind,
    timeMs: reading.timeMs,
    offsetMinutes: reading.offsetMinutes,
    storedAtMs: 0,
    values: JSON.stringify(reading.values),
    units: JSON.stringify(reading.units),
    quality: JSON.stringify(reading.quality),
    attributes: JSON.stringify(reading.attributes),
    raw: JSON.stringify(reading.raw),
    waveforms: channels.map(({ channel, axis }) => ({ fileId: channel, channel, axis })),
  };
}

function samplesOf({ id, sensor, timeMs, waveform }: Reading): WaveformReader {
  return {
    read(fileId): StoredWaveform | null {
      const channel = waveform?.channels.find((c) => c.channel === fileId);
      if (!waveform || !channel) return null;
      const { sampleRateHz, calibration, recordingReason } = waveform;
      const common = { sampleRateHz, calibration, recordingReason, sensor, timeMs };
      return { fileId, readingId: id, ...common, ...channel };
    },
  };
}
