/**
 * Complete responses to queries over a range of time. A short response is built in memory; a long one is read again
 * while it is sent, so that memory stays flat. A query that is too large for a box is refused with 9007 before the
 * first byte: never less data than requested.
 */

import type { MergedRange } from "../../core/query/ports.ts";
import { countReadings } from "../../core/query/walk.ts";
import type { StoredReading } from "../../core/stored-reading.ts";
import type { QueryContext, QueryResponse } from "./context.ts";
import { type HistoryLimits } from "./history-limits.ts";
import { fault, QUERY_STATUS, type QueryFault } from "./rules/request.ts";

/**
 * Work on a response in memory; one that takes longer is computed while it is sent, so that the client receives data.
 */
const HELD_WORK_MS_MAX = 20_000;
/**
 * Until a response begins. A connection that is silent for a minute is ended (server.ts), and then the client never
 * learns why.
 */
const BEGINNING_MS_MAX = 45_000;
/**
 * Counting the content of a long response; the rest of a site of thousands of sensors is then estimated from those
 * counted.
 */
const COUNTING_MS_MAX = 2_000;
/** White space is sent this often while no row is found: a silent connection is ended (server.ts). */
const SILENCE_MS_MAX = 10_000;
/** A client that takes longer than this for a long response is not reading it. */
const SENDING_MS_MAX = 15 * 60_000;
/** Rows joined to one piece of text. */
const ROWS_PER_PIECE = 200;

/** Takes a row of the response: JSON text, and the part of the response it belongs to. */
export type PutRow = (part: number, text: string) => void;
export interface RowQuestion extends MergedRange {
  readonly rowsOf: (reading: StoredReading, put: PutRow) => void;
}
/** How rows become `Value`. A reading's rows may be in several parts; each part is one list. */
export interface ResponseShape {
  readonly parts: readonly number[];
  /** Parts without rows are omitted. */
  readonly areEmptyPartsLeftOut: boolean;
  readonly open: string;
  readonly openPart: (part: number) => string;
  readonly closePart: string;
  readonly close: string;
}
/** One list of rows. */
export function listShape(open: string, close: string): ResponseShape {
  return {
    parts: [0],
    areEmptyPartsLeftOut: false,
    open,
    openPart: () => "",
    closePart: "",
    close,
  };
}

/** The query takes longer than a response may. */
class WorkLimitPassed extends Error {}

export async function answerRows(
  context: QueryContext,
  question: RowQuestion,
  shape: ResponseShape,
): Promise<QueryResponse | QueryFault> {
  try {
    return await rowsWithin(context, question, shape);
  } catch (error) {
    if (!(error instanceof WorkLimitPassed)) throw error;
    const seconds = BEGINNING_MS_MAX / 1000;
    return fault(
      QUERY_STATUS.busy,
      `response too large: more than ${seconds} s of work before its first row; request a shorter range or fewer sensors`,
    );
  }
}

async function rowsWithin(
  context: QueryContext,
  question: RowQuestion,
  shape: ResponseShape,
): Promise<QueryResponse | QueryFault> {
  const { limits, parts, pause } = context;
  const { history, clock } = parts;
  const startedAtMs = clock.monotonic();
  /** By part, a piece for each page: few long texts take less memory than many short ones. */
  const held = new Map<number, string[]>(shape.parts.map((part) => [part, []]));
  let rows = 0;
  let bytes = 0;
  let readings = 0;
  let isWhole = true;
  let workedMs = 0;
  /** Since half of the rows are there: what runs for the first time says nothing about the rest. */
  let since = { workedMs: 0, readings: 0 };
  // Also if no row is found for long: many sensors over many years.
  const bounded = async (): Promise<void> => {
    await pause();
    if (clock.monotonic() - startedAtMs > BEGINNING_MS_MAX) throw new WorkLimitPassed();
  };
  let turnMs = startedAtMs;
  const pages = history.merged(question)[Symbol.iterator]();
  for (let next = pages.next(); next.done !== true; next = pages.next()) {
    const page = next.value;
    const texts = new Map<number, string[]>();
    const put = (part: number, text: string): void => {
      const known = texts.get(part);
      if (known === undefined) texts.set(part, [text]);
      else known.push(text);
      rows += 1;
    };
    for (const reading of page) question.rowsOf(reading, put);
    for (const [part, list] of texts) {
      const piece = list.join();
      held.get(part)?.push(piece);
      bytes += piece.length + 1;
    }
    readings += page.length;
    // Where nothing was found yet, nothing says how long the rest takes; the time of the beginning is limited.
    if (readings > 0) workedMs += clock.monotonic() - turnMs;
    isWhole = rows <= limits.heldRowsMax && workedMs <= HELD_WORK_MS_MAX;
    if (!isWhole) break;
    if (since.readings === 0 && rows > limits.heldRowsMax / 2) since = { workedMs, readings };
    await bounded();
    turnMs = clock.monotonic();
  }
  if (isWhole) return { pieces: heldPieces(held, shape) };
  const workMsEach = (workedMs - since.workedMs) / Math.max(1, readings - since.readings);
  const countedUntilMs = clock.monotonic() + COUNTING_MS_MAX;
  const isEnough = () => clock.monotonic() > countedUntilMs;
  const count = await countReadings(history, question, bounded, isEnough);
  const workMs = count * workMsEach * shape.parts.length;
  const refused = beyond(limits, (count / Math.max(1, readings)) * bytes, workMs);
  if (refused !== null) return refused;
  const place = context.longAnswers.take();
  if (place === null) {
    return fault(QUERY_STATUS.busy, "busy: several long responses are being sent; try again later");
  }
  // Of one list what is held is its beginning. Of several, each is a walk of its own.
  const [part] = shape.parts;
  const pieces = shape.parts.length === 1 && part !== undefined ? held.get(part) : undefined;
  const begun = pieces && { pieces, pages: { [Symbol.iterator]: () => pages } };
  return { pieces: walkedPieces(context, question, shape, begun), release: place };
}

