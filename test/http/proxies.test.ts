import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { test } from "node:test";
import type { AuditEntry } from "../../src/core/audit.ts";
import type { AlarmActions } from "../../src/features/alarms/rules/view.ts";
import type { HttpOptions } from "../../src/http/parts.ts";
import { createApp, createHttpServer } from "../../src/http/server.ts";
import { alarmParts } from "../support/alarm-parts.ts";
import { OPTIONS, testParts } from "../support/http-parts.ts";

const TOKEN = "t0ken-that-may-all";
const URLS = ["https://gw.plant.example/boxes/7/", "http://gw.plant.example:8443/b/"];
const BEARER = { authorization: `Bearer ${TOKEN}` };

function appWith(
  t: { after(close: () => unknown): void },
  options: Partial<HttpOptions>,
  parts: Parameters<typeof testParts>[0] = {},
) {
  const app = createApp(testParts(parts), { ...OPTIONS, token: TOKEN, ...options });
  t.after(() => app.close());
  return app;
}

test("proxies – with HTTP_PUBLIC_URL, only addresses, this computer's own names and the listed ones are ours", async (t) => {
  const names = ["box7", "box7.local:8080", "box7.lan.example"];
  const own = ["192.0.2.7:8080", "[2001:db8::7]", "localhost:1", ...names];
  const status = async (bound: string, host: string) =>
    (
      await appWith(t, { host: bound, publicUrls: URLS, ownName: () => "Box7.lan.example" }).inject(
        {
          url: "/api/v1/status",
          headers: { host, ...BEARER },
        },
      )
    ).statusCode;
  for (const host of [...own, "gw.plant.example", "GW.plant.example:443", "gw.plant.example."])
    assert.equal(await status("0.0.0.0", host), 200, host);
  for (const host of ["evil.example", "gw.plant.example.evil", "plant.example", "local"])
    assert.equal(await status("0.0.0.0", host), 403, host);
  for (const host of ["localhost", "127.0.0.1:8080", "gw.plant.example"])
    assert.equal(await status("127.0.0.1", host), 200, host);
  for (const host of ["192.0.2.7:8080", "box7.local"])
    assert.equal(await status("127.0.0.1", host), 403, host);
});

test("proxies – the base is the path of the listed address that the Origin names, else the Host, whether the proxy removes it or not", async (t) => {
  const app = appWith(t, { publicUrls: URLS });
  const signIn = async (url: string, headers: Record<string, string>) => {
    const answer = await app.inject({
      method: "POST",
      url,
      headers: { ...headers, "content-type": "application/x-www-form-urlencoded" },
      payload: `token=${TOKEN}`,
    });
    const path = /; Path=([^;]+)/.exec(String(answer.headers["set-cookie"]))?.[1];
    if (answer.statusCode !== 303) return answer.statusCode;
    assert.equal(answer.headers.location, path);
    return `${path}${/; Secure/.test(String(answer.headers["set-cookie"])) ? " secure" : ""}`;
  };
  const public1 = "https://gw.plant.example";
  const public2 = "http://gw.plant.example:8443";
  assert.equal(await signIn("/", { host: "127.0.0.1", origin: public1 }), "/boxes/7/ secure");
  assert.equal(await signIn("/sign-in", { host: "127.0.0.1", origin: public2 }), "/b/");
  assert.equal(await signIn("/b/sign-in", { host: "localhost", origin: public2 }), "/b/");
  assert.equal(await signIn("/b/", { host: "localhost" }), "/b/");
  assert.equal(await signIn("/", { host: "gw.plant.example:8443" }), "/b/");
  assert.equal(await signIn("/", { host: "gw.plant.example" }), "/boxes/7/");
  // At the agent's own address there is no base, whatever is listed.
  assert.equal(await signIn("/", { host: "localhost:8080" }), "/");
  assert.equal(await signIn("/", { host: "localhost:8080", origin: "http://localhost:8080" }), "/");
  // Other origins stay refused: by scheme, host and port.
  for (const origin of ["http://gw.plant.example", "https://gw.plant.example:8443", "null"])
    assert.equal(await signIn("/", { host: "127.0.0.1", origin }), 403, origin);
  const foreign = { origin: "https://evil.example", "sec-fetch-site": "same-origin" };
  assert.equal(await signIn("/", { host: "127.0.0.1", ...foreign }), 403);
});

test("proxies – below a path, what the agent serves is found with and without it, and the OpenAPI document names it", async (t) => {
  const app = appWith(t, { publicUrls: URLS });
  const headers = { host: "gw.plant.example", ...BEARER };
  for (const url of ["/api/v1/openapi.json", "/boxes/7/api/v1/openapi.json"]) {
    const { servers } = (await app.inject({ url, headers })).json();
    assert.equal(servers[0].url, "/boxes/7/", url);
  }
  assert.equal((await app.inject({ url: "/boxes/7/?a=b", headers })).statusCode, 200);
  assert.equal((await app.inject({ url: "/boxes/70/", headers })).statusCode, 404);
  const slash = await app.inject({ url: "/boxes/7?a=b", headers });
  assert.equal(slash.statusCode, 308);
  assert.equal(slash.headers.location, "/boxes/7/?a=b");
});

