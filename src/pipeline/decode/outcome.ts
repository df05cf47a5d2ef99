import { isJsonArray, type JsonValue } from "../../core/record.ts";
import { ENVELOPE } from "../wire/names.ts";
import { answerIn } from "./answer-text.ts";
import { asBuffer } from "./byte-window.ts";
import { memberOf, readStatus } from "./envelope-members.ts";
import { JsonText } from "./json-text.ts";
import { Oddities } from "./scalars.ts";

/** How an operation without records ended. */
export interface Outcome {
  readonly statusNumber: number;
  readonly description: string;
}

/**
 * Reads a small response, of the operations that store settings, in every form of services section 2 rule 2. Of several
 * envelopes the first that is not 0 counts. Null if it is JSON without an outcome; throws SyntaxError if it is not
 * JSON.
 */
export function readOutcome(response: Uint8Array): Outcome | null {
  const bytes = asBuffer(answerIn(response));
  const hasBom = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  const outcomes = outcomesOf(JsonText.parse(bytes, hasBom ? 3 : 0), true);
  return outcomes.find(({ statusNumber }) => statusNumber !== 0) ?? outcomes[0] ?? null;
}

function outcomesOf(value: JsonValue, mayBeWrapped: boolean): Outcome[] {
  if (isJsonArray(value)) return value.flatMap((element) => outcomesOf(element, false));
  if (typeof value !== "object" || value === null) return [];
  const own = outcomeOf(memberOf(value, ENVELOPE.key)) ?? outcomeOf(value);
  if (own) return [own];
  if (!mayBeWrapped) return [];
  const wrapper = Object.keys(value).find((name) => name.endsWith(ENVELOPE.resultSuffix));
  return wrapper === undefined ? [] : outcomesOf(value[wrapper] ?? null, false);
}

function outcomeOf(value: JsonValue | undefined): Outcome | null {
  if (value === undefined) return null;
  const statusNumber = readStatus(memberOf(value, ENVELOPE.statusNumber), new Oddities());
  if (statusNumber === null) return null;
  const description = memberOf(value, ENVELOPE.description);
  return { statusNumber, description: typeof description === "string" ? description : "" };
}
