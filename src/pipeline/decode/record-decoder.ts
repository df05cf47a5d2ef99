import { canonicalJson } from "../../core/record/identity.ts";
import {
  type ChannelSamples,
  type FieldFault,
  isJsonArray,
  type JsonValue,
  type RawRecord,
  type Reject,
  type TimeField,
  type Timestamp,
} from "../../core/record.ts";
import type { PolledKind } from "../../core/sensor.ts";
import type { Field } from "../wire/names.ts";
import {
  isPlausibleTime,
  isWithoutZone,
  parseIsoTime,
  parseTimeWithOffset,
  parseWireTime,
} from "../wire/timestamp.ts";
import type { FieldLookup, WireNames } from "../wire/wire-names.ts";
import { JsonText } from "./json-text.ts";
import { BoundExceeded, RECORD_BOUNDS, type RecordBounds, RecordBudget } from "./record-bounds.ts";
import { SampleReader } from "./samples.ts";
import { type Oddities, readBoolean, readNumber } from "./scalars.ts";

const CHANNELS = 3;
/** A record this short cannot exceed a limit. */
const UNCOUNTED_BYTES_MAX = 16_384;
const ABSENT: ChannelSamples = { state: "absent" };

/** A channel during decoding of the members; a class, so that no JSON value can be mistaken for one. */
class ReadChannel {
  readonly samples: ChannelSamples;
  constructor(samples: ChannelSamples) {
    this.samples = samples;
  }
}
type MemberValue = JsonValue | ReadChannel;

/** The record under construction. */
interface Draft {
  sensorCode: string | null;
  readonly fields: Record<string, number | string | boolean>;
  readonly times: Partial<Record<TimeField, Timestamp>>;
  readonly timeTexts: Partial<Record<TimeField, string>>;
  readonly channels: ChannelSamples[];
  readonly extra: Record<string, JsonValue>;
  readonly faults: FieldFault[];
}

/** Turns the text of one record into a RawRecord, field by field, so that a bad field affects only itself. */
export class RecordDecoder {
  readonly #kind: PolledKind;
  readonly #lookup: FieldLookup;
  readonly #oddities: Oddities;
  readonly #samples: SampleReader;

  readonly #bounds: RecordBounds;

  constructor(
    kind: PolledKind,
    names: WireNames,
    oddities: Oddities,
    bounds: RecordBounds = RECORD_BOUNDS,
  ) {
    this.#kind = kind;
    this.#lookup = names.recordFields(kind);
    this.#oddities = oddities;
    this.#bounds = bounds;
    this.#samples = new SampleReader(bounds.samplesMax);
  }

  /** Decodes bytes[start..end), which begins with `{`. */
  decode(bytes: Buffer, start: number, end: number): RawRecord | Reject {
    try {
      return this.#assemble(this.#members(bytes, start, end));
    } catch (error) {
      if (error instanceof BoundExceeded) return { reason: error.reason, detail: error.message };
      if (!(error instanceof SyntaxError)) throw error;
      return { reason: "malformed", detail: error.message };
    }
  }