test("proxies – the person in HTTP_USER_HEADER is in the audit and acknowledges, but only from a trusted proxy, once, and not too long", async (t) => {
  const entries: AuditEntry[] = [];
  const audit = { add: async (entry: AuditEntry) => void entries.push(entry), newest: () => [] };
  const options = {
    trustedProxies: ["10.0.0.0/8", "fd00::1"],
    userHeader: "X-Remote-User",
    publicUrls: URLS,
  };
  const app = appWith(t, options, { audit });
  const send = async (remoteAddress: string, headers: Record<string, string | string[]>) => {
    await app.inject({
      method: "POST",
      url: "/api/v1/reload",
      headers: { host: "localhost", ...BEARER, ...headers },
      remoteAddress,
    });
    const { person, address } = entries.at(-1) as AuditEntry;
    return [person, address];
  };
  const ann = { "x-remote-user": Buffer.from("Ann Müller").toString("latin1") };
  const forwarded = (text: string) => ({ "x-forwarded-for": text });
  assert.deepEqual(await send("10.1.2.3", ann), ["Ann Müller", "10.1.2.3"]);
  assert.deepEqual(await send("::ffff:10.1.2.3", ann), ["Ann Müller", "::ffff:10.1.2.3"]);
  assert.deepEqual(await send("fd00::1", ann), ["Ann Müller", "fd00::1"]);
  assert.deepEqual(await send("192.0.2.9", ann), [null, "192.0.2.9"]);
  for (const name of ["x".repeat(65), ""])
    assert.deepEqual(await send("10.1.2.3", { "x-remote-user": name }), [null, "10.1.2.3"]);
  assert.equal((await send("10.1.2.3", { "x-remote-user": "x".repeat(64) }))[0]?.length, 64);
  // The last address that is no trusted proxy: those before it are the client's own words.
  const long = forwarded("203.0.113.5, 192.0.2.7, 10.9.9.9");
  assert.deepEqual(await send("10.1.2.3", long), [null, "192.0.2.7"]);
  assert.deepEqual(await send("192.0.2.9", long), [null, "192.0.2.9"]);
  assert.deepEqual(await send("10.1.2.3", forwarded("[2001:db8::7]:99")), [null, "2001:db8::7"]);
  assert.deepEqual(await send("10.1.2.3", forwarded("unknown")), [null, "10.1.2.3"]);
  assert.deepEqual(await send("10.1.2.3", forwarded("unknown, 10.4.4.4")), [null, "10.4.4.4"]);
  // People trust the network that they themselves are in.
  assert.deepEqual(await send("10.1.2.3", forwarded("10.7.7.7, 10.4.4.4")), [null, "10.7.7.7"]);
  // It signs nobody in.
  const answer = await app.inject({
    url: "/api/v1/status",
    headers: { host: "localhost", ...ann },
    remoteAddress: "10.1.2.3",
  });
  assert.equal(answer.statusCode, 401);
});

test("proxies – a header that is there twice names nobody", async (t) => {
  const entries: AuditEntry[] = [];
  const audit = { add: async (entry: AuditEntry) => void entries.push(entry), newest: () => [] };
  const options = { trustedProxies: ["127.0.0.1"], userHeader: "X-User", token: TOKEN };
  const server = createHttpServer(testParts({ audit }), { ...OPTIONS, ...options });
  t.after(() => server.close());
  const address = await server.listen();
  for (const names of [["Ann", "Bob"], ["Ann"]]) {
    const sent = request(`${address}/api/v1/reload`, { method: "POST", headers: BEARER });
    sent.setHeader("X-User", names);
    sent.end();
    const [response] = await once(sent, "response");
    response.resume();
    await once(response, "end");
  }
  assert.deepEqual(
    entries.map(({ person }) => person),
    [null, "Ann"],
  );
});

test("proxies – wrong tokens of one person behind a proxy do not slow another's", async (t) => {
  const app = appWith(t, { trustedProxies: ["10.0.0.1"], userHeader: "X-User" });
  const guess = async (from: Record<string, string>, token: string) =>
    (
      await app.inject({
        method: "POST",
        url: "/sign-in",
        headers: { host: "localhost", ...from },
        payload: { token },
        remoteAddress: "10.0.0.1",
      })
    ).statusCode;
  const one = { "x-forwarded-for": "192.0.2.1" };
  for (let i = 0; i < 10; i++) assert.equal(await guess(one, `wrong-${i}`), 401);
  assert.equal(await guess(one, "wrong-10"), 429);
  assert.equal(await guess({ "x-forwarded-for": "192.0.2.2" }, "wrong"), 401);
  // At the same terminal, too.
  assert.equal(await guess({ ...one, "x-user": "bob" }, "wrong"), 401);
});

test("proxies – an acknowledgement without a name is the person's whom the proxy names", async (t) => {
  const names: string[] = [];
  const alarms = {
    act: (action: { by: string }) => {
      names.push(action.by);
      return Promise.resolve({ ok: false, reason: "unknown", detail: "none" });
    },
  } as unknown as AlarmActions;
  const options = { trustedProxies: ["127.0.0.1"], userHeader: "X-User" };
  const app = appWith(t, options, alarmParts({ alarms }, Date.now));
  const url = "/api/v1/alarms/00000000000000000000000000000000/acknowledge";
  for (const payload of [{}, { by: "Carol" }])
    await app.inject({
      method: "POST",
      url,
      headers: { host: "localhost", ...BEARER, "x-user": "ann" },
      payload,
    });
  assert.deepEqual(names, ["ann", "Carol"]);
});
