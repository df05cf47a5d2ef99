import { rootCertificates } from "node:tls";

/**
 * What a private authority is added to: a list of authorities replaces the runtime's own, and a broker that moves to a public
 * certificate would be refused.
 */
export function withPublicAuthorities(pem: string): string[] {
  return [...rootCertificates, pem];
}