function beyond(limits: HistoryLimits, bytes: number, workMs: number): QueryFault | null {
  if (bytes <= limits.bytesMax && workMs <= limits.workMsMax) return null;
  const about =
    bytes > limits.bytesMax
      ? `about ${Math.ceil(bytes / 1e6)} MB, but the limit is ${Math.floor(limits.bytesMax / 1e6)} MB`
      : `about ${Math.ceil(workMs / 1000)} s of work, but the limit is ${limits.workMsMax / 1000} s`;
  return fault(QUERY_STATUS.busy, `response too large: ${about}; request a shorter range`);
}

/** What was found in the first pages, and the pages after them. */
interface BegunWalk {
  readonly pieces: readonly string[];
  readonly pages: Iterable<readonly StoredReading[]>;
}

function* heldPieces(
  held: ReadonlyMap<number, readonly string[]>,
  shape: ResponseShape,
): Generator<string> {
  yield shape.open;
  let isFirst = true;
  for (const [part, pieces] of held) {
    if (pieces.length === 0 && shape.areEmptyPartsLeftOut) continue;
    yield `${isFirst ? "" : ","}${shape.openPart(part)}`;
    isFirst = false;
    for (const [n, piece] of pieces.entries()) yield n === 0 ? piece : `,${piece}`;
    yield shape.closePart;
  }
  yield shape.close;
}

/**
 * Reads the range once for each part, or on from where it began. A piece that throws ends the connection, so no client
 * takes a partial response for a complete one.
 */
async function* walkedPieces(
  { parts: { history, clock }, pause }: QueryContext,
  question: RowQuestion,
  shape: ResponseShape,
  begun: BegunWalk | undefined,
): AsyncGenerator<string> {
  const endsAtMs = clock.monotonic() + SENDING_MS_MAX;
  const newestSeq = history.newestSeq();
  const walked: WalkedRows = { readings: null, newestSeq, parts: new Set() };
  let lastProgressMs = clock.monotonic();
  const isSilent = () => clock.monotonic() - lastProgressMs > SILENCE_MS_MAX;
  const bounded = async (): Promise<void> => {
    await pause();
    if (clock.monotonic() > endsAtMs) throw new Error("the response took too long");
  };
  yield shape.open;
  let isFirstPart = true;
  for (const part of shape.parts) {
    if (walked.readings !== null && !walked.parts.has(part) && shape.areEmptyPartsLeftOut) continue;
    let isFirstPiece = true;
    const pages = begun?.pages ?? history.merged(question);
    const pieces = partPieces(pages, question.rowsOf, part, walked, bounded, isSilent);
    for await (const piece of begun ? chained(begun.pieces, pieces) : pieces) {
      lastProgressMs = clock.monotonic();
      if (lastProgressMs > endsAtMs) throw new Error("the response was not read in time");
      if (piece === "") {
        yield " ";
        continue;
      }
      if (isFirstPiece) yield `${isFirstPart ? "" : ","}${shape.openPart(part)}${piece}`;
      else yield `,${piece}`;
      isFirstPiece = false;
    }
    if (isFirstPiece) {
      if (shape.areEmptyPartsLeftOut) continue;
      yield `${isFirstPart ? "" : ","}${shape.openPart(part)}`;
    }
    isFirstPart = false;
    yield shape.closePart;
  }
  yield shape.close;
}

/** Each pass omits what was stored since the response began, wherever its time is, and must find the same number. */
interface WalkedRows {
  /** Of the first pass; null before its end. */
  readings: number | null;
  readonly newestSeq: number;
  /** Parts that have rows. */
  readonly parts: Set<number>;
}

async function* chained<T>(first: Iterable<T>, second: AsyncIterable<T>): AsyncGenerator<T> {
  yield* first;
  yield* second;
}

async function* partPieces(
  pages: Iterable<readonly StoredReading[]>,
  rowsOf: RowQuestion["rowsOf"],
  part: number,
  walked: WalkedRows,
  pause: () => Promise<void>,
  isSilent: () => boolean,
): AsyncGenerator<string> {
  const isFirst = walked.readings === null;
  let readings = 0;
  let texts: string[] = [];
  const put = (own: number, text: string): void => {
    if (own === part) texts.push(text);
    if (isFirst) walked.parts.add(own);
  };
  for (const page of pages) {
    for (const reading of page) {
      if (reading.seq > walked.newestSeq) continue;
      readings += 1;
      rowsOf(reading, put);
    }
    if (texts.length >= ROWS_PER_PIECE) {
      yield texts.join();
      texts = [];
    } else if (isSilent()) yield "";
    await pause();
  }
  if (texts.length > 0) yield texts.join();
  if (isFirst) walked.readings = readings;
  else if (readings !== walked.readings) {
    throw new Error("readings of the range were removed while they were being sent");
  }
}
