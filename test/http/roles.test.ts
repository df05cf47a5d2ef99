import assert from "node:assert/strict";
import { test } from "node:test";
import { createApp } from "../../src/http/server.ts";
import { auditLog } from "../support/audit-log.ts";
import { OPTIONS, testParts } from "../support/http-parts.ts";

const TOKENS = { token: "t0ken-that-may-all", viewToken: "t0ken-that-looks" };
const host = "localhost";

const CHANGES = [
  "/api/v1/settings",
  "/api/v1/reload",
  "/api/v1/backfill",
  "/api/v1/alarms/00000000000000000000000000000000/acknowledge",
  "/api/v1/baselines/10234/a/b/relearn",
  "/api/v1/anything-new",
] as const;

test("roles – HTTP_VIEW_TOKEN can read, by bearer and by session, and each change is refused with 403 and a message", async (t) => {
  const { audit, entries } = auditLog();
  const app = createApp(testParts({ audit }), { ...OPTIONS, ...TOKENS });
  t.after(() => app.close());
  const signIn = await app.inject({
    method: "POST",
    url: "/sign-in",
    headers: { host },
    payload: { token: TOKENS.viewToken },
  });
  assert.equal(signIn.statusCode, 204);
  const cookie = String(signIn.headers["set-cookie"]).split(";")[0] ?? "";
  for (const who of [{ authorization: `Bearer ${TOKENS.viewToken}` }, { cookie }]) {
    const headers = { host, ...who };
    for (const url of ["/api/v1/status", "/metrics", "/", "/api/v1/audit"]) {
      const answer = await app.inject({ url, headers });
      assert.equal(answer.statusCode, 200, url);
      assert.equal(answer.headers["x-gateside-role"], "view");
    }
    for (const url of CHANGES) {
      for (const method of ["POST", "PUT", "DELETE", "PATCH"] as const) {
        const answer = await app.inject({ method, url, headers, payload: {} });
        assert.equal(answer.statusCode, 403, `${method} ${url}`);
        assert.match(answer.json().error.message, /HTTP_VIEW_TOKEN is read-only/);
      }
    }
    const compare = { nonce: "0123456789abcdef", digests: {} };
    const url = "/api/v1/configuration/compare";
    const asked = await app.inject({ method: "POST", url, headers, payload: compare });
    assert.equal(asked.statusCode, 501, "a question, that this agent has no answer to");
  }
  assert.ok(entries.length > 0);
  for (const { who, outcome } of entries) {
    assert.equal(who, "HTTP_VIEW_TOKEN");
    assert.equal(outcome, "403");
  }
});

/** One address in many spellings: every letter of its last words encoded, all of them, twice, and what a proxy may make of it. */
function spellingsOf(path: string): string[] {
  const encoded = (letter: string) =>
    `%${letter.charCodeAt(0).toString(16).padStart(2, "0").toUpperCase()}`;
  const letters = path.split("");
  const all = letters.map((one) => (one === "/" ? one : encoded(one))).join("");
  const single = letters.flatMap((letter, at) =>
    letter === "/"
      ? []
      : [encoded(letter), encoded(letter).toLowerCase()].map(
          (one) => path.slice(0, at) + one + path.slice(at + 1),
        ),
  );
  const tails = [
    "",
    "/",
    "?",
    "?x=1",
    "#",
    ";x=1",
    "%3Fx",
    "%23x",
    "//",
    "/.",
    "%20",
    "%00",
    "%2F",
  ];
  return [
    ...single,
    all,
    all.replaceAll("%", "%25"),
    ...tails.map((tail) => path + tail),
    `/${path}`,
    path.replace("/v1/", "/v1//"),
    path.replace("/v1/", "/v1/./"),
    path.replace("/v1/", "/v1/x/../"),
    path.replace("/v1/", "%2Fv1%2F"),
    path.toUpperCase(),
    path.replaceAll("/", "\\"),
    `http://localhost${path}`,
  ];
}

