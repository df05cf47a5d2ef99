/** What was thrown, which may be anything. */
import { triedAddresses } from "./addresses/tried-addresses.ts";

/** Never empty for an error: one without a message has its name. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof AggregateError && error.message === "")
    return `${codeOf(error) ?? error.name}${triedAddresses(error)}`;
  return error.message || error.name;
}

/** A quota is used up, as Linux numbers it. */
const EDQUOT = -122;

/** `code` of errors of the system and of most packages; null where there is none. */
export function codeOf(error: unknown): string | number | null {
  // Node has no name for it: its code is "Unknown system error -122".
  if (error instanceof Error && "errno" in error && error.errno === EDQUOT) return "EDQUOT";
  const code: unknown =
    typeof error === "object" && error !== null ? Reflect.get(error, "code") : null;
  return typeof code === "string" || typeof code === "number" ? code : null;
}

/** What is shortest to say of it. */
export function codeOrMessage(error: unknown): string {
  return String(codeOf(error) ?? messageOf(error));
}
