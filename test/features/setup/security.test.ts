/** What a page elsewhere, a stolen link or a huge request can do at set-up: nothing. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { deadlineMs } from "../../support/deadline.ts";
import { FIRST, openSetup, sensor, TOKENS, withSensors } from "../../support/open-setup.ts";
import { openStranger } from "../../support/stranger.ts";

type Method = "GET" | "PUT" | "POST";
const SITE = withSensors(sensor("40001"));
/** Every way in, with a body that would pass. */
const REQUESTS: readonly (readonly [Method, string, object?])[] = [
  ["GET", ""],
  ["GET", "schemas"],
  ["GET", "site"],
  ["POST", "site/check", SITE],
  ["PUT", "site", SITE],
  ["GET", "versions"],
  ["GET", "versions/1"],
  ["POST", "versions/1/restore"],
  ["GET", "uplinks"],
  ["POST", "uplinks/check", { uplinks: [] }],
  ["PUT", "uplinks", { uplinks: [] }],
  ["GET", "uplinks/versions"],
  ["GET", "uplinks/versions/1"],
  ["POST", "uplinks/versions/1/restore"],
  ["POST", "uplinks/test", { uplink: { name: "a", url: "mqtt://127.0.0.1:1" } }],
  ["POST", "probe", { sensor: sensor("1"), kind: "rpm" }],
  ["POST", "probe/states", { sensor: sensor("1") }],
];
const CHANGES = REQUESTS.filter(([method, url]) => method !== "GET" && !url.endsWith("/check"));

test("set-up – requests from other origins, with other host names or without a token are refused, whatever they request", async (t) => {
  const { ask, hash, path, entries } = openSetup(t, { uplinks: { uplinks: [] } });
  const match = { "if-match": await hash() };
  const before = readFileSync(path, "utf8");
  const attempts: readonly (readonly [number, Record<string, string>])[] = [
    [403, { origin: "http://evil.example" }],
    [403, { origin: "null" }],
    [403, { "sec-fetch-site": "cross-site" }],
    [403, { "sec-fetch-site": "same-site" }],
    // A name that was made to lead here.
    [403, { host: "rebound.evil.example" }],
    [403, { host: "localhost.evil.example:80" }],
    [401, { authorization: "" }],
    [401, { authorization: "Bearer wrong-token-of-nobody" }],
  ];
  for (const [method, url, body] of REQUESTS) {
    for (const [status, headers] of attempts) {
      const answer = await ask(method, url, body, { ...match, ...headers });
      assert.equal(answer.status, status, `${method} ${url} ${JSON.stringify(headers)}`);
      assert.deepEqual(Object.keys(answer.body), ["error"]);
    }
  }
  for (const [method, url, body] of CHANGES) {
    const answer = await ask(method, url, body, {
      ...match,
      authorization: `Bearer ${TOKENS.viewToken}`,
    });
    assert.equal(answer.status, 403, `${method} ${url}`);
    assert.match(answer.text, /HTTP_VIEW_TOKEN is read-only/);
  }
  assert.equal(readFileSync(path, "utf8"), before);
  // Who was known and refused is on record; strangers would only fill it.
  assert.equal(entries.length, CHANGES.length);
  assert.ok(entries.every(({ who, outcome }) => who === "HTTP_VIEW_TOKEN" && outcome === "403"));
});

test("set-up – a token in the URL is not accepted, and a form of another page is refused", async (t) => {
  const { ask, hash, path } = openSetup(t);
  const match = { "if-match": await hash() };
  for (const query of ["token", "access_token", "HTTP_TOKEN", "authorization"]) {
    const url = `site?${query}=${TOKENS.token}`;
    const answer = await ask("GET", url, undefined, { authorization: "" });
    assert.equal(answer.status, 401, query);
    assert.ok(!answer.text.includes(TOKENS.token));
  }
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]) {
    const answer = await ask("PUT", "site", JSON.stringify(SITE), {
      ...match,
      "content-type": type,
    });
    assert.ok([400, 415].includes(answer.status), `${type}: ${answer.status}`);
  }
  assert.deepEqual(JSON.parse(readFileSync(path, "utf8")), FIRST);
});

