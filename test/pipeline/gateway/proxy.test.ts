import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer as createPlainServer, type RequestListener } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { AnalyticsClient } from "../../../src/features/discover/client.ts";
import { createWireNames } from "../../../src/pipeline/wire/wire-names.ts";
import { createCertificates } from "../../support/certificates.ts";
import { startForwardProxy } from "../../support/forward-proxy.ts";
import { runCommand } from "../../support/run-command.ts";
import { type Cleanup, tempDirectory } from "../../support/temp-database.ts";

const skip =
  spawnSync("openssl", ["version"]).status === 0 ? false : "openssl is not installed here";
const LOGIN = "plant:p4ssw0rd-of-the-proxy";
const RECORD = `{"sensor_code":"1","rpm":"1480","time_data":"/Date(${Date.now() - 60_000})/"}`;
const DAY = `[{"Configs":[],"Key":{"Description":"OK","StatusNumber":0},"Value":[${RECORD}]}]`;

const answer: RequestListener = (request, response) => {
  request.resume();
  request.on("end", () => response.end(DAY));
};

async function listen(t: Cleanup, server: ReturnType<typeof createPlainServer>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

function siteIn(t: Cleanup): string {
  const cwd = tempDirectory(t);
  const sensors = [{ code: "1", type: 40, kinds: ["rpm"] }];
  writeFileSync(join(cwd, "site.json"), JSON.stringify({ site: "s", sensors }));
  return cwd;
}

const doctor = async (cwd: string, env: Record<string, string>) => {
  const fixed = { MQTT_URL: "mqtt://127.0.0.1:9", SITE_FILE: "site.json" };
  return (await runCommand(["doctor"], { env: { ...fixed, ...env }, cwd })).stdout;
};

test("gateway – through GATEWAY_PROXY, a plain http gateway is requested by its absolute URL, with the proxy credentials", async (t) => {
  const port = await listen(t, createPlainServer(answer));
  const proxy = await startForwardProxy(t, LOGIN);
  const env = { GATEWAY_URL: `http://127.0.0.1:${port}`, GATEWAY_PROXY: proxy.url };
  const text = await doctor(siteIn(t), env);
  assert.match(text, /^(ok|warning) +1 rpm +1 records/m);
  assert.match(proxy.asked[0] ?? "", new RegExp(`^POST http://127\\.0\\.0\\.1:${port}/`));
  assert.ok(proxy.asked.every((line) => line.startsWith("POST ")));
});

test("gateway – through GATEWAY_PROXY, an https gateway is reached through a tunnel, its certificate verified end to end", {
  skip,
}, async (t) => {
  const cwd = siteIn(t);
  const certificates = createCertificates(cwd);
  const tls = { cert: certificates.read("serverCert"), key: certificates.read("serverKey") };
  const port = await listen(t, createServer(tls, answer));
  const proxy = await startForwardProxy(t, LOGIN);
  const env = { GATEWAY_URL: `https://127.0.0.1:${port}`, GATEWAY_PROXY: proxy.url };
  const trusted = await doctor(cwd, { ...env, GATEWAY_CA_FILE: certificates.caFile });
  assert.match(trusted, /^(ok|warning) +1 rpm +1 records/m);
  assert.equal(proxy.asked[0], `CONNECT 127.0.0.1:${port}`);
  const other = await doctor(cwd, { ...env, GATEWAY_CA_FILE: certificates.otherCaFile });
  assert.match(other, /^FAILED +gateway .*TLS/m);
});

test("gateway – a proxy that rejects the credentials is a failure, and the password is never shown", async (t) => {
  const port = await listen(t, createPlainServer(answer));
  const proxy = await startForwardProxy(t, LOGIN);
  const wrong = `http://plant:wr0ng-p4ssword@127.0.0.1:${proxy.port}`;
  const env = { GATEWAY_URL: `http://127.0.0.1:${port}`, GATEWAY_PROXY: wrong };
  const text = await doctor(siteIn(t), env);
  assert.match(text, /^FAILED +1 rpm .*407/m);
  assert.doesNotMatch(text, /wr0ng-p4ssword/);
});

test("discover – the analytics service is reached through the proxy", async (t) => {
  const port = await listen(
    t,
    createPlainServer((request, response) => {
      request.resume();
      request.on("end", () => response.end('[{"Key":{"StatusNumber":0},"Value":[]}]'));
    }),
  );
  const proxy = await startForwardProxy(t, LOGIN);
  const names = createWireNames({ word: "sensor", service: "" });
  const client = new AnalyticsClient(
    `http://127.0.0.1:${port}`,
    "token-of-analytics",
    names,
    proxy.url,
  );
  t.after(() => client.close());
  assert.deepEqual(await client.devices(null, new AbortController().signal), []);
  assert.equal(proxy.asked.length, 1);
});
