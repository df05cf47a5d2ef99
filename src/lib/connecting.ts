import { setDefaultAutoSelectFamilyAttemptTimeout } from "node:net";
import { ATTEMPT_MS } from "../core/addresses/tried-addresses.ts";

/** For every client of this process; to be called before anything connects. */
export function giveAttemptsTime(): void {
  setDefaultAutoSelectFamilyAttemptTimeout(ATTEMPT_MS);
}
