import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface Issued {
  readonly certFile: string;
  readonly keyFile: string;
  /** The certificate's text. */
  readonly pem: string;
}

export interface Issuing {
  /** Of the file's name. */
  readonly name: string;
  /** Common name; that of the file unless given. */
  readonly subject?: string;
  readonly isCa?: boolean;
  /** Valid for this long from `daysAgo` on; negative: it has ended. */
  readonly days?: number;
  readonly daysAgo?: number;
  /** As openssl writes them; localhost and 127.0.0.1 unless given. */
  readonly hosts?: string;
}

const KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

/** Issues certificates through openssl; `issuer` null makes a self-signed one. */
export function issue(
  directory: string,
  issuer: Issued | null,
  {
    name,
    subject = name,
    isCa = false,
    days = 3650,
    daysAgo = 0,
    hosts = "DNS:localhost,IP:127.0.0.1",
  }: Issuing,
): Issued {
  const path = (end: string) => join(directory, `${name}.${end}`);
  const openssl = (...args: string[]) => {
    const [program, ...all] =
      daysAgo === 0 ? ["openssl", ...args] : ["faketime", "-f", `-${daysAgo}d`, "openssl", ...args];
    execFileSync(program ?? "", all, { stdio: ["ignore", "ignore", "pipe"] });
  };
  const extensions = isCa
    ? "basicConstraints=critical,CA:TRUE\n"
    : `basicConstraints=CA:FALSE\nsubjectAltName=${hosts}\n`;
  writeFileSync(path("ext"), extensions);
  openssl("req", ...KEY, "-keyout", path("key"), "-out", path("csr"), "-subj", `/CN=${subject}`);
  const signed = ["x509", "-req", "-in", path("csr"), "-out", path("pem"), "-extfile", path("ext")];
  const signer =
    issuer === null
      ? ["-signkey", path("key")]
      : ["-CA", issuer.certFile, "-CAkey", issuer.keyFile, "-CAcreateserial"];
  openssl(...signed, ...signer, "-days", String(days));
  const certFile = path("pem");
  return { certFile, keyFile: path("key"), pem: readFileSync(certFile, "utf8") };
}