test("roles – no spelling of an address lets HTTP_VIEW_TOKEN do what the operation is refused to it for", async (t) => {
  const app = createApp(testParts(), { ...OPTIONS, ...TOKENS });
  t.after(() => app.close());
  const reached: string[] = [];
  app.addHook("preValidation", (request, _reply, done) => {
    reached.push(`${request.method} ${request.routeOptions.url}`);
    done();
  });
  const document = await app.inject({
    url: "/api/v1/openapi.json",
    headers: { host, authorization: `Bearer ${TOKENS.token}` },
  });
  const { paths } = document.json<{ paths: Record<string, Record<string, object>> }>();
  const LOOKS = new Set([
    "POST /api/v1/configuration/compare",
    "POST /api/v1/setup/site/check",
    "POST /api/v1/setup/discover/draft",
  ]);
  const FOR_ALL = new Set([
    "GET /api/v1/setup/backup",
    "GET /api/v1/log",
    "HEAD /api/v1/setup/backup",
    "HEAD /api/v1/log",
  ]);
  const mayNot = (method: string, path: string) =>
    method === "GET" || method === "HEAD"
      ? FOR_ALL.has(`${method} ${path}`)
      : !LOOKS.has(`${method} ${path}`);
  let count = 0;
  for (const [path, methods] of Object.entries(paths)) {
    if (path === "/api/v1/events") continue;
    const named = Object.keys(methods).map((method) => method.toUpperCase());
    const asked = [...named, ...(named.includes("GET") ? ["HEAD"] : [])];
    for (const method of asked) {
      for (const url of spellingsOf(path.replace(/\{\w+\}/g, "1"))) {
        reached.length = 0;
        const answer = await app.inject({
          method: method as "GET",
          url,
          headers: { host, authorization: `Bearer ${TOKENS.viewToken}` },
          ...(method === "POST" || method === "PUT" ? { payload: {} } : {}),
        });
        count += 1;
        for (const one of reached) {
          const known = (one.split(" ")[1] ?? "").replace(/:(\w+)/g, "{$1}");
          assert.ok(!mayNot(method, known), `${method} ${url} reached ${one}`);
        }
        if (mayNot(method, path) && url === path.replace(/\{\w+\}/g, "1"))
          assert.equal(answer.statusCode, 403, `${method} ${url}`);
      }
    }
  }
  assert.ok(count > 3_000, String(count));
});

test("roles – a view token cannot be used to guess the secrets in the settings", async (t) => {
  const asked: boolean[] = [];
  const configuration = {
    compare: (_nonce: string, _digests: object, withSecrets: boolean) => {
      asked.push(withSecrets);
      return [];
    },
  };
  const app = createApp(testParts({ configuration: configuration as never }), {
    ...OPTIONS,
    ...TOKENS,
  });
  t.after(() => app.close());
  for (const token of [TOKENS.viewToken, TOKENS.token])
    await app.inject({
      method: "POST",
      url: "/api/v1/configuration/compare",
      headers: { host, authorization: `Bearer ${token}` },
      payload: { nonce: "0123456789abcdef", digests: {} },
    });
  assert.deepEqual(asked, [false, true]);
});

test("tokens – a token in the URL is not accepted", async (t) => {
  const app = createApp(testParts(), { ...OPTIONS, ...TOKENS });
  t.after(() => app.close());
  for (const name of ["token", "access_token", "Token", "authorization"]) {
    const url = `/api/v1/status?${name}=${TOKENS.token}`;
    assert.equal((await app.inject({ url, headers: { host } })).statusCode, 401, url);
  }
  const url = `/sign-in?token=${TOKENS.token}`;
  const answer = await app.inject({ method: "POST", url, headers: { host }, payload: {} });
  assert.equal(answer.statusCode, 401);
  assert.ok(!answer.body.includes(TOKENS.token));
});

test("roles – an address that no route can be found for is refused like any other, with every header", async (t) => {
  const app = createApp(testParts(), { ...OPTIONS, ...TOKENS });
  t.after(() => app.close());
  const long = `/api/v1/sensors/${"1".repeat(300)}`;
  for (const url of ["/api/v1/%zz", "/api/v1/sensors/%ff/readings", long]) {
    const asked = await app.inject({ url, headers: { host } });
    assert.equal(asked.statusCode, 401, url);
    assert.equal(asked.headers["x-content-type-options"], "nosniff");
    const foreign = await app.inject({ url, headers: { host: "evil.example" } });
    assert.equal(foreign.statusCode, 403, url);
    const headers = { host, authorization: `Bearer ${TOKENS.viewToken}` };
    const { statusCode } = await app.inject({ url, headers });
    assert.equal(statusCode, url === long ? 400 : 404, url);
  }
});
