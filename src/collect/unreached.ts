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
  if (words === undefined) return what === "the broker" ? brokerText(text) : databaseText(text);
  // Of a name with several addresses.
  const tried = / \(tried .*\)/.exec(text)?.[0] ?? "";
  return `${words} (${code})${tried}; check that ${what} is running and that host and port are correct`;
}

const UNTRUSTED =
  /self-signed certificate|unable to (?:verify the first|get (?:local )?issuer) certificate/;
const FORBIDDEN = /refuses .*\(reason code (?:128|135)\)|ACCESS_REFUSED(?! - Login)/;

/** What a broker or the connection to it said, with what to do. */
export function brokerText(text: string): string {
  if (UNTRUSTED.test(text))
    return `${text}: set COLLECT_CA_FILE to the certificate (PEM) of the authority that signed the broker's`;
  if (FORBIDDEN.test(text))
    return `${text}: the broker's rights do not allow this; \`rights.sh --reader USER PREFIX GROUP\` gives a collector its rights, \`rights.sh --operator USER PREFIX\` a person's`;
  return text;
}

const NO_LOG_IN = /^password authentication failed|^(?:database|role) ".*" does not exist$/;

function databaseText(text: string): string {
  if (NO_LOG_IN.test(text)) return `${text}: check user, password and database in the address`;
  return UNTRUSTED.test(text)
    ? `${text}: name the certificate (PEM) of its authority in the address, sslrootcert=FILE`
    : text;
}
