/** The other side: payloads read and written with the static codec of sparkplug-payload, which shares no code with ours. */
import { createRequire } from "node:module";
import { join } from "node:path";
import type { org } from "sparkplug-payload/lib/sparkplugPayloadProto.js";

type Root = { org: typeof org };
const load = createRequire(join(process.cwd(), "package.json"));
const root: Root = load("sparkplug-payload/lib/sparkplugPayloadProto.js");
const { Payload } = root.org.eclipse.tahu.protobuf;

export interface SeenMetric {
  readonly name?: string;
  readonly alias?: number;
  readonly timestamp?: number;
  readonly datatype?: number;
  readonly isHistorical?: boolean;
  readonly isNull?: boolean;
  readonly intValue?: number;
  readonly longValue?: number;
  readonly doubleValue?: number;
  readonly booleanValue?: boolean;
  readonly stringValue?: string;
  readonly bytesValue?: Uint8Array;
  readonly metadata?: { readonly contentType?: string; readonly size?: number };
  readonly properties?: {
    readonly keys: string[];
    readonly values: {
      readonly type?: number;
      readonly isNull?: boolean;
      readonly intValue?: number;
      readonly doubleValue?: number;
      readonly stringValue?: string;
    }[];
  };
}
export interface SeenPayload {
  readonly timestamp?: number;
  readonly seq?: number;
  readonly metrics: SeenMetric[];
}

/** Only fields that are on the wire are in the result. */
export function decode(bytes: Uint8Array): SeenPayload {
  const seen = Payload.toObject(Payload.decode(bytes), { longs: Number });
  return { ...seen, metrics: seen["metrics"] ?? [] };
}

export function encode(payload: object): Buffer {
  return Buffer.from(Payload.encode(Payload.create(payload)).finish());
}

const VALUE_FIELDS = [
  "intValue",
  "longValue",
  "doubleValue",
  "booleanValue",
  "stringValue",
  "bytesValue",
] as const;

/** Fields of the value's oneof that are on the wire. */
export function valueFields(metric: SeenMetric): string[] {
  return VALUE_FIELDS.filter((field) => metric[field] !== undefined);
}
export function valueOf(metric: SeenMetric | undefined): unknown {
  if (!metric) return undefined;
  const field = VALUE_FIELDS.find((name) => metric[name] !== undefined);
  return field === undefined ? null : metric[field];
}
export function property(metric: SeenMetric | undefined, key: string) {
  const index = metric?.properties?.keys.indexOf(key) ?? -1;
  return index < 0 ? undefined : metric?.properties?.values[index];
}

/** A rebirth request as hosts send it; `datatype` as Tahu does. */
export function rebirth(options: { datatype?: boolean; value?: boolean } = {}): Buffer {
  return encode({
    metrics: [
      {
        name: "Node Control/Rebirth",
        booleanValue: options.value ?? true,
        ...(options.datatype ? { datatype: 11 } : {}),
      },
    ],
  });
}
