/** Requests of the query service: tolerant of names, strict about values (services section 6). */

import { type QueryDate, readDate } from "../../../core/query/dates.ts";
import type { WireNames } from "../../../pipeline/wire/wire-names.ts";
import type { FieldSpec, OperationSpec } from "./operations.ts";

/** Our own status numbers, distinct from the documented ones (services section 6). */
export const QUERY_STATUS = {
  ok: 0,
  tokenWrong: 9001,
  fieldMissing: 9002,
  fieldWrong: 9003,
  dateWrong: 9004,
  notServed: 9005,
  fileUnknown: 9006,
  busy: 9007,
  internalFault: 9008,
} as const;

export interface QueryFault {
  readonly statusNumber: number;
  /** Never contains a value of the request: it could be the token. */
  readonly description: string;
}

export type FieldValue = number | string | boolean | QueryDate;

/** The checked fields of one request, by neutral name. */
export class QueryFields {
  readonly #values: ReadonlyMap<string, FieldValue>;

  constructor(values: ReadonlyMap<string, FieldValue>) {
    this.#values = values;
  }
  /** Null: not given. */
  integer(name: string): number | null {
    const value = this.#values.get(name);
    return typeof value === "number" ? value : null;
  }
  /** Null: any. */
  filter(name: string): number | null {
    const value = this.integer(name);
    return value === -1 ? null : value;
  }
  text(name: string): string {
    const value = this.#values.get(name);
    return typeof value === "string" ? value : "";
  }
  boolean(name: string): boolean {
    return this.#values.get(name) === true;
  }
  date(name: string): QueryDate | null {
    const value = this.#values.get(name);
    return typeof value === "object" ? value : null;
  }
}

export type QueryBody = Readonly<Record<string, unknown>>;

/** Fields in the order of checks: first all missing ones, then types and sets, then dates. */
export function readFields(
  operation: OperationSpec,
  body: QueryBody,
  names: WireNames,
): QueryFields | QueryFault {
  const given = operation.fields.map((spec) => ({ spec, value: names.member(body, spec.name) }));
  for (const { spec, value } of given) {
    if (spec.isRequired && (value === undefined || value === null)) {
      return fault(QUERY_STATUS.fieldMissing, `${names.wire(spec.name)} is missing`);
    }
  }
  const values = new Map<string, FieldValue>();
  let badDate: string | null = null;
  for (const { spec, value } of given) {
    if (value === undefined || value === null) continue;
    const read = readField(spec, value);
    if (read === WRONG) {
      return fault(QUERY_STATUS.fieldWrong, `${names.wire(spec.name)} ${expectation(spec)}`);
    }
    if (read === BAD_DATE) badDate ??= names.wire(spec.name);
    else if (read !== null) values.set(spec.name, read);
  }
  if (badDate !== null) {
    return fault(QUERY_STATUS.dateWrong, `${badDate} must be yyyy-MM-dd or yyyy-MM-dd HH:mm:ss`);
  }
  return new QueryFields(values);
}

export function fault(statusNumber: number, description: string): QueryFault {
  return { statusNumber, description };
}
export function isFault(value: object): value is QueryFault {
  return "statusNumber" in value;
}

const WRONG = Symbol("of the wrong type or not in its set");
const BAD_DATE = Symbol("no date");

/** Null: given but empty, which is allowed for a date. */
function readField(
  spec: FieldSpec,
  value: unknown,
): FieldValue | typeof WRONG | typeof BAD_DATE | null {
  switch (spec.type) {
    case "integer":
    case "filter": {
      const number = integerOf(value);
      if (number === null) return WRONG;
      return spec.values === undefined || spec.values.includes(number) ? number : WRONG;
    }
    case "boolean":
      return typeof value === "boolean" ? value : WRONG;
    case "text":
      return typeof value === "string" ? value : WRONG;
    case "code":
      if (typeof value === "number") return Number.isSafeInteger(value) ? String(value) : WRONG;
      return typeof value === "string" ? value.trim() : WRONG;
    case "date":
      if (typeof value !== "string") return WRONG;
      return value.trim() === "" ? null : (readDate(value) ?? BAD_DATE);
    default:
      return spec.type satisfies never;
  }
}

/** Integers also as numeric strings. */
function integerOf(value: unknown): number | null {
  const number =
    typeof value === "string" && /^\s*[+-]?\d{1,16}\s*$/.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) ? number : null;
}

function expectation({ type, values }: FieldSpec): string {
  if (values !== undefined) return `must be one of ${values.join(", ")}`;
  switch (type) {
    case "integer":
    case "filter":
      return "must be an integer";
    case "boolean":
      return "must be true or false";
    case "text":
    case "code":
    case "date":
      return "must be text";
    default:
      return type satisfies never;
  }
}
