import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createApp } from "../../../src/http/server.ts";
import { OPTIONS, testParts } from "../../support/http-parts.ts";
import { FIRST, openSetup as open, sensor, TOKENS, withSensors } from "../../support/open-setup.ts";

const onDisk = (path: string) => JSON.parse(readFileSync(path, "utf8"));

test("set-up – when disabled, every response is 403 and says what to set", async (t) => {
  const app = createApp(testParts(), OPTIONS);
  t.after(() => app.close());
  for (const [method, url] of [
    ["GET", "site"],
    ["PUT", "site"],
    ["POST", "site/check"],
    ["GET", "versions"],
    ["GET", "versions/1"],
    ["POST", "versions/1/restore"],
  ] as const) {
    const answer = await app.inject({
      method,
      url: `/api/v1/setup/${url}`,
      headers: { host: "localhost" },
      ...(method !== "GET" && !url.includes("restore") && { payload: {} }),
    });
    assert.equal(answer.statusCode, 403, `${method} ${url}`);
    assert.match(answer.body, /SETUP_ENABLED=true/);
  }
});

test("set-up – errors are returned with their locations, and nothing is written", async (t) => {
  const { path, put, ask, entries } = open(t);
  const wrong = withSensors(sensor("40001"), { code: "2", type: 9, kinds: ["currentV2"] });
  const refused = await put(wrong);
  assert.equal(refused.status, 422);
  assert.match(refused.text, /sensors\[1\]/);
  assert.deepEqual(onDisk(path), FIRST);
  assert.ok(!existsSync(`${path}.new`));
  const checked = await ask("POST", "site/check", wrong);
  assert.deepEqual(checked.body.faults, refused.body.faults);
  const renamed = await put({ ...FIRST, site: "plant-8" });
  assert.equal(renamed.status, 422);
  assert.match(renamed.text, /the site's name is/);
  assert.deepEqual(onDisk(path), FIRST);
  assert.deepEqual(
    entries.map(({ outcome }) => outcome),
    ["422", "422"],
    "a check is a question",
  );
});

test("set-up – a sensor is added, changed and removed; each step is applied, audited and kept as a version", async (t) => {
  const { path, put, ask, running, entries } = open(t);
  const added = await put(withSensors(sensor("40001"), sensor("40002")));
  assert.equal(added.status, 200);
  assert.equal(added.body.report.outcome, "applied");
  assert.deepEqual(
    running.current.sensors.map(({ code }) => code),
    ["40001", "40002"],
  );
  await put(withSensors(sensor("40001"), sensor("40002", { name: "Fan" })));
  await put(withSensors(sensor("40002", { name: "Fan" })));
  assert.deepEqual(onDisk(path).sensors, [sensor("40002", { name: "Fan" })]);
  assert.deepEqual(
    entries.map(({ who, what, detail, outcome }) => [who, what, detail, outcome]),
    [
      ["HTTP_TOKEN", "PUT /api/v1/setup/site", "+40002", "200"],
      ["HTTP_TOKEN", "PUT /api/v1/setup/site", "~40002", "200"],
      ["HTTP_TOKEN", "PUT /api/v1/setup/site", "-40001", "200"],
    ],
  );
  const { versions } = (await ask("GET", "versions")).body;
  assert.deepEqual(
    versions.map(({ version, replacedBy }: { version: number; replacedBy: string }) => [
      version,
      replacedBy,
    ]),
    [
      [3, "HTTP_TOKEN"],
      [2, "HTTP_TOKEN"],
      [1, "HTTP_TOKEN"],
    ],
  );
});

test("set-up – a version is restored after its diff is shown; ten are kept", async (t) => {
  const { path, put, ask, hash } = open(t);
  for (let i = 0; i < 12; i++) await put(withSensors(sensor("40001", { name: `Fan ${i}` })));
  const { versions } = (await ask("GET", "versions")).body;
  assert.equal(versions.length, 10);
  const [newest] = versions;
  const shown = await ask("GET", `versions/${newest.version}`);
  assert.deepEqual(shown.body.changes, ["sensor 40001 changes: name"]);
  const restore = `versions/${newest.version}/restore`;
  assert.equal((await ask("POST", restore)).status, 428);
  const back = await ask("POST", restore, undefined, { "if-match": await hash() });
  assert.equal(back.status, 200);
  assert.equal(onDisk(path).sensors[0].name, "Fan 10");
  const gone = await ask("POST", "versions/1/restore", undefined, { "if-match": await hash() });
  assert.equal(gone.status, 404);
});

test("set-up – a concurrent change is shown and not overwritten", async (t) => {
  const { path, ask, hash } = open(t);
  const seen = await hash();
  const theirs = withSensors(sensor("40001"), sensor("70000"));
  writeFileSync(path, JSON.stringify(theirs));
  const mine = withSensors(sensor("40001"), sensor("40002"));
  const refused = await ask("PUT", "site", mine, { "if-match": seen });
  assert.equal(refused.status, 412);
  assert.deepEqual(refused.body.site, theirs);
  assert.match(String(refused.body.changes), /sensor 70000 is added/);
  assert.deepEqual(onDisk(path), theirs);
  for (const value of ["*", "", "W/x", `W/${await hash()}`, "abc"])
    assert.equal((await ask("PUT", "site", mine, { "if-match": value })).status, 428, value);
  const again = await ask("PUT", "site", mine, { "if-match": `"${refused.body.hash}"` });
  assert.equal(again.status, 200);
});

test("set-up – while a signed configuration is on trial, nothing is saved", async (t) => {
  const { path, put, turn } = open(t);
  turn.take("a signed configuration is on trial; wait until the trial ends");
  assert.equal((await put(withSensors(sensor("1")))).status, 409);
  assert.deepEqual(onDisk(path), FIRST);
});

test("set-up – other origins, HTTP_VIEW_TOKEN, forms, huge bodies and paths as version names change nothing", async (t) => {
  const { path, ask, hash, directory } = open(t);
  const mine = withSensors(sensor("1"));
  const match = { "if-match": await hash() };
  const view = { ...match, authorization: `Bearer ${TOKENS.viewToken}` };
  assert.equal((await ask("PUT", "site", mine, view)).status, 403);
  const foreign = { ...match, origin: "http://evil.example" };
  assert.equal((await ask("PUT", "site", mine, foreign)).status, 403);
  assert.equal((await ask("PUT", "site", mine, { ...match, host: "evil.example" })).status, 403);
  const form = { ...match, "content-type": "text/plain" };
  assert.equal((await ask("PUT", "site", JSON.stringify(mine), form)).status, 400);
  const huge = withSensors(sensor("1", { name: "x".repeat(1_100_000) }));
  assert.equal((await ask("PUT", "site", huge, match)).status, 413);
  writeFileSync(join(directory, "secret"), "s3cret");
  for (const version of ["..%2f..%2fsecret", "0", "-1", "1e3x", "site-1.json"]) {
    const answer = await ask("GET", `versions/${version}`);
    assert.ok([400, 404].includes(answer.status), version);
    assert.ok(!answer.text.includes("s3cret"));
  }
  assert.deepEqual(onDisk(path), FIRST);
});
