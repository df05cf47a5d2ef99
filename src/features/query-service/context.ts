import { endMs, isWrittenAfter, type LocalTime, startMs } from "../../core/query/dates.ts";
import type { UnitTable } from "../../core/query/units.ts";
import type { HttpSources } from "../../http/parts.ts";
import { API_REQUEST } from "../../pipeline/wire/names.ts";
import type { WireNames } from "../../pipeline/wire/wire-names.ts";
import type { Alarms } from "../alarms/api.ts";
import type { HistoryLimits } from "./history-limits.ts";
import type { RequestSlots } from "./request-turns.ts";
import { fault, QUERY_STATUS, type QueryFault, type QueryFields } from "./rules/request.ts";
import type { SiteTree } from "./rules/site-tree.ts";

/** Shared by the operations of the query service. */
export interface QueryContext {
  readonly parts: HttpSources;
  /** Null while they are off. */
  readonly alarms: Pick<Alarms, "severity"> | null;
  readonly tree: SiteTree;
  readonly units: UnitTable;
  readonly names: WireNames;
  readonly time: LocalTime;
  readonly timezone: string;
  readonly limits: HistoryLimits;
  /** Sensors and kinds whose older readings had none of the facts, and until when they are not searched, monotonic ms. */
  readonly absentFacts: Map<string, number>;
  /** Slots for responses that are computed while they are sent. */
  readonly longAnswers: RequestSlots;
  /** Yields to other work. Throws ClientGone if the client has disconnected. */
  readonly pause: () => Promise<void>;
}

/** The client has disconnected: the query ends. */
export class ClientGone extends Error {
  override readonly name = "ClientGone";
}

/** `Value` as pieces of JSON text. Whether the query succeeds is known before the first byte is sent. */
export interface QueryResponse {
  readonly pieces: Iterable<string | Uint8Array> | AsyncIterable<string>;
  /** Called once the response is sent, or its client is gone. */
  readonly release?: () => void;
}

export function jsonResponse(value: unknown): QueryResponse {
  return { pieces: [JSON.stringify(value)] };
}

/** Pieces of this many rows: few writes, and never the text of the whole response in memory. */
const ROWS_PER_PIECE = 200;

/** Rows between `open` and `close`, in pieces. */
export function* rowPieces(
  open: string,
  rows: readonly unknown[],
  close: string,
): Generator<string> {
  yield open;
  for (let from = 0; from < rows.length; from += ROWS_PER_PIECE) {
    const texts = rows.slice(from, from + ROWS_PER_PIECE).map((row) => JSON.stringify(row));
    yield `${from === 0 ? "" : ","}${texts.join(",")}`;
  }
  yield close;
}

/** StartDate and EndDate as a range: start included, end excluded, ms. */
export function rangeOf(
  fields: QueryFields,
  context: QueryContext,
): { readonly fromMs: number; readonly toMs: number } | QueryFault {
  const start = fields.date(API_REQUEST.startDate);
  const end = fields.date(API_REQUEST.endDate);
  const fromMs = start === null ? Number.MIN_SAFE_INTEGER : startMs(start, context.timezone);
  const toMs = end === null ? context.parts.gatewayNow() + 1 : endMs(end, context.timezone);
  if (start !== null && end !== null && fromMs >= toMs && isWrittenAfter(start, end)) {
    return fault(QUERY_STATUS.dateWrong, "StartDate is after EndDate");
  }
  // Moved forward by the hour that is skipped in spring, a start can pass its end: nothing lies between them.
  return { fromMs, toMs: Math.max(fromMs, toMs) };
}
