import { endMs, isWrittenAfter, type LocalTime, startMs } from "../core/query/dates.ts";
import { fault, QUERY_STATUS, type QueryFault, type QueryFields } from "../core/query/request.ts";
import type { SiteTree } from "../core/query/site-tree.ts";
import type { UnitTable } from "../core/query/units.ts";
import { API_REQUEST } from "../core/wire/names.ts";
import type { WireNames } from "../core/wire/wire-names.ts";
import type { HttpParts } from "./parts.ts";
import type { HistoryLimits } from "./query-rows.ts";
import type { Places } from "./turns.ts";

/** What the operations of the query service share. */
export interface QueryContext {
  readonly parts: HttpParts;
  readonly tree: SiteTree;
  readonly units: UnitTable;
  readonly names: WireNames;
  readonly time: LocalTime;
  readonly timezone: string;
  readonly limits: HistoryLimits;
  /** Places for answers that are made while they are read. */
  readonly longAnswers: Places;
  /** Lets other work go first. Throws AskerGone once nobody waits for the answer. */
  readonly pause: () => Promise<void>;
}

/** Who asked is gone: the question ends. */
export class AskerGone extends Error {
  override readonly name = "AskerGone";
}

/** `Value` as pieces of JSON text. Whether the answer succeeds is known before the first byte is sent. */
export interface QueryAnswer {
  readonly pieces: Iterable<string> | AsyncIterable<string>;
  /** Called once the answer is sent, or its reader is gone. */
  readonly release?: () => void;
}

export function jsonAnswer(value: unknown): QueryAnswer {
  return { pieces: [JSON.stringify(value)] };
}

/** Pieces of this many rows: few writes, and no text of the whole answer. */
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

/** Now, by the gateway's clock where it tells one (contract 3 GATEWAY_TIMEZONE). */
function gatewayNowMs({ parts }: QueryContext): number {
  return parts.clock.now() + (parts.status.status().gateway.skewMs ?? 0);
}

/** StartDate and EndDate as a range: start included, end excluded, ms. */
export function rangeOf(
  fields: QueryFields,
  context: QueryContext,
): { readonly fromMs: number; readonly toMs: number } | QueryFault {
  const start = fields.date(API_REQUEST.startDate);
  const end = fields.date(API_REQUEST.endDate);
  const fromMs = start === null ? Number.MIN_SAFE_INTEGER : startMs(start, context.timezone);
  const toMs = end === null ? gatewayNowMs(context) + 1 : endMs(end, context.timezone);
  if (start !== null && end !== null && fromMs >= toMs && isWrittenAfter(start, end)) {
    return fault(QUERY_STATUS.dateWrong, "StartDate is after EndDate");
  }
  // Put forward by the hour that is left out in spring, a start can pass its end: nothing lies between them.
  return { fromMs, toMs: Math.max(fromMs, toMs) };
}
