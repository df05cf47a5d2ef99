import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createPlainServer } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { openGatewayClient } from "../../../src/agent/assemble.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createMetrics } from "../../../src/lib/metrics.ts";
import { SecretGate } from "../../../src/lib/secrets.ts";
import { createWireNames } from "../../../src/pipeline/wire/wire-names.ts";
import { type Certificates, createCertificates } from "../../support/certificates.ts";
import { startForwardProxy } from "../../support/forward-proxy.ts";
import { runCommand } from "../../support/run-command.ts";

const skip =
  spawnSync("openssl", ["version"]).status === 0 ? false : "openssl is not installed here";
const RECORD = `{"sensor_code":"1","rpm":"1480","time_data":"/Date(${Date.now() - 60_000})/"}`;
const DAY = `[{"Configs":[],"Key":{"Description":"OK","StatusNumber":0},"Value":[${RECORD}]}]`;

interface Bench {
  readonly certificates: Certificates;
  readonly server: Server;
  readonly port: number;
  /** `doctor` with this CA, as an operator would find out. */
  doctor(caFile: string | null, host?: string, scheme?: string, port?: number): Promise<string>;
}

async function bench(t: TestContext): Promise<Bench> {
  const cwd = mkdtempSync(join(tmpdir(), "gateside-tls-"));
  const certificates = createCertificates(cwd);
  const sensors = [{ code: "1", type: 40, kinds: ["rpm"] }];
  writeFileSync(join(cwd, "site.json"), JSON.stringify({ site: "s", sensors }));
  const server = createServer(
    { cert: certificates.read("serverCert"), key: certificates.read("serverKey") },
    (request, response) => {
      request.resume();
      request.on("end", () => response.end(DAY));
    },
  );
  await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
    rmSync(cwd, { recursive: true });
  });
  const { port } = server.address() as AddressInfo;
  return {
    certificates,
    server,
    port,
    async doctor(caFile, host = "127.0.0.1", scheme = "https", at = port) {
      const env = {
        GATEWAY_URL: `${scheme}://${host}:${at}`,
        MQTT_URL: "mqtt://127.0.0.1:9",
        SITE_FILE: "site.json",
        ...(caFile === null ? {} : { GATEWAY_CA_FILE: caFile }),
      };
      return (await runCommand(["doctor"], { env, cwd })).stdout;
    },
  };
}

test("gateway over TLS – a private CA in GATEWAY_CA_FILE is trusted, and a whole response is read through it", {
  skip,
}, async (t) => {
  const b = await bench(t);
  const text = await b.doctor(b.certificates.caFile);
  assert.match(text, /^ok +gateway +https:\/\/127\.0\.0\.1:\d+ responds$/m);
  assert.match(text, /^(ok|warning) +1 rpm /m);
});

test("gateway over TLS – another CA, none, or a certificate of another host is rejected, with the setting to check", {
  skip,
}, async (t) => {
  const b = await bench(t);
  for (const ca of [b.certificates.otherCaFile, null]) {
    const text = await b.doctor(ca);
    assert.match(
      text,
      /^FAILED +gateway .*no trusted TLS connection to the gateway: .*GATEWAY_CA_FILE/m,
    );
  }
  // Trusted, but made out to localhost and 127.0.0.1.
  const other = await b.doctor(b.certificates.caFile, "127.0.0.2");
  assert.match(
    other,
    /^FAILED +gateway .*no trusted TLS connection .* the certificate is for the host in GATEWAY_URL$/m,
  );
});

test("gateway over TLS – http:// to a TLS port, and https:// to a plain one, are reported in plain words", {
  skip,
}, async (t) => {
  const b = await bench(t);
  const plain = await b.doctor(null, "127.0.0.1", "http");
  assert.match(plain, /^FAILED +gateway .*(requires TLS|https:\/\/)/m);
  const server = createPlainServer((_, response) => response.end(DAY));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const encrypted = await b.doctor(null, "127.0.0.1", "https", port);
  assert.match(
    encrypted,
    /^FAILED +gateway .*does not use TLS on that port; GATEWAY_URL should probably begin with http:\/\//m,
  );
});

for (const way of ["directly", "through a proxy"]) {
  test(`gateway over TLS – a CA that is renewed in place is trusted at the next connection, ${way}`, {
    skip,
  }, async (t) => {
    const b = await bench(t);
    const caFile = join(dirname(b.certificates.caFile), "renewed.pem");
    copyFileSync(b.certificates.otherCaFile, caFile);
    const proxy = way === "directly" ? null : (await startForwardProxy(t)).url;
    const client = openGatewayClient(
      {
        gatewayUrl: `https://127.0.0.1:${b.port}`,
        gatewayCaFile: caFile,
        gatewayConcurrency: 1,
        gatewayHeaders: {},
        gatewayMaxBodyMb: 1,
        gatewayProxy: proxy,
        gatewayTimeoutMs: 5000,
      },
      createWireNames({ word: "sensor", service: "SensorService.svc" }),
      { clock: systemClock, metrics: createMetrics(), gate: new SecretGate([]) },
    );
    t.after(() => client.close());
    const request = {
      sensor: { code: "1", type: 40 },
      kind: "rpm",
      date: "2026-11-20",
    } as const;
    const read = () => client.read(request, new AbortController().signal);
    await assert.rejects(read(), /no trusted TLS connection/);
    copyFileSync(b.certificates.caFile, caFile);
    const { body } = await read();
    const pieces: Uint8Array[] = [];
    for await (const piece of body) pieces.push(Uint8Array.from(piece));
    assert.equal(Buffer.concat(pieces).toString(), DAY);
    // Gone for a moment, it is what it was.
    rmSync(caFile);
    b.server.closeAllConnections();
    for await (const _ of (await read()).body);
  });
}
