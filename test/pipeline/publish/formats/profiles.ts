import type { Sensor } from "../../../../src/core/sensor.ts";
import { fixedSite, type SiteSource } from "../../../../src/core/site-source.ts";
import type { StoredReading, StoredWaveform } from "../../../../src/core/stored-reading.ts";
import type { ProfileOptions } from "../../../../src/pipeline/publish/formats/profile.ts";
import { storedReading } from "../../../support/memory-outbox.ts";

export const PUMP: Sensor = {
  code: "10234",
  type: 3,
  name: "Pump 4 drive end",
  model: "V3",
  kinds: ["accel"],
  channels: { channel1: { axis: "H" }, channel2: { axis: "V", name: "Bearing" } },
  machineClass: "group2-rigid",
  location: { company: 1, area: 2, machine: 40, point: 1, names: { area: "Boiler house" } },
};
export const LOOP: Sensor = {
  code: "30007",
  type: 12,
  kinds: ["loop", "dryContact"],
  channels: { channel1: { name: "Suction pressure", unit: "bar", low: 0, high: 10 } },
};
export const SITE: SiteSource = fixedSite({ site: "plant-7", sensors: [PUMP, LOOP] });
export const TIME = Date.parse("2026-11-20T15:04:05.000Z");

export const options = (changes: Partial<ProfileOptions> = {}): ProfileOptions => ({
  prefix: "gateside",
  site: "plant-7",
  source: SITE,
  version: "0.2.0",
  formats: ["json"],
  waveforms: "always",
  withRaw: false,
  retain: true,
  clearRemoved: false,
  isWanted: null,
  ...changes,
});

export const loopReading = (changes: Partial<StoredReading> = {}): StoredReading =>
  storedReading(1, {
    id: "5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c",
    sensor: "30007",
    kind: "loop",
    timeMs: TIME,
    values: '{"channel1":4.2,"channel1_ma":null,"battery":3.6}',
    units: '{"channel1":"bar","channel1_ma":"mA","battery":"V"}',
    quality: '{"channel1_ma":{"quality":"bad","reason":"missing"}}',
    ...changes,
  });

/** A measurement of one channel with so many samples. */
export function waveformParts(count: number) {
  const samples = Int16Array.from({ length: count }, (_, i) => ((i * 37) % 2001) - 1000);
  const waveform: StoredWaveform = {
    fileId: 3,
    sensor: "10234",
    timeMs: TIME,
    readingId: "ab",
    channel: 2,
    axis: "V",
    samples,
    sampleRateHz: 6400,
    calibration: 0.001,
    recordingReason: 3,
  };
  const reading = storedReading(1, {
    sensor: "10234",
    kind: "accel",
    waveforms: [{ fileId: 3, channel: 2, axis: "V" }],
  });
  return { samples, reading, parts: { waveforms: { read: () => waveform } } };
}

/** The samples of all parts, put together as docs/mqtt.md describes. */
export function unpackParts(bodies: readonly Record<string, unknown>[]): number[] {
  return bodies.flatMap((body) => {
    const bytes = Buffer.from(String(body["base64"]), "base64");
    return Array.from({ length: bytes.length / 2 }, (_, i) => bytes.readInt16LE(i * 2));
  });
}
