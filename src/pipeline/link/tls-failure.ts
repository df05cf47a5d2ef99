/** Why a connection to a broker did not come about, where its certificates may tell. */
import { codeOf } from "../../core/thrown.ts";
import { describeCertificate } from "../../lib/certificates.ts";
import { certificateAdvice, clientCertificateAdvice } from "./certificate-advice.ts";
import { type LinkFailure, transportFailure } from "./link-errors.ts";
import { type MqttLinkOptions, now, type TlsTexts } from "./link-options.ts";
import { lookAtChain } from "./peer-chain.ts";

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
