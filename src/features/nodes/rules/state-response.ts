/** Extracts the records from the response of a state read, in every envelope of services.md section 2. */

import { CallFailure, snippetOf } from "../../../core/failure.ts";
import { isJsonArray, type JsonValue } from "../../../core/record.ts";
import { answerIn } from "../../../pipeline/decode/answer-text.ts";
import { asBuffer } from "../../../pipeline/decode/byte-window.ts";
import { EnvelopeWalker } from "../../../pipeline/decode/envelope-walker.ts";
import { JsonText } from "../../../pipeline/decode/json-text.ts";
import {
  BoundExceeded,
  RECORD_BOUNDS,
  RecordBudget,
} from "../../../pipeline/decode/record-bounds.ts";
import type { Oddities } from "../../../pipeline/decode/scalars.ts";
import { ENVELOPE } from "../../../pipeline/wire/names.ts";
import type { WireNames } from "../../../pipeline/wire/wire-names.ts";

/** More states than a node reports in a day. */
const RECORDS_MAX = 20_000;
/** How much of a service's own text is shown, characters. */
const DESCRIPTION_MAX = 500;

export interface StateResponse {
  /** In the order of the response; each is an object. */
  readonly records: readonly JsonValue[];
  /** Elements that are not records. */
  readonly rejected: number;
}

export interface StateResponseOptions {
  readonly operation: string;
  readonly names: WireNames;
  readonly oddities: Oddities;
  /** GATEWAY_EMPTY_STATUSES. */
  readonly emptyStatuses: ReadonlySet<number>;
  readonly redact: (text: string) => string;
}

/** Throws CallFailure if it is unusable: not JSON, truncated, or with a status other than 0. */
export function readStateResponse(body: Uint8Array, reading: StateResponseOptions): StateResponse {
  const { operation, names, oddities, emptyStatuses, redact } = reading;
  const bytes = asBuffer(answerIn(body));
  const records: JsonValue[] = [];
  let rejected = 0;
  const take = (value: JsonValue) => {
    // An array where an object is expected contains it.
    if (isJsonArray(value)) for (const inner of value) take(inner);
    else if (typeof value === "object" && value !== null && records.length < RECORDS_MAX)
      records.push(value);
    else rejected += 1;
  };
  const walker = new EnvelopeWalker({
    oddities,
    wrapperNames: [operation, names.wire(operation)].map((name) =>
      `${name}${ENVELOPE.resultSuffix}`.toLowerCase(),
    ),
    onItem: (item, start, end) => {
      try {
        const text = new JsonText(item, start, end, new RecordBudget(RECORD_BOUNDS));
        const value = text.value(0);
        text.expectEnd();
        take(value);
      } catch (error) {
        if (!(error instanceof SyntaxError) && !(error instanceof BoundExceeded)) throw error;
        rejected += 1;
      }
    },
  });
  const at = walker.walk(bytes, 0, bytes.length);
  const { verdict } = walker;
  if (verdict?.outcome === "service_status") {
    if (emptyStatuses.has(verdict.statusNumber)) return { records: [], rejected: 0 };
    throw new CallFailure({
      failureClass: "service_status",
      statusNumber: verdict.statusNumber,
      message: `the gateway returned status ${verdict.statusNumber}: ${redact(verdict.description).slice(0, DESCRIPTION_MAX)}`,
    });
  }
  if (verdict !== null) {
    const snippet = snippetOf(bytes, redact);
    throw new CallFailure({
      failureClass: "not_json",
      snippet,
      message:
        verdict.outcome === "malformed"
          ? `the response is JSON, but not in the expected form: ${verdict.detail}`
          : `the response is not JSON: ${snippet}`,
    });
  }
  if (!walker.isComplete || at < bytes.length) {
    throw new CallFailure({
      failureClass: "truncated",
      message:
        bytes.length === 0 ? "the response is empty" : "the response ended before it was complete",
    });
  }
  return { records, rejected };
}
