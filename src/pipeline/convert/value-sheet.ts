import { bad, type Doubt, type Graded } from "../../core/quality.ts";
import type { ChannelTones, Flag, Value } from "../../core/reading.ts";
import type { RawRecord } from "../../core/record.ts";

/** More than any sensor tells; the other digits of a double are noise that is stored and sent. */
const DIGITS = 9;

/** Output of the converters of one record: values with their units and quality, and flags. */
export class ValueSheet {
  readonly values: Record<string, Value> = {};
  readonly units: Record<string, string> = {};
  readonly quality: Record<string, Doubt> = {};
  readonly flags = new Set<Flag>();
  /** Extra attributes that belong to a kind. */
  readonly attributes: Record<string, number | string | boolean> = {};
  /** If requested. */
  tones: ChannelTones[] | null = null;

  /** A number with the digits that are kept of it (plant section 25); never NaN or infinite, even if the arithmetic returned that. */
  number(name: string, unit: string, { value, doubt }: Graded): void {
    this.exact(name, unit, {
      value: value === null ? null : Number(value.toPrecision(DIGITS)),
      doubt,
    });
  }

  /** The same with all its digits: a speed that was computed from a measured one. */
  exact(name: string, unit: string, graded: Graded): void {
    const isUsable = graded.value === null || Number.isFinite(graded.value);
    this.#put(name, isUsable ? graded : bad("not_a_number"));
    this.units[name] = unit;
  }

  boolean(name: string, graded: Graded<boolean>): void {
    this.#put(name, graded);
  }

  text(name: string, graded: Graded<string>): void {
    this.#put(name, graded);
  }

  #put(name: string, { value, doubt }: Graded<number | string | boolean>): void {
    this.values[name] = value;
    if (doubt !== null) this.quality[name] = doubt;
  }
}

/** A number field of the record: absent is `missing`, unreadable is `not_a_number`. */
export function numberField(record: RawRecord, name: string): Graded {
  const value = record.fields[name];
  if (typeof value === "number" && Number.isFinite(value)) return { value, doubt: null };
  const isUnreadable = value !== undefined || record.faults.some(({ field }) => field === name);
  return bad(isUnreadable ? "not_a_number" : "missing");
}

/** Whether the record contains a field, readable or not. */
export function isCarried(record: RawRecord, name: string): boolean {
  return record.fields[name] !== undefined || record.faults.some((fault) => fault.field === name);
}
