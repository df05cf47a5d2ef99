/** Settings of the HTTP listener. */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { DAY_MS } from "../core/time-units.ts";
import { checkPair } from "./check-pair.ts";
import { isLoopback } from "./checks.ts";
import { type Note, shown } from "./fault.ts";
import { refineProxies } from "./refine-proxies.ts";
import { type Refining } from "./refining.ts";
import { expectation } from "./setting-spec.ts";
import { type RawSettings, SETTINGS } from "./settings-table.ts";

/** Time to renew a certificate, even for somebody who visits once a fortnight. */
const EXPIRY_WARNING_MS = 14 * DAY_MS;
/** Shorter ones can be guessed. */
const TOKEN_LENGTH_MIN = 16;

export function refineListeners(raw: RawSettings, refining: Refining) {
  const { note, warn, path } = refining;
  checkPair(raw, "HTTP", refining);
  warnOfExpiry(path(raw.HTTP_CERT_FILE), warn);
  const httpPort = portOf(raw, "HTTP_PORT", note);
  if (httpPort !== null) checkAccess(raw, note, warn);
  checkViewToken(raw, note, warn);
  return {
    ...refineProxies(raw, refining),
    httpHost: withoutBrackets(raw.HTTP_HOST),
    httpPort,
  };
}

function checkAccess(raw: RawSettings, note: Note, warn: Refining["warn"]): void {
  const { HTTP_HOST: host, HTTP_TOKEN: token } = raw;
  const isOpen = !isLoopback(host);
  if (isOpen && token === undefined)
    note({
      place: "HTTP_TOKEN",
      problem: `is required while HTTP_HOST is ${shown(host)}, not a loopback address`,
      remedy: "set a token, HTTP_HOST=127.0.0.1 or HTTP_PORT=off",
    });
  if (token !== undefined && token.length < TOKEN_LENGTH_MIN)
    warn("HTTP_TOKEN", "is shorter than 16 characters", "use a longer random one");
  // A proxy that is named ends TLS for the clients.
  if (isOpen && raw.HTTP_CERT_FILE === undefined && raw.HTTP_TRUSTED_PROXY === undefined)
    warn(
      "HTTP_HOST",
      `is ${shown(host)} without TLS: tokens cross the network unencrypted`,
      "set HTTP_CERT_FILE and HTTP_KEY_FILE, or HTTP_TRUSTED_PROXY to the address of a proxy with TLS",
    );
}

const withoutBrackets = (host: string) => host.replace(/^\[(.*)\]$/, "$1");

/** Clients reject an expired certificate: warn in time, here and in `doctor`. */
function warnOfExpiry(certFile: string | null, warn: Refining["warn"]): void {
  if (certFile === null) return;
  let endsAtMs: number;
  try {
    endsAtMs = Date.parse(new X509Certificate(readFileSync(certFile)).validTo);
  } catch {
    // An unreadable file is already a fault.
    return;
  }
  const leftMs = endsAtMs - Date.now();
  if (leftMs > EXPIRY_WARNING_MS) return;
  const when = new Date(endsAtMs).toISOString();
  warn(
    "HTTP_CERT_FILE",
    leftMs < 0 ? `ended on ${when}` : `ends on ${when}`,
    "renew it; `gateside certificate --replace` creates a new self-signed one",
  );
}

function checkViewToken(
  { HTTP_TOKEN: all, HTTP_VIEW_TOKEN: view }: RawSettings,
  note: Note,
  warn: Refining["warn"],
): void {
  if (view === undefined) return;
  if (all === undefined) {
    note({
      place: "HTTP_TOKEN",
      problem: "is missing, but HTTP_VIEW_TOKEN is set",
      remedy: "set both: without HTTP_TOKEN, anyone can change everything",
    });
  } else if (view === all) {
    note({
      place: "HTTP_VIEW_TOKEN",
      problem: "is the same as HTTP_TOKEN",
      remedy: "set a different one",
    });
  } else if (view.length < TOKEN_LENGTH_MIN)
    warn("HTTP_VIEW_TOKEN", "is shorter than 16 characters", "use a longer random one");
}

function portOf(raw: RawSettings, name: "HTTP_PORT", note: Note): number | null {
  if (raw[name] === "off") return null;
  const port = Number(raw[name]);
  if (port > 65_535) {
    note({
      place: name,
      problem: `${raw[name]} is too large`,
      remedy: expectation(SETTINGS[name]),
    });
  }
  return port;
}
