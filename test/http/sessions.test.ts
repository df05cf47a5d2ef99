import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { HttpOptions } from "../../src/http/parts.ts";
import { createApp } from "../../src/http/server.ts";
import type { Store } from "../../src/pipeline/store/store.ts";
import { NOW, OPTIONS, testParts } from "../support/http-parts.ts";
import { tempDirectory, tempStore } from "../support/temp-database.ts";

const host = "localhost";
const TOKENS = { token: "t0ken-that-may-all", viewToken: "t0ken-that-looks" };
const DAY_MS = 86_400_000;

/** A process over the store: `at` ms after the beginning. */
function start(store: Store, at = 0, options: Partial<HttpOptions> = {}) {
  const parts = testParts({ sessions: store.sessions });
  parts.clock.set(NOW + at);
  const app = createApp(parts, { ...OPTIONS, ...TOKENS, ...options });
  return {
    app,
    clock: parts.clock,
    async signIn(token: string) {
      const headers = { host };
      const answer = await app.inject({
        method: "POST",
        url: "/sign-in",
        headers,
        payload: { token },
      });
      return String(answer.headers["set-cookie"]).split(";")[0] ?? "";
    },
    async status(cookie: string) {
      return (await app.inject({ url: "/api/v1/status", headers: { host, cookie } })).statusCode;
    },
  };
}

test("sessions – one of HTTP_VIEW_TOKEN outlives restarts, and one of HTTP_TOKEN does not", async (t) => {
  const dataDir = tempDirectory(t);
  const store = tempStore(t, { dataDir });
  const first = start(store);
  const view = await first.signIn(TOKENS.viewToken);
  const all = await first.signIn(TOKENS.token);
  assert.equal(await first.status(all), 200);
  await first.app.close();
  await store.close();
  const again = tempStore(t, { dataDir });
  const second = start(again, 29 * DAY_MS);
  assert.equal(await second.status(all), 401);
  assert.equal(await second.status(view), 200);
  const [, key = ""] = view.split("=");
  for (const name of ["gateside.db", "gateside.db-wal"]) {
    const bytes = readFileSync(join(dataDir, name));
    for (const secret of [key, TOKENS.viewToken]) assert.ok(!bytes.includes(secret), name);
  }
  // Its use prolonged it.
  await second.app.close();
  const third = start(again, 58 * DAY_MS);
  assert.equal(await third.status(view), 200);
  await third.app.close();
  const fourth = start(again, 58 * DAY_MS + 30 * DAY_MS + 1);
  assert.equal(await fourth.status(view), 401);
  await fourth.app.close();
});

test("sessions – HTTP_SESSION_DAYS is how long one lasts without use, in a running process, too", async (t) => {
  const { app, clock, signIn, status } = start(tempStore(t), 0, { sessionDays: 2 });
  t.after(() => app.close());
  const view = await signIn(TOKENS.viewToken);
  for (let day = 0; day < 5; day++) {
    await clock.advance(2 * DAY_MS);
    assert.equal(await status(view), 200);
  }
  await clock.advance(2 * DAY_MS + 1);
  assert.equal(await status(view), 401);
});

test("sessions – they end at sign-out, and when HTTP_VIEW_TOKEN changes or goes, also where it comes back", async (t) => {
  const store = tempStore(t);
  const first = start(store);
  const [left, kept] = [await first.signIn(TOKENS.viewToken), await first.signIn(TOKENS.viewToken)];
  await first.app.inject({ method: "POST", url: "/sign-out", headers: { host, cookie: left } });
  assert.equal(await first.status(left), 401);
  await first.app.close();
  const second = start(store);
  assert.equal(await second.status(left), 401);
  assert.equal(await second.status(kept), 200);
  await second.app.close();
  for (const viewToken of ["another-t0ken-that-looks", null]) {
    const before = start(store);
    const cookie = await before.signIn(TOKENS.viewToken);
    assert.equal(await before.status(cookie), 200);
    await before.app.close();
    const changed = start(store, 0, { viewToken });
    assert.equal(await changed.status(cookie), 401);
    assert.equal(await changed.status(kept), 401);
    await changed.app.close();
    assert.deepEqual(store.sessions.all(), []);
  }
});

test("sessions – use is written at most once an hour, and at the end; the longest unused of too many ends", async (t) => {
  const store = tempStore(t);
  const { app, clock, signIn, status } = start(store);
  const view = await signIn(TOKENS.viewToken);
  await clock.advance(3_599_999);
  await status(view);
  assert.equal(store.sessions.all()[0]?.lastUsedMs, NOW);
  await app.close();
  assert.equal(store.sessions.all()[0]?.lastUsedMs, NOW + 3_599_999);
  const next = start(store, 3_600_000);
  for (let i = 0; i < 256; i++) {
    await next.clock.advance(1);
    await next.signIn(TOKENS.viewToken);
  }
  assert.equal(store.sessions.all().length, 256);
  assert.equal(await next.status(view), 401);
  await next.app.close();
});

test("sessions – of two boxes on one host, signing in to one signs nobody out of the other", async (t) => {
  const boxes = [1, 2].map((n) => start(tempStore(t), 0, { instance: `plant-${n} data 8080` }));
  const [one, two] = boxes;
  assert.ok(one && two);
  // A browser keeps one cookie of each name for a host, whatever the port, and sends all of them.
  const jar = new Map<string, string>();
  const cookie = () => [...jar].map((pair) => pair.join("=")).join("; ");
  for (const box of [one, two, one]) {
    const [name = "", key = ""] = (await box.signIn(TOKENS.token)).split("=");
    jar.set(name, key);
  }
  assert.deepEqual([await one.status(cookie()), await two.status(cookie())], [200, 200]);
  const out = { method: "POST", url: "/sign-out", headers: { host, cookie: cookie() } } as const;
  await one.app.inject(out);
  assert.deepEqual([await one.status(cookie()), await two.status(cookie())], [401, 200]);
});
