import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Watchdog } from "../../src/lib/watchdog.ts";
import { deadlineMs } from "../support/deadline.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { freePort } from "../support/mosquitto.ts";
import {
  buildSdNotify,
  openNotifySocket,
  skipWithoutNatives as skip,
  temporaryDirectory,
} from "../support/notify-socket.ts";
import { scriptWords } from "../support/script-words.ts";
import { waitUntil } from "../support/wait-until.ts";

test("watchdog – is fed only while the database responds", async (t) => {
  const clock = new ManualClock();
  let pings = 0;
  let isAlive = true;
  const notifier = {
    ready() {},
    stopping() {},
    reloading() {},
    alive: () => void pings++,
    working() {},
    aliveEveryMs: 1000,
  };
  const watchdog = new Watchdog({ clock, store: { isAlive: () => isAlive }, notifier });
  const stop = new AbortController();
  t.after(() => stop.abort());
  void watchdog.run(stop.signal);
  await clock.advance(3500);
  assert.equal(pings, 4);
  isAlive = false;
  await clock.advance(10_000);
  assert.equal(pings, 4);
  assert.deepEqual(
    watchdog.health().map(({ name, isWell }) => [name, isWell]),
    [
      ["loop", true],
      ["database", false],
    ],
  );
  isAlive = true;
  await clock.advance(1000);
  assert.ok(pings > 4);
});

test("watchdog – an event loop that is blocked shows in the health", async () => {
  const clock = new ManualClock();
  const watchdog = new Watchdog({ clock, store: { isAlive: () => true }, notifier: null });
  await clock.advance(31_000);
  const [loop] = watchdog.health();
  assert.equal(loop?.isWell, false);
  assert.match(loop?.detail ?? "", /31 s/);
});

test("watchdog – the agent notifies systemd that it is saving, ready, alive and stopping; a frozen one does not", {
  skip,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const directory = temporaryDirectory(t);
  mkdirSync(join(directory, "dist"));
  buildSdNotify(join(directory, "dist/sdnotify.node"));
  const address = join(directory, "notify");
  const socket = await openNotifySocket(t, address);
  writeFileSync(
    join(directory, "site.json"),
    JSON.stringify({ site: "p", sensors: [{ code: "1", type: 1, kinds: ["rpm"] }] }),
  );
  // A damaged store is saved first, and systemd is informed of the progress.
  mkdirSync(join(directory, "data"));
  writeFileSync(join(directory, "data/gateside.db"), "spoiled ".repeat(1000));
  const closedPort = await freePort();
  const agent = spawn(process.execPath, [...scriptWords("src/main.ts"), "run"], {
    cwd: directory,
    stdio: ["ignore", "ignore", "inherit"],
    env: {
      ...process.env,
      NOTIFY_SOCKET: address,
      WATCHDOG_USEC: "200000",
      // Neither gateway nor broker answers: readiness is the agent's own.
      GATEWAY_URL: `http://127.0.0.1:${closedPort}`,
      MQTT_URL: `mqtt://127.0.0.1:${closedPort}`,
      SITE_FILE: "site.json",
      HTTP_PORT: "off",
    },
  });
  t.after(() => agent.kill("SIGKILL"));
  const exited = new Promise<number | null>((done) => agent.once("exit", done));
  assert.equal(await socket.next(), "EXTEND_TIMEOUT_USEC=300000000|WATCHDOG=1");
  assert.equal(await socket.next(), "READY=1|STATUS=polling 1 sensors");
  for (let i = 0; i < 3; i++) assert.equal(await socket.next(), "WATCHDOG=1");

  agent.kill("SIGSTOP");
  let last = Date.now();
  let isWatching = true;
  const rest = (async () => {
    for (;;) {
      const line = await socket.next();
      if (line !== "WATCHDOG=1" || !isWatching) return line;
      last = Date.now();
    }
  })();
  // Ten times the ping's interval without one; what waits in the socket comes at once. Silence has no event.
  await waitUntil("silence", () => Date.now() - last >= 1000);
  isWatching = false;
  agent.kill("SIGCONT");
  assert.equal(await rest, "WATCHDOG=1");

  agent.kill("SIGTERM");
  let line = await socket.next();
  while (line === "WATCHDOG=1") line = await socket.next();
  assert.equal(line, "STOPPING=1");
  assert.equal(await exited, 0);
});
