import type { Timestamp } from "../core/record.ts";

/** An instant with the writer's offset, before it is formatted. */
export type PlainTime = Timestamp;
export type PlainValue =
  | null
  | boolean
  | number
  | string
  | Int16Array
  | readonly number[]
  | PlainTime;

/** A record as the gateway has it, before any JSON: neutral field names, times as instants, samples as counts. */
export type PlainRecord = Readonly<Record<string, PlainValue>>;

export function isTime(value: PlainValue): value is PlainTime {
  return typeof value === "object" && value !== null && "ms" in value;
}

/**
 * For the control interface: times stay objects, samples become base64 of little-endian 16-bit counts, NaN its name.
 */
export function toTransport(record: PlainRecord, withSamples: boolean): Record<string, unknown> {
  // Not by assignment: one fault adds a member named __proto__.
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => {
      if (value instanceof Int16Array) return [name, samplesOf(value, withSamples)];
      const isToken = typeof value === "number" && !Number.isFinite(value);
      return [name, isToken ? String(value) : value];
    }),
  );
}

function samplesOf(samples: Int16Array, withSamples: boolean): object {
  if (!withSamples) return { samples: samples.length };
  const bytes = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
  return { int16: bytes.toString("base64") };
}

/** Members that no client knows. Their names and values are content as they are written, so that no spelling changes them. */
export const UNKNOWN_MEMBERS: ReadonlySet<string> = new Set(["__proto__", "constructor", "zz_new"]);
