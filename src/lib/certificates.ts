import { X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import type { Certificate } from "../core/status/certificate.ts";

const ONE =
  /-----BEGIN (?:TRUSTED )?CERTIFICATE-----[\s\S]+?-----END (?:TRUSTED )?CERTIFICATE-----/g;

/** The certificates of a PEM text in their order; what is none is left out. */
export function certificatesIn(pem: string): X509Certificate[] {
  return (pem.match(ONE) ?? []).flatMap((one) => {
    try {
      return [new X509Certificate(one)];
    } catch {
      return [];
    }
  });
}

export function describeCertificate(certificate: X509Certificate): Certificate {
  return {
    subject: nameOf(certificate.subject),
    fingerprint: certificate.fingerprint256.replaceAll(":", "").toLowerCase(),
    fromMs: Date.parse(certificate.validFrom),
    untilMs: Date.parse(certificate.validTo),
  };
}

/** The common name in a name as Node writes it, a part per line; the whole name on one line where there is none. */
export function nameOf(distinguished: string): string {
  const common = /^CN=(.+)$/m.exec(distinguished)?.[1];
  return common ?? distinguished.trim().replaceAll("\n", ", ");
}

/** Certificates of files that are renewed in place: parsed again only when a file has changed. */
export class CertificateFiles {
  readonly #known = new Map<string, { stamp: string; certificates: readonly Certificate[] }>();

  /** None where the file cannot be read. */
  read(path: string): readonly Certificate[] {
    try {
      const { mtimeMs, size, ino } = statSync(path);
      const stamp = `${mtimeMs} ${size} ${ino}`;
      const known = this.#known.get(path);
      if (known?.stamp === stamp) return known.certificates;
      const certificates = certificatesIn(readFileSync(path, "utf8")).map(describeCertificate);
      this.#known.set(path, { stamp, certificates });
      return certificates;
    } catch {
      this.#known.delete(path);
      return [];
    }
  }
}
