import type { FaultSet } from "./faults.ts";
import type { EmptyDay } from "./options.ts";
import type { FaultyItem } from "./record-faults.ts";
import { writeString } from "./wire-writer.ts";

/** A piece of a response's text; `item` is the record that ends with it. */
export interface Piece {
  readonly text: string;
  readonly item: FaultyItem | null;
}

export function keyText(status: number | string, description: string): string {
  return `{"Description":${writeString(description)},"StatusNumber":${typeof status === "string" ? `"${status}"` : status}}`;
}

/** The response of a read operation, piece by piece: members in ordinal order unless a fault says otherwise. */
export function* envelopePieces(
  operation: string,
  items: Iterable<FaultyItem>,
  render: (item: FaultyItem) => string,
  faults: FaultSet,
  emptyDay: EmptyDay,
): Generator<Piece> {
  if (faults.has("empty-array")) return yield { text: "[]", item: null };
  const refusal = faults.get("non-zero-status") ?? faults.get("non-zero-status-with-records");
  const key = refusal
    ? keyText(refusal.spec.status ?? 17, "Invalid operation")
    : keyText(faults.has("string-status") ? "0" : 0, "OK");
  const isBare = faults.has("bare-envelope");
  const isWrapped = faults.has("wrapped");
  const shown = faults.has("non-zero-status") ? [] : items;
  const iterator = shown[Symbol.iterator]();
  const first = iterator.next();
  if (first.done && emptyDay === "empty-array" && refusal === undefined) {
    return yield { text: "[]", item: null };
  }
  yield { text: isWrapped ? `{"${operation}Result":[` : isBare ? "" : "[", item: null };
  if (first.done && typeof emptyDay === "object") {
    yield {
      text: `{"Configs":[],"Key":${keyText(emptyDay.status, "No records")},"Value":[]}`,
      item: null,
    };
  } else if (faults.has("two-elements")) {
    yield* element(key, faults, "empty", render, first.done ? [] : [first.value]);
    yield { text: ",", item: null };
    yield* element(key, faults, emptyDay, render, rest(iterator));
  } else {
    yield* element(key, faults, emptyDay, render, first.done ? [] : rest(iterator, first.value));
  }
  yield { text: isWrapped ? "]}" : isBare ? "" : "]", item: null };
}

function* rest(iterator: Iterator<FaultyItem>, first?: FaultyItem): Generator<FaultyItem> {
  if (first) yield first;
  for (let next = iterator.next(); !next.done; next = iterator.next()) yield next.value;
}

function* element(
  key: string,
  faults: FaultSet,
  emptyDay: EmptyDay,
  render: (item: FaultyItem) => string,
  items: Iterable<FaultyItem>,
): Generator<Piece> {
  const configs = faults.has("configs-missing")
    ? ""
    : faults.has("configs-null")
      ? '"Configs":null'
      : '"Configs":[]';
  const head = [configs, faults.has("key-missing") ? "" : `"Key":${key}`].filter(Boolean).join();
  const isFirst = faults.has("value-first");
  const before = isFirst || head === "" ? "{" : `{${head},`;
  const after = isFirst && head !== "" ? `,${head}}` : "}";
  const short = valueInPlaceOfRecords(faults);
  if (short !== null)
    return yield { text: short === "" ? `{${head}}` : `${before}${short}${after}`, item: null };
  let count = 0;
  for (const item of items) {
    yield { text: `${count === 0 ? `${before}"Value":[` : ","}${render(item)}`, item };
    count += 1;
  }
  if (count > 0) yield { text: `]${after}`, item: null };
  else if (emptyDay === "missing") yield { text: `{${head}}`, item: null };
  else
    yield { text: `${before}"Value":${emptyDay === "null" ? "null" : "[]"}${after}`, item: null };
}

/** The Value member if a fault removes the records; "" = no member at all, null = records as usual. */
function valueInPlaceOfRecords(faults: FaultSet): string | null {
  if (faults.has("value-null")) return '"Value":null';
  if (faults.has("value-missing")) return "";
  if (faults.has("value-empty-list")) return '"Value":[[]]';
  return null;
}
