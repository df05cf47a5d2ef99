/** The reading of kind `bands` that is made of one acceleration record (plant section 18). */
import { createHash } from "node:crypto";
import { decimal } from "../../pipeline/convert/decimal.ts";
import { ValueSheet } from "../../pipeline/convert/value-sheet.ts";
import type { DftPlans } from "../../pipeline/signal/fft.ts";
import type { SpeedAround } from "../followed-reading.ts";
import { type Doubt, type Graded, isOfDamage } from "../quality.ts";
import type { Reading } from "../reading.ts";
import type { JsonValue } from "../record.ts";
import type { Sensor } from "../sensor.ts";
import type { Band, SensorBands } from "./band.ts";
import { beltHzSteps } from "./belt.ts";
import { bandUnit } from "./definition.ts";
import { bandSteps } from "./measure.ts";

/** One channel of the record, as it is stored. */
interface BandChannel {
  /** 1…3 */
  readonly channel: number;
  /** Null: the record has none, for the reason of `doubt`. */
  readonly samples: Int16Array | null;
  /** Of the acceleration of the channel. */
  readonly doubt: Doubt;
}

/** The stored record. */
export interface BandRecord {
  readonly id: string;
  readonly timeMs: number;
  readonly offsetMinutes: number | null;
  /** Null: the record says none, and then no channel has samples. */
  readonly sampleRateHz: number | null;
  /** Of a channel. */
  readonly sampleCount: number;
  /** G per count; null as above. */
  readonly calibration: number | null;
  /** Worst zone of its channels; null without one. */
  readonly zone: string | null;
  /** Its own, which what is derived of it inherits: one dated in the future says nothing about the present. */
  readonly flags: readonly JsonValue[];
  readonly channels: readonly BandChannel[];
}

const ID_HEX_DIGITS = 32;
/** Speeds that differ by more, as a share, make what follows the shaft uncertain. */
const SPEED_SHARE_MAX = 0.01;
const SECONDS_PER_MINUTE = 60;

/**
 * In steps, at least one a channel, so that the caller can yield to the event loop.
 * @param definition what held when the record was stored; names that the sensor no longer has are left out
 * @param speed null without a speed signal
 */
export function* bandReadingSteps(
  sensor: Sensor & { readonly bands: SensorBands },
  definition: readonly Band[],
  record: BandRecord,
  measuredSpeed: SpeedAround | null,
  plans: DftPlans,
): Generator<void, Reading> {
  const { shaft } = sensor.bands;
  const rated = atShaft(measuredSpeed, shaft?.speedRatio ?? 1);
  const isBelt = shaft?.belt === true;
  const beltHz = isBelt && rated !== null ? yield* beltHzOf(record, rated.rpm, plans) : null;
  const speed = rated && beltHz ? { ...rated, rpm: decimal(beltHz * SECONDS_PER_MINUTE) } : rated;
  const names = new Set(sensor.bands.bands.map(({ name }) => name));
  const bands = definition.filter(({ name }) => names.has(name));
  const sheet = new ValueSheet();
  const options = {
    sampleRateHz: record.sampleRateHz ?? Number.NaN,
    calibration: record.calibration ?? Number.NaN,
    fullScaleCounts: sensor.fullScaleCounts,
    plans,
    shaftHz: speed === null ? null : speed.rpm / SECONDS_PER_MINUTE,
    isSteady: isSteady(rated),
    // Its frequency is known exactly where its line is.
    isBelt: isBelt && beltHz === null,
  };
  for (const { channel, samples, doubt } of record.channels) {
    const measured =
      samples === null
        ? new Map(bands.map(({ name }): [string, Graded] => [name, { value: null, doubt }]))
        : yield* bandSteps(samples, bands, options);
    for (const band of bands) {
      const graded = measured.get(band.name);
      if (graded === undefined) continue;
      const { value } = graded;
      const ofRecord = isOfDamage(doubt) && value !== null ? { value, doubt } : graded;
      sheet.number(`channel${channel}_${band.name}`, bandUnit(band), ofRecord);
    }
    yield;
  }
  if (speed !== null) sheet.exact("speed_rpm", "rpm", { value: speed.rpm, doubt: null });
  const { sampleRateHz, sampleCount } = record;
  return {
    id: bandReadingId(record.id, definition),
    sensor: sensor.code,
    kind: "bands",
    timeMs: record.timeMs,
    offsetMinutes: record.offsetMinutes,
    values: sheet.values,
    units: sheet.units,
    quality: sheet.quality,
    attributes: {
      record_id: record.id,
      ...(sampleRateHz === null ? {} : { sample_rate: sampleRateHz }),
      samples: sampleCount,
      ...(speed === null ? {} : { speed_time: new Date(speed.timeMs).toISOString() }),
      ...(record.flags.length === 0 ? {} : { flags: record.flags }),
    },
    raw: {},
    waveform: null,
    record: { zone: record.zone, shape: `${sampleRateHz}/${sampleCount}` },
  };
}

function* beltHzOf(
  { channels, sampleRateHz, calibration }: BandRecord,
  ratedRpm: number,
  plans: DftPlans,
): Generator<void, number | null> {
  if (sampleRateHz === null || calibration === null) return null;
  const samples = channels.flatMap((one) =>
    one.samples === null || isOfDamage(one.doubt) ? [] : [one.samples],
  );
  const ratedHz = ratedRpm / SECONDS_PER_MINUTE;
  return yield* beltHzSteps(samples, ratedHz, { sampleRateHz, calibration, plans });
}

/** The measured speed as that of a shaft that turns at a multiple of it. */
function atShaft<S extends SpeedAround | null>(speed: S, ratio: number): S {
  if (speed === null || ratio === 1) return speed;
  const { rpm, nextRpm } = speed;
  const turned = {
    rpm: decimal(rpm * ratio),
    nextRpm: nextRpm === null ? null : decimal(nextRpm * ratio),
  };
  return { ...speed, ...turned };
}

function isSteady(speed: SpeedAround | null): boolean {
  if (speed === null || speed.nextRpm === null) return true;
  return Math.abs(speed.nextRpm - speed.rpm) <= SPEED_SHARE_MAX * speed.rpm;
}

/** 128 bits of SHA-256 over the record's id and the sensor's effective numbers, whatever their order in the site file. */
function bandReadingId(recordId: string, bands: readonly Band[]): string {
  const numbers = bands.map((band) => JSON.stringify(Object.entries(band).sort())).sort();
  const text = ["bands", recordId, ...numbers].join("\n");
  return createHash("sha256").update(text).digest("hex").slice(0, ID_HEX_DIGITS);
}
