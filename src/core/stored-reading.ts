import { intactJson, parsedObject } from "./parsed-json.ts";
import type { Reading, Waveform, WaveformChannel } from "./reading.ts";
import { isJsonObject, type JsonObject } from "./record.ts";
import { INTEGER, named, type Of, object, oneOf } from "./schema.ts";
import type { Kind } from "./sensor.ts";
import { AXES } from "./unit.ts";

/** A reading as stored: the JSON members are texts ready to be inserted into a payload. */
export interface StoredReading {
  /** Storage order; never reused. */
  readonly seq: number;
  readonly id: string;
  readonly sensor: string;
  readonly kind: Kind;
  readonly timeMs: number;
  readonly offsetMinutes: number | null;
  /** When the agent stored it, ms (our clock). */
  readonly storedAtMs: number;
  /** JSON objects as text. */
  readonly values: string;
  readonly units: string;
  readonly quality: string;
  readonly attributes: string;
  readonly raw: string;
  /** File ids of stored waveform channels, by channel number; empty if none was stored. */
  readonly waveforms: readonly WaveformRef[];
}

/** What is counted of it. */
export type ReadingTexts = Pick<StoredReading, "values" | "units" | "quality">;

/**
 * Members of a stored reading. SQLite has no checksums: a flipped bit makes a text that is no JSON. It counts as empty,
 * and never ends the process.
 */
const membersOrNone = <V>(text: string): Readonly<Record<string, V>> =>
  parsedObject<Readonly<Record<string, V>>>(text) ?? {};
export const storedValues = ({ values }: Pick<StoredReading, "values">): Reading["values"] =>
  membersOrNone(values);
export const storedUnits = ({ units }: Pick<StoredReading, "units">): Reading["units"] =>
  membersOrNone(units);
export const storedAttributes = ({
  attributes,
}: Pick<StoredReading, "attributes">): Reading["attributes"] => membersOrNone(attributes);
/** Most readings are good throughout. */
const GOOD: Reading["quality"] = {};
export const storedQuality = ({ quality }: Pick<StoredReading, "quality">): Reading["quality"] =>
  quality === "{}" ? GOOD : membersOrNone(quality);

/** Dated by a clock that ran ahead (flag `time_in_future`): it says nothing about its day, also once that has come. */
export const isDatedAhead = ({ attributes }: Pick<StoredReading, "attributes">): boolean =>
  attributes.includes('"time_in_future"');

/** Values and quality; null where a text is damaged. */
export function intactMembers({
  values,
  quality,
}: Pick<StoredReading, "values" | "quality">): Pick<Reading, "values" | "quality"> | null {
  const all = parsedObject<Reading["values"]>(values);
  const doubts = quality === "{}" ? GOOD : parsedObject<Reading["quality"]>(quality);
  return all === null || doubts === null ? null : { values: all, quality: doubts };
}

/** True for the names of values that an uplink selects. */
export type IsChosen = (value: string) => boolean;

/** The reading with only these values. Throws SyntaxError if a text is damaged. */
export function withValues(reading: StoredReading, isChosen: IsChosen): StoredReading {
  const pick = (text: string) => {
    const chosen = Object.entries(membersOf(text)).filter(([name]) => isChosen(name));
    return JSON.stringify(Object.fromEntries(chosen));
  };
  const { values, units, quality } = reading;
  return { ...reading, values: pick(values), units: pick(units), quality: pick(quality) };
}

/** Whether it has such a value. A damaged text may: the publisher reports it. */
export function hasChosen(values: string, isChosen: IsChosen): boolean {
  try {
    return Object.keys(membersOf(values)).some(isChosen);
  } catch {
    return true;
  }
}

function membersOf(text: string): JsonObject {
  const value = intactJson(text);
  return isJsonObject(value) ? value : {};
}

export const WAVEFORM_REF = named(
  "WaveformRef",
  object({ fileId: INTEGER, channel: INTEGER, axis: oneOf(AXES) }),
);
export type WaveformRef = Of<typeof WAVEFORM_REF>;

export interface StoredWaveform extends Omit<Waveform, "channels">, WaveformChannel {
  readonly fileId: number;
  readonly sensor: string;
  readonly timeMs: number;
  readonly readingId: string;
}
