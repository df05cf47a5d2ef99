/** Why the certificate of a broker, or ours, was not accepted, and what to change: by what the broker really shows. */

import type { X509Certificate } from "node:crypto";
import { codeOf } from "../../core/thrown.ts";
import { certificatesIn, describeCertificate, nameOf } from "../../lib/certificates.ts";
import { type LinkFailure, transportFailure } from "./link-errors.ts";
import { type MqttLinkOptions, now, type TlsTexts } from "./link-options.ts";
import { lookAtChain } from "./peer-chain.ts";

interface RefusedChain {
  /** Of OpenSSL or Node. */
  readonly code: string;
  /** As the broker shows it, its own first. */
  readonly chain: readonly X509Certificate[];
  /** The text of MQTT_CA_FILE; null if none is set. */
  readonly ca: string | null;
  /** As in MQTT_URL. */
  readonly host: string;
  readonly nowMs: number;
}

const NAMES_MAX = 5;

const CHAIN_CODES = new Set([
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "CERT_SIGNATURE_FAILURE",
]);
const DATE_CODES = new Set(["CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID"]);
const NAME_CODE = "ERR_TLS_CERT_ALTNAME_INVALID";

export function isAboutCertificate(code: unknown): code is string {
  return (
    typeof code === "string" &&
    (CHAIN_CODES.has(code) || DATE_CODES.has(code) || code === NAME_CODE)
  );
}

/** Null where the chain does not tell more than the code. */
function certificateAdvice(refused: RefusedChain): LinkFailure | null {
  const [own] = refused.chain;
  if (own === undefined) return null;
  const text =
    refused.code === NAME_CODE
      ? nameAdvice(own, refused.host)
      : DATE_CODES.has(refused.code)
        ? dateAdvice(refused)
        : chainAdvice(own, refused);
  return text === null ? null : { text, needsHands: true };
}

const day = (text: string) => new Date(text).toISOString().slice(0, 10);
const quoted = (distinguished: string) => `"${nameOf(distinguished)}"`;
const isSelfSigned = ({ subject, issuer }: X509Certificate) => subject === issuer;

function nameAdvice({ subjectAltName, subject }: X509Certificate, host: string): string {
  const names = (subjectAltName ?? "")
    .split(", ")
    .map((name) => name.replace(/^(DNS|IP Address|URI):/, ""))
    .filter((name) => name !== "");
  const listed = names.length === 0 ? quoted(subject) : names.slice(0, NAMES_MAX).join(", ");
  const more = names.length > NAMES_MAX ? ` and ${names.length - NAMES_MAX} more` : "";
  return `the broker's certificate is for ${listed}${more}, not for ${host}: MQTT_URL must contain a name that the certificate is for`;
}

function dateAdvice({ code, chain, ca, nowMs }: RefusedChain): string | null {
  const ours = new Set(certificatesIn(ca ?? "").map(({ fingerprint256 }) => fingerprint256));
  const isEnded = code === "CERT_HAS_EXPIRED";
  const wrong = chain.findIndex(({ validFrom, validTo }) =>
    isEnded ? Date.parse(validTo) <= nowMs : Date.parse(validFrom) > nowMs,
  );
  const one = chain[wrong];
  if (one === undefined) return null;
  const who =
    wrong === 0
      ? "the broker's certificate"
      : ours.has(one.fingerprint256)
        ? `the CA ${quoted(one.subject)} in MQTT_CA_FILE`
        : `the CA ${quoted(one.subject)}, which the broker shows,`;
  const today = new Date(nowMs).toISOString().slice(0, 10);
  return isEnded
    ? `${who} ended on ${day(one.validTo)}: renew it, unless this machine's clock is wrong (today is ${today} there)`
    : `${who} is not valid before ${day(one.validFrom)}: check this machine's clock (today is ${today} there)`;
}

