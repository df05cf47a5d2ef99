import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DAY_MS } from "../../src/core/time-units.ts";

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

/** A point in time as certificates write it. */
const asn1 = (ms: number) => new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, "");

const authority = (directory: string, database: string) => `[ca]
default_ca = plant
[plant]
database = ${database}
new_certs_dir = ${directory}
default_md = sha256
policy = subject
rand_serial = yes
unique_subject = no
[subject]
commonName = supplied
`;

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
  const openssl = (...args: string[]) =>
    execFileSync("openssl", args, { stdio: ["ignore", "ignore", "pipe"] });
  const extensions = isCa
    ? "basicConstraints=critical,CA:TRUE\n"
    : `basicConstraints=CA:FALSE\nsubjectAltName=${hosts}\n`;
  writeFileSync(path("ext"), extensions);
  openssl("req", ...KEY, "-keyout", path("key"), "-out", path("csr"), "-subj", `/CN=${subject}`);
  // `openssl ca` alone takes both dates. The faketime wrapper would do, but it fails on what a killed one left in /dev/shm.
  writeFileSync(path("issued"), "");
  writeFileSync(path("cnf"), authority(directory, path("issued")));
  const signer =
    issuer === null
      ? ["-selfsign", "-keyfile", path("key")]
      : ["-cert", issuer.certFile, "-keyfile", issuer.keyFile];
  const startMs = Date.now() - daysAgo * DAY_MS;
  const dates = ["-startdate", asn1(startMs), "-enddate", asn1(startMs + days * DAY_MS)];
  const files = ["-in", path("csr"), "-out", path("pem"), "-extfile", path("ext")];
  openssl("ca", "-batch", "-notext", "-config", path("cnf"), ...files, ...signer, ...dates);
  const certFile = path("pem");
  return { certFile, keyFile: path("key"), pem: readFileSync(certFile, "utf8") };
}
