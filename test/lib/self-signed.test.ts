import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { selfSignedCertificate } from "../../src/lib/self-signed.ts";

const HOSTS = ["box7.plant.example", "127.0.0.1", "::1", "fd00::7:0:1"];

for (const year of [2027, 2051]) {
  test(`self-signed – Node and openssl read a certificate that expires in ${year}, with its names, times and signature`, () => {
    const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const pem = selfSignedCertificate(
      {
        name: "box7.plant.example",
        hosts: HOSTS,
        notBefore: new Date("2026-01-02T03:04:05Z"),
        notAfter: new Date(`${year}-01-02T03:04:05Z`),
      },
      keys,
    );
    const certificate = new X509Certificate(pem);
    assert.equal(certificate.subject, "CN=box7.plant.example");
    assert.equal(certificate.ca, false);
    assert.ok(certificate.verify(keys.publicKey));
    assert.ok(certificate.checkPrivateKey(keys.privateKey));
    assert.equal(new Date(certificate.validFrom).toISOString(), "2026-01-02T03:04:05.000Z");
    assert.equal(new Date(certificate.validTo).getUTCFullYear(), year);
    assert.ok(certificate.checkHost("box7.plant.example"));
    for (const address of HOSTS.slice(1)) assert.ok(certificate.checkIP(address), address);
    const path = join(mkdtempSync(join(tmpdir(), "gateside-cert-")), "c.pem");
    writeFileSync(path, pem);
    const text = execFileSync("openssl", ["x509", "-in", path, "-noout", "-text"]).toString();
    assert.match(text, /Version: 3/);
    assert.match(text, /CA:FALSE/);
    assert.match(text, /TLS Web Server Authentication/);
    execFileSync("openssl", ["verify", "-CAfile", path, path], { stdio: "pipe" });
  });
}