test("set-up – no response may be framed, cached or interpreted as another type", async (t) => {
  const { ask } = openSetup(t, { uplinks: { uplinks: [] } });
  for (const [method, url, body] of REQUESTS.filter(([, one]) => !/test|probe/.test(one))) {
    const { headers } = await ask(method, url, body);
    assert.equal(headers["x-frame-options"], "DENY", url);
    assert.match(String(headers["content-security-policy"]), /frame-ancestors 'none'/);
    assert.equal(headers["cache-control"], "no-store", url);
    assert.equal(headers["x-content-type-options"], "nosniff");
    assert.equal(headers["access-control-allow-origin"], undefined);
  }
});

test("set-up – 10 MB of JSON, deep nesting and prototype names are refused, and nothing is written", async (t) => {
  const { ask, hash, path } = openSetup(t, { uplinks: { uplinks: [] } });
  const match = { "if-match": await hash(), "content-type": "application/json" };
  const before = readFileSync(path, "utf8");
  const huge = JSON.stringify({ ...SITE, padding: "x".repeat(10 * 1024 * 1024) });
  const deep = `{"site":"plant-7","sensors":${"[".repeat(20_000)}${"]".repeat(20_000)}}`;
  const proto = `{"site":"plant-7","__proto__":{"isAdmin":true},"sensors":[{"code":"1","type":1,"kinds":["rpm"]}]}`;
  for (const [method, url] of CHANGES.filter(([, , body]) => body !== undefined))
    assert.equal((await ask(method, url, huge, match)).status, 413, url);
  for (const [method, url] of REQUESTS.filter(([, , body]) => body !== undefined))
    for (const body of [deep, proto]) {
      const answer = await ask(method, url, body, match);
      assert.equal(answer.status, 400, `${url}: ${answer.text.slice(0, 200)}`);
    }
  const many = withSensors(
    ...Array.from({ length: 9_000 }, (_, i) => sensor(String(i), { type: -1 })),
  );
  const answer = await ask("POST", "site/check", many, match);
  assert.equal(answer.status, 200);
  assert.equal(readFileSync(path, "utf8"), before);
});

test("set-up – nothing is disclosed about a server that the agent is made to connect to, and redirects are not followed", async (t) => {
  const { ask } = openSetup(t, { uplinks: { uplinks: [] } });
  const { asked, host, inside, paths } = await openStranger(t);
  const responses: Record<string, string> = {};
  for (const path of paths) {
    const uplink = { name: "a", url: `ws://${host}/${path}` };
    const tried = await ask("POST", "uplinks/test", { uplink });
    assert.equal(tried.body.addresses[0].ok, false);
    responses[`ws ${path}`] = tried.text;
  }
  for (const url of ["http://a.example", "file:///etc/passwd", "ftp://a.example", "gopher://a"])
    assert.equal((await ask("POST", "uplinks/test", { uplink: { name: "a", url } })).status, 422);
  assert.ok(!JSON.stringify(responses).includes(inside), JSON.stringify(responses, null, 1));
  assert.ok(!asked.some((path) => path.includes("followed")), String(asked));
});

test("set-up – no text in a body keeps the agent from answering others", async (t) => {
  const { ask } = openSetup(t, { uplinks: { uplinks: [] } });
  const check = (...notes: string[]) =>
    ask("POST", "uplinks/check", {
      uplinks: notes.map((note) => ({ name: "a", url: "mqtt://b", note })),
    });
  const startedAt = performance.now();
  const long = await check(`x:${"/".repeat(300_000)}`);
  assert.deepEqual([long.status, /more than 32768 characters/.test(long.text)], [400, true]);
  assert.equal((await check(`x:${"/".repeat(32_000)}`)).status, 200);
  const secrets = Array.from({ length: 30 }, (_, n) =>
    Array.from({ length: 2_500 }, (_each, m) => `s3cr${n}x${m}`).join("&"),
  );
  const many = await check(...secrets.map((text) => `x://?${text}`));
  assert.match(many.body.faults[0].problem, /more than 1000 values/);
  assert.ok(performance.now() - startedAt < deadlineMs(5_000));
});