function chainAdvice(own: X509Certificate, { chain, ca }: RefusedChain): string {
  const authorities = certificatesIn(ca ?? "");
  const has = (one: X509Certificate) =>
    authorities.some(({ fingerprint256 }) => fingerprint256 === one.fingerprint256);
  const hasName = (distinguished: string) =>
    authorities.some(({ subject }) => subject === distinguished);
  const top = chain.at(-1) ?? own;
  const what = top === own && isSelfSigned(own) ? "it" : "that CA";
  const remedy = ca === null ? `set MQTT_CA_FILE to a file with` : "MQTT_CA_FILE must contain";
  if (!isSelfSigned(top)) {
    const issuer = quoted(top.issuer);
    if (has(top))
      return `MQTT_CA_FILE contains the CA ${quoted(top.subject)} but not ${issuer}, which signed it: add that one`;
    if (hasName(top.issuer))
      return `the broker's certificate is signed with another key than that of the CA ${issuer} in MQTT_CA_FILE: ${remedy} the present CA of that name`;
    return `the broker's certificate is signed by the CA ${issuer}, which ${ca === null ? "is not a public one" : "MQTT_CA_FILE does not contain"}: ${remedy} that CA; if it is an intermediate one, the broker must send its certificate`;
  }
  if (has(top))
    return `the broker's certificate is signed by the CA ${quoted(top.subject)}, which MQTT_CA_FILE contains, but does not pass: check that this one is a CA certificate, and with openssl verify`;
  if (hasName(top.subject))
    return `the broker's certificate is signed by a new ${quoted(top.subject)}; MQTT_CA_FILE contains an older one of that name: ${remedy} the new one`;
  const others = authorities.map(({ subject }) => quoted(subject)).slice(0, NAMES_MAX);
  if (what === "it" && others.length > 0)
    return `the broker's certificate ${quoted(own.subject)} is self-signed, and MQTT_CA_FILE contains only ${others.join(", ")}: add the broker's certificate to that file, or give the broker one that ${others.join(" or ")} signed`;
  return what === "it"
    ? `the broker's certificate ${quoted(own.subject)} is self-signed: ${remedy} it`
    : `the broker's certificate is signed by the unknown CA ${quoted(top.subject)}: ${remedy} that CA`;
}

/** A TLS alert about our own certificate, or the lack of one. `cert` is the text of MQTT_CERT_FILE. */
function clientCertificateAdvice(code: string, cert: string | null, nowMs: number): LinkFailure {
  const [own] = certificatesIn(cert ?? "");
  const hands = (text: string): LinkFailure => ({ text, needsHands: true });
  if (own === undefined)
    return hands("the broker requires a client certificate: set MQTT_CERT_FILE and MQTT_KEY_FILE");
  if (Date.parse(own.validTo) <= nowMs)
    return hands(
      `the broker refused our client certificate, which ended on ${day(own.validTo)}: renew MQTT_CERT_FILE and MQTT_KEY_FILE`,
    );
  if (code.includes("UNKNOWN_CA"))
    return hands(
      `the broker does not know ${quoted(own.issuer)}, the CA that signed our client certificate: check MQTT_CERT_FILE and the broker's list of CAs`,
    );
  return hands(
    `the broker refused our client certificate ${quoted(own.subject)}: check MQTT_CERT_FILE and MQTT_KEY_FILE, and the broker's log`,
  );
}

/** The failure of a transport; a broker that rejects our certificate says so in an alert of TLS. */
export function tlsFailure(err: unknown, options: MqttLinkOptions): LinkFailure {
  const code = codeOf(err);
  const isOurs = /^ERR_SSL_.*ALERT.*(CERTIFICATE|UNKNOWN_CA)/.test(String(code));
  if (!isOurs) return transportFailure(err);
  return clientCertificateAdvice(String(code), tlsTexts(options).cert ?? null, Date.now());
}

/** Looks at what the broker shows: the code alone does not tell which certificate is wrong. */
export async function explainCertificate(
  err: Error,
  code: string,
  url: string,
  options: MqttLinkOptions,
): Promise<LinkFailure> {
  const chain = await lookAtChain(url, options);
  if (chain.length > 0) options.onCertificates?.(chain.map(describeCertificate));
  const host = new URL(url).hostname;
  const { ca = null } = tlsTexts(options);
  const advice = certificateAdvice({ code, chain, ca, host, nowMs: Date.now() });
  return advice ?? transportFailure(err);
}

/** As their files are now; none where one cannot be read. */
function tlsTexts({ tls }: MqttLinkOptions): TlsTexts {
  try {
    return tls === undefined ? {} : now(tls);
  } catch {
    return {};
  }
}
