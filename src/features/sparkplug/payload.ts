/**
 * Encodes our metrics to payload bytes (sparkplug.proto), and decodes commands.
 * Only types that every host reads in the same way are written: no UInt32 (hosts differ in its field), no Float (24
 * bits).
 */
import { create, fromBinary, isFieldSet, toBinary } from "@bufbuild/protobuf";
import {
  MetaDataSchema,
  MetricSchema,
  PayloadSchema,
  type PropertyValue,
  PropertyValueSchema,
  type Metric as WireMetric,
} from "./generated/sparkplug_pb.ts";

const DATATYPES = {
  Int32: 3,
  Int64: 4,
  Double: 10,
  Boolean: 11,
  String: 12,
  DateTime: 13,
  Bytes: 17,
} as const;
export type Datatype = keyof typeof DATATYPES;
export type MetricValue = number | bigint | boolean | string | Uint8Array | null;

/** Quality, engUnit and the like. `value` null is sent as is_null. */
export interface Property {
  readonly key: string;
  readonly type: "Int32" | "Double" | "String";
  readonly value: number | string | null;
}

export interface Metric {
  readonly name: string;
  readonly type: Datatype;
  /** ms since 1970 UTC. */
  readonly timeMs: number;
  readonly value: MetricValue;
  readonly isHistorical?: boolean;
  /** For Bytes, e.g. application/octet-stream: sent as metadata together with the size. */
  readonly contentType?: string;
  readonly properties?: readonly Property[];
}

export interface Payload {
  /** When it is sent, ms since 1970 UTC. */
  readonly timeMs: number;
  /** Null in an NDEATH, which has none. */
  readonly seq: number | null;
  readonly metrics: readonly Metric[];
}

export function encodePayload(payload: Payload): Uint8Array {
  const message = create(PayloadSchema, { timestamp: BigInt(Math.trunc(payload.timeMs)) });
  if (payload.seq !== null) message.seq = BigInt(payload.seq);
  // Non-historical metrics are in time order over the whole list; so are historical ones (stable sort).
  message.metrics = [...payload.metrics].sort((a, b) => a.timeMs - b.timeMs).map(toWire);
  return toBinary(PayloadSchema, message);
}

function toWire(metric: Metric): WireMetric {
  const wire = create(MetricSchema, {
    name: metric.name,
    timestamp: BigInt(Math.trunc(metric.timeMs)),
    // A SHOULD of 3.0 leaves it out of DATA; decoders built on Tahu's JavaScript read null without it.
    datatype: DATATYPES[metric.type],
  });
  if (metric.isHistorical) wire.isHistorical = true;
  const value = toWireValue(metric.type, metric.value);
  if (value === null) wire.isNull = true;
  else wire.value = value;
  if (metric.contentType !== undefined && metric.value instanceof Uint8Array) {
    wire.metadata = create(MetaDataSchema, {
      contentType: metric.contentType,
      size: BigInt(metric.value.length),
    });
  }
  if (metric.properties && metric.properties.length > 0) {
    wire.properties = {
      $typeName: "gateside.sparkplug.PropertySet",
      keys: metric.properties.map((p) => p.key),
      values: metric.properties.map(toWireProperty),
    };
  }
  return wire;
}

/** Null if there is no value of that type: null itself, NaN and infinities, and a value of another type. */
function toWireValue(type: Datatype, value: MetricValue): WireMetric["value"] | null {
  switch (type) {
    case "Double":
      return typeof value === "number" && Number.isFinite(value)
        ? { case: "doubleValue", value }
        : null;
    case "Int32":
      return typeof value === "number" && Number.isInteger(value) && value === (value | 0)
        ? { case: "intValue", value: value >>> 0 }
        : null;
    case "DateTime":
    case "Int64": {
      const whole =
        typeof value === "number" && Number.isSafeInteger(value) ? BigInt(value) : value;
      return typeof whole === "bigint" && BigInt.asIntN(64, whole) === whole
        ? { case: "longValue", value: BigInt.asUintN(64, whole) }
        : null;
    }
    case "Boolean":
      return typeof value === "boolean" ? { case: "booleanValue", value } : null;
    case "String":
      return typeof value === "string" ? { case: "stringValue", value } : null;
    case "Bytes":
      return value instanceof Uint8Array ? { case: "bytesValue", value } : null;
  }
}

function toWireProperty(property: Property): PropertyValue {
  const wire = create(PropertyValueSchema, { type: DATATYPES[property.type] });
  const value = toWireValue(property.type, property.value);
  if (
    value?.case === "intValue" ||
    value?.case === "doubleValue" ||
    value?.case === "stringValue"
  ) {
    wire.value = value;
  } else wire.isNull = true;
  return wire;
}

/** One metric of a command. Datatype as sent, null if absent. */
export interface CommandMetric {
  readonly name: string;
  readonly datatype: number | null;
  readonly value: MetricValue;
}

/** The named metrics of an NCMD or DCMD; null if the bytes are not a payload. Never throws. */
export function decodeCommand(bytes: Uint8Array): CommandMetric[] | null {
  let metrics: WireMetric[];
  try {
    metrics = fromBinary(PayloadSchema, bytes, { readUnknownFields: false }).metrics;
  } catch {
    // Anyone may publish anything there; undecodable bytes are the sender's problem.
    return null;
  }
  return metrics
    .filter((metric) => isFieldSet(metric, MetricSchema.field.name))
    .map((metric) => {
      const datatype = isFieldSet(metric, MetricSchema.field.datatype) ? metric.datatype : null;
      return { name: metric.name, datatype, value: readValue(metric, datatype) };
    });
}

function readValue(metric: WireMetric, datatype: number | null): MetricValue {
  const { value } = metric;
  if (metric.isNull || value.case === undefined) return null;
  switch (value.case) {
    case "intValue":
      // Int8, Int16 and Int32 are sent as two's complement in 32 bits.
      return datatype !== null && datatype >= 1 && datatype <= 3 ? value.value | 0 : value.value;
    case "longValue":
      return datatype === DATATYPES.Int64 || datatype === null
        ? BigInt.asIntN(64, value.value)
        : value.value;
    case "floatValue":
    case "doubleValue":
    case "booleanValue":
    case "stringValue":
    case "bytesValue":
      return value.value;
  }
}
