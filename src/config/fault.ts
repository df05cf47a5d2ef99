/** Faults in the operator's input, in words. */
import type { ConfigurationFault } from "../core/configuration/configuration-fault.ts";

/** The fault as one readable line. */
export function faultLine(fault: ConfigurationFault): string {
  const place = fault.place === "" ? "" : `${fault.place}: `;
  // A value may contain line breaks or terminal codes; a fault stays on one line.
  return `${place}${fault.problem}; ${fault.remedy}`.replace(/\p{Cc}+/gu, " ");
}

/** `a`, `a or b`, `a, b or c`. */
export function anyOf(words: readonly string[]): string {
  return joined(words, "or");
}

/** `a`, `a and b`, `a, b and c`. */
export function allOf(words: readonly string[]): string {
  return joined(words, "and");
}

function joined(words: readonly string[], last: "and" | "or"): string {
  const end = words.at(-1) ?? "";
  return words.length < 2 ? end : `${words.slice(0, -1).join(", ")} ${last} ${end}`;
}

/** `user:password@` of a URL; a password may itself contain slashes and `@`. */
function withoutCredentials(word: string): string {
  const from = word.indexOf("://") + 3;
  const to = word.lastIndexOf("@");
  return from < 3 || to < from ? word : `${word.slice(0, from)}***${word.slice(to)}`;
}

/** A value as shown in a fault: JSON, shortened, URLs without user and password. */
export function shown(value: unknown): string {
  const text = (JSON.stringify(value) ?? String(value)).replace(/[^"\s]+/g, withoutCredentials);
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
}

export type Note = (fault: ConfigurationFault) => void;
