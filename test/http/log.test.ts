import assert from "node:assert/strict";
import { test } from "node:test";
import { createApp } from "../../src/http/server.ts";
import { openLog } from "../../src/lib/logger.ts";
import { OPTIONS, testParts } from "../support/http-parts.ts";

const TOKEN = "an-http-token-of-its-own";
const VIEW_TOKEN = "another-token-to-look-at";

function openWithLog(options: Partial<typeof OPTIONS> = {}) {
  const written: string[] = [];
  const log = openLog("info", () => 1_000, { write: (line: string) => void written.push(line) });
  const parts = testParts();
  const audited: string[] = [];
  const audit = {
    add: async ({ what, detail, outcome }: { what: string; detail: string; outcome: string }) =>
      void audited.push(`${what} ${detail} ${outcome}`),
    newest: () => [],
  };
  const app = createApp({ ...parts, log: log.view, audit }, { ...OPTIONS, ...options });
  const ask = (url: string, token: string | null, body?: object) =>
    app.inject({
      method: body === undefined ? "GET" : "POST",
      url: `/api/v1/${url}`,
      headers: {
        host: "localhost",
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { payload: body }),
    });
  return { app, ask, audited, logger: log.logger, written };
}

test("log – the newest lines as they went to stdout, by level and text, followed by number, and as a file", async (t) => {
  const { app, ask, logger, written } = openWithLog();
  t.after(() => app.close());
  logger.info({ sensor: "30007" }, "first");
  logger.debug({}, "not logged at level info");
  logger.warn({ sensor: "30008" }, "Second");
  const all = (await ask("log", null)).json();
  assert.deepEqual(
    all.lines,
    written.map((line) => JSON.parse(line)),
  );
  assert.deepEqual([all.last, all.dropped, all.level, all.debugUntilMs], [2, 0, "info", null]);
  const messages = async (query: string): Promise<string[]> =>
    (await ask(`log?${query}`, null)).json().lines.map(({ msg }: { msg: string }) => msg);
  assert.deepEqual(await messages("level=warn"), ["Second"]);
  assert.deepEqual(await messages("q=30007"), ["first"]);
  assert.deepEqual(await messages("q=second"), ["Second"]);
  assert.deepEqual(await messages("limit=1"), ["Second"]);
  logger.error({}, "third");
  assert.deepEqual(await messages(`after=${all.last}`), ["third"]);
  const file = await ask("log?format=jsonl", null);
  assert.equal(file.body, written.join(""));
  assert.match(String(file.headers["content-disposition"]), /attachment; filename=".*\.jsonl"/);
});

test("log – 5,000 lines and 2 MB are kept, the oldest go first, and nothing is skipped while following", async (t) => {
  const { app, ask, logger } = openWithLog();
  t.after(() => app.close());
  for (let i = 1; i <= 5_600; i++) logger.info({ i }, "line");
  const { lines, last, dropped } = (await ask("log?limit=5000", null)).json();
  assert.deepEqual([lines.length, lines[0].i, last, dropped], [5_000, 601, 5_600, 600]);
  const part = (await ask("log?after=5590&limit=4", null)).json();
  assert.deepEqual([part.lines.length, part.last], [4, 5_594]);
  const long = "x".repeat(10_000);
  for (let i = 0; i < 300; i++) logger.info({ long }, "long");
  const file = await ask("log?format=jsonl", null);
  assert.ok(file.body.length < 2_010_000 && file.body.length > 1_900_000, String(file.body.length));
});

test("log – for HTTP_TOKEN alone; debug for a while is audited and ends", async (t) => {
  const { app, ask, audited, logger, written } = openWithLog({
    token: TOKEN,
    viewToken: VIEW_TOKEN,
  });
  t.after(() => app.close());
  assert.equal((await ask("log", null)).statusCode, 401);
  assert.equal((await ask("log", VIEW_TOKEN)).statusCode, 403);
  assert.equal((await ask("log/debug", VIEW_TOKEN, { minutes: 15 })).statusCode, 403);
  assert.equal((await ask("log", TOKEN)).statusCode, 200);
  const started = await ask("log/debug", TOKEN, { minutes: 15 });
  assert.deepEqual(started.json(), { level: "debug", debugUntilMs: 1_000 + 15 * 60_000 });
  logger.debug({}, "more");
  assert.equal(written.length, 1, "stdout has the same lines");
  assert.deepEqual((await ask("log/debug", TOKEN, { minutes: 0 })).json(), {
    level: "info",
    debugUntilMs: null,
  });
  logger.debug({}, "no more");
  assert.equal(written.length, 1);
  assert.equal((await ask("log/debug", TOKEN, { minutes: 16 })).statusCode, 400);
  assert.deepEqual(audited, [
    "POST /api/v1/log/debug  403",
    "POST /api/v1/log/debug 15 minutes 200",
    "POST /api/v1/log/debug ended 200",
    "POST /api/v1/log/debug  400",
  ]);
});
