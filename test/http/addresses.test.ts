import assert from "node:assert/strict";
import { test } from "node:test";
import { createApp } from "../../src/http/server.ts";
import { OPTIONS, testParts } from "../support/http-parts.ts";

const NAVIGATION = { host: "localhost", "sec-fetch-mode": "navigate" };

test("http – an unknown path is 404 for whoever asks; under /api sign-in comes first", async (t) => {
  const app = createApp(testParts(), { ...OPTIONS, token: "a-token-of-the-site" });
  t.after(() => app.close());
  const statusOf = async (url: string, method: "GET" | "POST" = "GET") =>
    (await app.inject({ method, url, headers: NAVIGATION })).statusCode;
  assert.equal(await statusOf("/no-such-page"), 404);
  assert.equal(await statusOf("/machines/40"), 404);
  assert.equal(await statusOf("/api/v1/no-such"), 401);
  assert.equal(await statusOf("/api"), 401);
  assert.equal(await statusOf("/metrics"), 401);
  assert.equal(await statusOf("/no-such-page", "POST"), 401);
});

test("http – people who followed a link that leads nowhere get a page with a way on, programs an error", async (t) => {
  const app = createApp(testParts(), OPTIONS);
  t.after(() => app.close());
  const page = await app.inject({ url: "/no-such-page", headers: NAVIGATION });
  assert.match(String(page.headers["content-type"]), /^text\/html/);
  assert.match(page.body, /<a href="\/">Go to the machines<\/a>/);
  const told = await app.inject({ url: "/no-such-page", headers: { host: "localhost" } });
  assert.equal((told.json() as { error: { status: number } }).error.status, 404);
});

test("http – a day that no calendar has is refused", async (t) => {
  const app = createApp(testParts(), OPTIONS);
  t.after(() => app.close());
  const statusOf = async (from: string) =>
    (
      await app.inject({
        url: `/api/v1/trend?sensor=10234&kind=accel&from=${from}&to=2026-12-31T00:00:00Z`,
        headers: { host: "localhost" },
      })
    ).statusCode;
  assert.equal(await statusOf("2026-02-28T00:00:00Z"), 200);
  assert.equal(await statusOf("2026-02-31T00:00:00Z"), 400);
  assert.equal(await statusOf("2024-02-29T00:00:00Z"), 200);
  assert.equal(await statusOf("2026-02-29T00:00:00%2B01:00"), 400);
});