  #members(bytes: Buffer, start: number, end: number): { [name: string]: MemberValue } {
    if (this.#kind !== "accel" && end - start <= UNCOUNTED_BYTES_MAX) {
      try {
        return JSON.parse(bytes.toString("utf8", start, end));
      } catch {
        // Perhaps a bare NaN: read again by the tolerant reader, which finds any other fault.
      }
    }
    const budget = new RecordBudget(this.#bounds);
    const text = new JsonText(bytes, start, end, budget);
    const members = text.object<ReadChannel>(0, (name) =>
      this.#find(name)?.type === "channel"
        ? new ReadChannel(budget.channel(() => this.#samples.read(bytes, end, text)))
        : undefined,
    );
    text.expectEnd();
    return members;
  }

  #find(name: string): Field | undefined {
    return this.#lookup.exact.get(name) ?? this.#lookup.folded.get(name.toLowerCase());
  }

  #assemble(members: { [name: string]: MemberValue }): RawRecord {
    const draft: Draft = {
      sensorCode: null,
      fields: {},
      times: {},
      timeTexts: {},
      channels: this.#kind === "accel" ? Array.from({ length: CHANNELS }, () => ABSENT) : [],
      extra: Object.create(null),
      faults: [],
    };
    let others: string[] | null = null;
    for (const name in members) {
      const field = this.#lookup.exact.get(name);
      const value = members[name];
      if (field && value !== undefined) this.#read(field, value, draft);
      else (others ??= []).push(name);
    }
    if (others) this.#readOthers(others, members, draft);
    return { kind: this.#kind, ...draft };
  }

  /** Exact names were read first; these are other spellings of fields, or unknown members. */
  #readOthers(others: string[], members: { [name: string]: MemberValue }, draft: Draft): void {
    const taken = new Set(
      Object.keys(members).map((name) => this.#lookup.exact.get(name)?.name ?? ""),
    );
    for (const name of others) {
      const value = members[name];
      const field = this.#lookup.folded.get(name.toLowerCase());
      if (field && value !== undefined && !taken.has(field.name)) {
        taken.add(field.name);
        this.#oddities.add("name_letter_case");
        this.#read(field, value, draft);
      } else if (value !== undefined && !(value instanceof ReadChannel)) {
        this.#oddities.add("unknown_member");
        draft.extra[name] = withoutNaN(value);
      }
    }
  }

  #read({ name, type }: Field, value: MemberValue, draft: Draft): void {
    if (value instanceof ReadChannel) {
      draft.channels[Number(name.slice(-1)) - 1] = value.samples;
      return;
    }
    if (value === null) return; // Null and missing mean the same.
    switch (type) {
      case "number":
        return this.#readNumber(name, value, draft);
      case "time":
        return this.#readTime(name as TimeField, value, draft);
      case "boolean": {
        const read = readBoolean(value, this.#oddities);
        if (read === undefined) draft.faults.push({ field: name, reason: "wrong_type" });
        else draft.fields[name] = read;
        return;
      }
      case "text":
        if (typeof value === "string") draft.fields[name] = value;
        else if (typeof value === "number") draft.fields[name] = String(value);
        else draft.faults.push({ field: name, reason: "wrong_type" });
        return;
      case "code": {
        // Anything that is not a text or number stays visible, as a code that no sensor has.
        const code = typeof value === "string" ? value.trim() : canonicalJson(value);
        draft.sensorCode = code === "" ? null : code;
        return;
      }
      case "channel":
        throw new Error("channels are read from the text");
    }
  }

  #readNumber(name: string, value: JsonValue, draft: Draft): void {
    const read = readNumber(value, this.#oddities);
    if (read === undefined) return;
    draft.fields[name] = read;
    if (Number.isNaN(read)) {
      const isText = typeof value === "string" || typeof value === "number";
      draft.faults.push({ field: name, reason: isText ? "not_a_number" : "wrong_type" });
    }
  }

  #readTime(name: TimeField, value: JsonValue, draft: Draft): void {
    if (value === "") return;
    if (typeof value === "string") draft.timeTexts[name] = value;
    let time = parseWireTime(value) ?? parseTimeWithOffset(value);
    if (time === null && typeof value === "string") {
      time = parseIsoTime(value);
      if (time) {
        this.#oddities.add("iso_time");
        draft.faults.push({ field: name, reason: "iso_time" });
      }
    }
    if (time === null) {
      const hasNoZone = typeof value === "string" && isWithoutZone(value);
      draft.faults.push({ field: name, reason: hasNoZone ? "time_without_zone" : "bad_time" });
    } else if (isPlausibleTime(time.ms)) draft.times[name] = time;
    else draft.faults.push({ field: name, reason: "time_implausible" });
  }
}

/** JSON has no NaN: the bare word is kept as text. */
function withoutNaN(value: JsonValue): JsonValue {
  if (typeof value === "number") return Number.isNaN(value) ? "NaN" : value;
  if (typeof value !== "object" || value === null) return value;
  if (isJsonArray(value)) return value.map(withoutNaN);
  const copy: Record<string, JsonValue> = Object.create(null);
  for (const [name, member] of Object.entries(value)) copy[name] = withoutNaN(member);
  return copy;
}
