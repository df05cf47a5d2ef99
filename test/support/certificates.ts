import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Paths of PEM files made for one test. */
export interface Certificates {
  readonly caFile: string;
  readonly serverCertFile: string;
  readonly serverKeyFile: string;
  readonly clientCertFile: string;
  readonly clientKeyFile: string;
  /** A CA that signed none of the others. */
  readonly otherCaFile: string;
  read(name: "ca" | "serverCert" | "serverKey" | "clientCert" | "clientKey" | "otherCa"): Buffer;
}

/** A CA, a server certificate for 127.0.0.1 and localhost, and a client certificate, through openssl. */
export function createCertificates(directory: string): Certificates {
  const path = (name: string) => join(directory, name);
  const openssl = (...args: string[]) =>
    execFileSync("openssl", args, { stdio: ["ignore", "ignore", "pipe"] });
  const createCa = (name: string) =>
    openssl(
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:prime256v1",
      "-nodes",
      "-keyout",
      path(`${name}.key`),
      "-out",
      path(`${name}.pem`),
      "-days",
      "3650",
      "-subj",
      `/CN=Gateside test ${name}`,
    );
  const createSigned = (name: string, subject: string, extensions: string) => {
    openssl(
      "req",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:prime256v1",
      "-nodes",
      "-keyout",
      path(`${name}.key`),
      "-out",
      path(`${name}.csr`),
      "-subj",
      subject,
    );
    writeFileSync(path(`${name}.ext`), extensions);
    openssl(
      "x509",
      "-req",
      "-in",
      path(`${name}.csr`),
      "-CA",
      path("ca.pem"),
      "-CAkey",
      path("ca.key"),
      "-CAcreateserial",
      "-out",
      path(`${name}.pem`),
      "-days",
      "3650",
      "-extfile",
      path(`${name}.ext`),
    );
  };
  createCa("ca");
  createCa("other-ca");
  createSigned("server", "/CN=localhost", "subjectAltName=DNS:localhost,IP:127.0.0.1\n");
  createSigned("client", "/CN=gateside-client", "extendedKeyUsage=clientAuth\n");
  const files = {
    ca: path("ca.pem"),
    serverCert: path("server.pem"),
    serverKey: path("server.key"),
    clientCert: path("client.pem"),
    clientKey: path("client.key"),
    otherCa: path("other-ca.pem"),
  };
  return {
    caFile: files.ca,
    serverCertFile: files.serverCert,
    serverKeyFile: files.serverKey,
    clientCertFile: files.clientCert,
    clientKeyFile: files.clientKey,
    otherCaFile: files.otherCa,
    read: (name) => readFileSync(files[name]),
  };
}
