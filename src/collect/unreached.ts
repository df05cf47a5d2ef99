import { messageOf } from "../core/thrown.ts";

/** What the operator can check; the code stays for those who know it. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing accepts connections at that address and port",
  EHOSTUNREACH: "no route to that address",
  ENETUNREACH: "this machine has no route to that network",
  ETIMEDOUT: "that address does not respond",
  ENOTFOUND: "no such host",
  EAI_AGAIN: "no DNS server responds",
};

/** Why a connection failed, and what to check. @param what runs there, such as "the broker" */
export function unreachedText(error: unknown, what: string): string {
  const text = messageOf(error);
  // A session reports why it closed only in words.
  const code = Object.keys(WORDS).find((one) => text.includes(one)) ?? "";
  const words = WORDS[code];
  if (words === undefined) return text;
  return `${words} (${code}); check that ${what} is running and that host and port are correct`;
}
