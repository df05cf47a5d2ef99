/** An instant with the writer's offset, before it becomes text. */
export interface PlainTime {
  readonly ms: number;
  readonly offsetMinutes: number | null;
}
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

/** For the control side: times stay objects, samples become base64 of little-endian 16-bit counts, NaN its name. */
export function toTransport(record: PlainRecord, withSamples: boolean): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(record)) {
    if (value instanceof Int16Array) {
      out[name] = withSamples
        ? { int16: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64") }
        : { samples: value.length };
    } else if (typeof value === "number" && !Number.isFinite(value)) out[name] = String(value);
    else out[name] = value;
  }
  return out;
}
