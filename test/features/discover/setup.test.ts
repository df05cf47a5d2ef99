import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createDiscover } from "../../../src/features/discover/discover.ts";
import { Discovery } from "../../../src/features/discover/discovery.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { openSetup, TOKENS } from "../../support/open-setup.ts";
import { openStranger } from "../../support/stranger.ts";
import { waitUntil } from "../../support/wait-until.ts";

const LOGIN = {
  url: "http://analytics.example",
  email: "a@b.example",
  password: "p4ssword-of-anna",
};
const REQUESTS = [
  ["POST", "discover", LOGIN],
  ["GET", "discover"],
  ["POST", "discover/draft", {}],
] as const;

function opened(t: TestContext) {
  const made = openSetup(t, {
    features(setup, settings) {
      const discover = createDiscover({ settings, logger: silentLogger }, setup);
      t.after(() => discover.stopping?.());
      return [discover];
    },
  });
  /** What is shown once no search is running. */
  const ended = async () => {
    let text = "";
    await waitUntil("the search ended", async () => {
      text = (await made.ask("GET", "discover")).text;
      return !text.includes('"running"');
    });
    return text;
  };
  return { ...made, ended };
}

test("discovery – requests of other pages, or of who may not change anything, start none; while set-up is off, none are served", async (t) => {
  const { ask, ended } = opened(t);
  for (const [method, url, body] of REQUESTS) {
    for (const [status, headers] of [
      [403, { origin: "http://evil.example" }],
      [403, { "sec-fetch-site": "cross-site" }],
      [401, { authorization: "" }],
    ] as const)
      assert.equal((await ask(method, url, body, headers)).status, status, `${method} ${url}`);
  }
  const view = { authorization: `Bearer ${TOKENS.viewToken}` };
  assert.equal((await ask("POST", "discover", LOGIN, view)).status, 403);
  assert.match(await ended(), /"none"/);
  const off = openSetup(t);
  for (const [method, url, body] of REQUESTS) {
    const { status, text } = await off.ask(method, url, body);
    assert.deepEqual([status, /SETUP_ENABLED/.test(text)], [403, true], url);
  }
});

test("discovery – 10 MB of JSON, deep nesting and prototype names are refused", async (t) => {
  const { ask } = opened(t);
  const json = { "content-type": "application/json" };
  const huge = JSON.stringify({ ...LOGIN, padding: "x".repeat(10 * 1024 * 1024) });
  const deep = `{"url":${"[".repeat(20_000)}${"]".repeat(20_000)}}`;
  const proto = `{"url":"http://a","__proto__":{"isAdmin":true},"email":"a","password":"b"}`;
  assert.equal((await ask("POST", "discover", huge, json)).status, 413);
  for (const url of ["discover", "discover/draft"])
    for (const body of [deep, proto])
      assert.equal((await ask("POST", url, body, json)).status, 400, url);
});

test("discovery – the password is in no response, audit entry or state", async (t) => {
  const { ask, entries, ended } = opened(t);
  for (const url of [
    "file:///etc/passwd",
    "http://user:secret@host",
    "http://host/?token=1",
    "ftp://host",
    "javascript:alert(1)",
  ])
    assert.equal((await ask("POST", "discover", { ...LOGIN, url })).status, 400, url);
  const noPort = await ask("POST", "discover", { ...LOGIN, url: "http://127.0.0.1:99999" });
  assert.equal(noPort.status, 422);
  assert.match(noPort.text, /"place":"url".*65535/);
  const begun = await ask("POST", "discover", { ...LOGIN, url: "http://127.0.0.1:1" });
  assert.equal(begun.status, 202);
  await ended();
  const discovery = new Discovery({ wireWord: "sensor", site: () => null, logger: silentLogger });
  const begin = () =>
    discovery.begin({ ...LOGIN, url: "http://127.0.0.1:1", wireWord: null }, t.signal);
  assert.deepEqual([begin(), begin()], [true, false], "one at a time");
  const found = await ended();
  assert.match(found, /"failed"/);
  const all = found + begun.text + JSON.stringify(entries);
  assert.ok(!all.includes(LOGIN.password), all);
  assert.ok(!all.includes(LOGIN.email), all);
});

test("discovery – nothing is disclosed about a server that the agent is made to connect to, and redirects are not followed", async (t) => {
  const { ask, ended } = opened(t);
  const { asked, host, inside, paths } = await openStranger(t);
  const responses: Record<string, string> = {};
  for (const path of paths) {
    await ask("POST", "discover", { ...LOGIN, url: `http://${host}/${path}` });
    responses[path] = await ended();
    assert.match(responses[path], /"failed"/);
  }
  assert.match(responses["page"] ?? "", /is not JSON/);
  assert.match(responses["json"] ?? "", /returned no token/);
  assert.match(responses["denied"] ?? "", /HTTP 403/);
  assert.match(responses["huge"] ?? "", /more than 65536 bytes/);
  assert.match(responses["redirect"] ?? "", /redirect/);
  assert.ok(!JSON.stringify(responses).includes(inside), JSON.stringify(responses, null, 1));
  assert.ok(!asked.some((path) => path.includes("followed")), String(asked));
});
