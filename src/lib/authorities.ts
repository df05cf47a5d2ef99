import { rootCertificates } from "node:tls";

/**
 * The public CAs that a private one is added to: a list of CAs replaces the runtime's own, and a broker that moves to a
 * public certificate would be rejected.
 */
export function withPublicAuthorities(pem: string): string[] {
  return [...rootCertificates, pem];
}
