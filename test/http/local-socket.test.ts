/** Node 20 cuts the path of a socket: what it then names lies above DATA_DIR, where others may be let in. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { requestSocket } from "../../src/cli/agent-request.ts";
import { LocalSocket } from "../../src/http/local-socket.ts";
import { tempDirectory } from "../support/temp-database.ts";

function deep(above: string): string {
  const directory = join(above, "d".repeat(120));
  mkdirSync(directory);
  return join(directory, "gateside.sock");
}

test("local socket – with a path too long for one, nothing listens anywhere", async (t) => {
  const above = tempDirectory(t);
  const path = deep(above);
  const local = new LocalSocket(path, (_request, response) => response.end("heard"));
  t.after(() => local.close(0));
  await assert.rejects(local.listen(), /too long/);
  assert.deepEqual(readdirSync(above), ["d".repeat(120)]);
});

test("local socket – a command sends nothing to who listens where the path would be cut", async (t) => {
  const path = deep(tempDirectory(t));
  let isAsked = false;
  const stranger = createServer((_request, response) => {
    isAsked = true;
    response.end("{}");
  });
  t.after(() => stranger.close());
  // Newer versions of Node refuse it.
  stranger.listen(path);
  await once(stranger, "listening").catch(() => {});
  const { signal } = new AbortController();
  const headers = { authorization: "Bearer secret" };
  const answer = await requestSocket(path, "/api/v1/status", { headers, content: null, signal });
  assert.deepEqual([answer, isAsked], [null, false]);
});
