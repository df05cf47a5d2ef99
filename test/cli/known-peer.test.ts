/** To whom commands send HTTP_TOKEN: any user of the machine may listen at the port of a stopped agent. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { DirectoryLock } from "../../src/pipeline/store/database/directory-lock.ts";
import { runCommand } from "../support/run-command.ts";

const TOKEN = "the-token-of-this-box-1";

async function place(t: TestContext) {
  const cwd = mkdtempSync(join(tmpdir(), "gateside-peer-"));
  t.after(() => rmSync(cwd, { recursive: true }));
  const dataDir = join(cwd, "data");
  mkdirSync(dataDir, { mode: 0o700 });
  const sensors = [{ code: "1", type: 6, kinds: ["rpm"] }];
  writeFileSync(join(cwd, "site.json"), JSON.stringify({ site: "plant-7", sensors }));
  const heard: (string | undefined)[] = [];
  const listener = createServer((request, response) => {
    heard.push(request.headers.authorization);
    response.setHeader("content-type", "application/json").end('{"site":"plant-7"}');
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    listener.closeAllConnections();
    listener.close();
  });
  const { port } = listener.address() as AddressInfo;
  const env = {
    GATEWAY_URL: "http://127.0.0.1:9",
    GATEWAY_TIMEZONE: "UTC",
    WIRE_WORD: "sensor",
    MQTT_URL: "mqtt://127.0.0.1:9",
    SITE_FILE: "site.json",
    DATA_DIR: dataDir,
    HTTP_PORT: String(port),
    HTTP_TOKEN: TOKEN,
  };
  const gateside = (...words: string[]) => runCommand(words, { cwd, env });
  return { dataDir, heard, gateside, url: `http://127.0.0.1:${port}` };
}

const COMMANDS = [
  ["reload"],
  ["status"],
  ["alarms"],
  ["report", "--machine", "fan", "--out", "report.html"],
  ["backfill", "--from", "2026-11-20"],
];

test("HTTP_TOKEN – while no agent runs on DATA_DIR, no command sends anything to what listens at HTTP_PORT", async (t) => {
  const { dataDir, heard, gateside } = await place(t);
  for (const words of COMMANDS) {
    const { code, stderr } = await gateside(...words);
    assert.notEqual(code, 0, words.join(" "));
    if (words[0] === "status")
      assert.match(stderr, /^error: no agent is seen to run on .*HTTP_TOKEN is not sent to http:/);
  }
  // A former agent leaves its lock's file.
  DirectoryLock.take(dataDir).release();
  await gateside("reload");
  assert.deepEqual(heard, []);
});

test("HTTP_TOKEN – an agent that holds DATA_DIR without a socket is reached at its port", async (t) => {
  const { dataDir, heard, gateside } = await place(t);
  const lock = DirectoryLock.take(dataDir);
  t.after(() => lock.release());
  await gateside("reload");
  assert.deepEqual(heard, [`Bearer ${TOKEN}`]);
});

test("HTTP_TOKEN – an address that the user names is the user's choice", async (t) => {
  const { heard, gateside, url } = await place(t);
  await gateside("alarms", "--url", url);
  assert.ok(heard.length > 0);
  assert.deepEqual(new Set(heard), new Set([`Bearer ${TOKEN}`]));
});
