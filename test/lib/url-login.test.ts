import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { request } from "undici";
import { secretsOf } from "../../src/config/secrets-of.ts";
import { loadSettings } from "../../src/config/settings.ts";
import { splitLogin } from "../../src/features/notify/address.ts";
import { proxyAgent } from "../../src/lib/proxy.ts";
import { basicAuthorization, loginOf } from "../../src/lib/url-login.ts";
import { openTunnel } from "../../src/pipeline/link/tunnel.ts";
import { startForwardProxy } from "../support/forward-proxy.ts";

/** As written in an address, and what is meant. */
const LOGINS: readonly (readonly [written: string, meant: string])[] = [
  ["plant:secret", "plant:secret"],
  ["plant:p%40ss%3Aword", "plant:p@ss:word"],
  ["plant:50%", "plant:50%"],
  ["plant:50%off%40", "plant:50%off%40"],
  ["pl%C3%BCnt:m%C3%BCll", "plünt:müll"],
  ["plünt:müll", "plünt:müll"],
  ["plant", "plant:"],
  [":secret", ":secret"],
];

const load = (environment: Readonly<Record<string, string>>) =>
  loadSettings({ MQTT_URL: "mqtt://broker", ...environment }, { cwd: "/nowhere" });

test("url login – is decoded, and a % that begins no escape is meant as written", () => {
  for (const [written, meant] of LOGINS) {
    const login = loginOf(new URL(`http://${written}@host`));
    assert.deepEqual(
      login,
      { username: meant.split(":")[0], password: meant.slice(meant.indexOf(":") + 1) },
      written,
    );
    assert.equal(
      login && basicAuthorization(login),
      `Basic ${Buffer.from(meant).toString("base64")}`,
      written,
    );
  }
  assert.equal(loginOf(new URL("http://host")), null);
});

test("url login – gateway, proxies, tunnels and notifications send the same one", async (t) => {
  const server = createServer((_, response) => response.end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  for (const [written, meant] of LOGINS) {
    const { port: proxyPort } = await startForwardProxy(t, meant);
    const proxy = `http://${written}@127.0.0.1:${proxyPort}`;
    const dispatcher = proxyAgent({ proxy, ca: null, connectMs: 5000, keepAliveMs: 5000 });
    const { statusCode } = await request(`http://127.0.0.1:${port}`, { dispatcher });
    await dispatcher.destroy();
    assert.equal(statusCode, 200, written);
    (await openTunnel(proxy, `mqtt://127.0.0.1:${port}`, 5000)).destroy();
    const expected = { authorization: `Basic ${Buffer.from(meant).toString("base64")}` };
    assert.deepEqual(splitLogin(`http://${written}@host`).headers, expected, written);
    const { settings } = load({ GATEWAY_URL: `http://${written}@host` });
    assert.deepEqual(settings?.gatewayHeaders, expected, written);
  }
});

test("url login – a password with a % as written is a secret like any other", () => {
  const { settings } = load({
    GATEWAY_URL: "http://gateway",
    HEARTBEAT_URL: "https://box7:50%25off%@watch.example",
  });
  assert.ok(settings !== null);
  assert.ok(secretsOf(settings, []).includes("50%25off%"));
});
