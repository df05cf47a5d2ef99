import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createSystemdNotifier } from "../../src/lib/sd-notify.ts";
import {
  buildSdNotify,
  openNotifySocket,
  skipWithoutNatives as skip,
  temporaryDirectory,
} from "../support/notify-socket.ts";

test("sd-notify – a socket that is missing, refused or misspelt does no harm", { skip }, (t) => {
  const directory = temporaryDirectory(t);
  const native = buildSdNotify(join(directory, "sdnotify.node"));
  writeFileSync(join(directory, "file"), "");
  const sockets = [
    join(directory, "missing"),
    join(directory, "file"),
    "@gateside-nobody-listens",
    "relative/path",
    "vsock:2:1234",
    `/${"x".repeat(300)}`,
  ];
  for (const socket of sockets) {
    const notifier = createSystemdNotifier({ NOTIFY_SOCKET: socket }, native);
    notifier.ready("polling");
    notifier.alive();
    notifier.stopping();
  }
});

test("sd-notify – trimming releases program pages and changes nothing else", { skip }, (t) => {
  const native = buildSdNotify(join(temporaryDirectory(t), "sdnotify.node"));
  const script = `
    const { trim } = require(${JSON.stringify(native)});
    const fileMb = () => Number(/RssFile:\\s+(\\d+)/.exec(require("fs").readFileSync("/proc/self/status", "utf8"))[1]) / 1024;
    const before = fileMb();
    trim();
    const after = fileMb();
    const text = JSON.stringify(Array.from({ length: 1000 }, (_, i) => ({ i, s: new Intl.NumberFormat("de").format(i / 7) })));
    require("zlib").gunzipSync(require("zlib").gzipSync(text)).toString() === text || process.exit(1);
    console.log(before, after);
  `;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["-e", script], {
    encoding: "utf8",
  });
  assert.equal(status, 0, stderr);
  const [before = 0, after = 0] = stdout.split(" ").map(Number);
  assert.ok(after < before - 5, `${before} MB, then ${after} MB`);
});

test("sd-notify – a long or unusual status does not throw", { skip }, async (t) => {
  const directory = temporaryDirectory(t);
  const native = buildSdNotify(join(directory, "sdnotify.node"));
  const address = join(directory, "notify");
  const socket = await openNotifySocket(t, address);
  const notifier = createSystemdNotifier({ NOTIFY_SOCKET: address }, native);
  notifier.ready("x".repeat(5000));
  assert.match(await socket.next(), /^READY=1\|STATUS=x+$/);
  notifier.ready("Überdruck");
  assert.equal(await socket.next(), "READY=1|STATUS=Überdruck");
});

test("sd-notify – a manager that does not read loses pings and delays nobody", {
  skip,
}, async (t) => {
  const directory = temporaryDirectory(t);
  const native = buildSdNotify(join(directory, "sdnotify.node"));
  const address = join(directory, "notify");
  const socket = await openNotifySocket(t, address);
  const notifier = createSystemdNotifier({ NOTIFY_SOCKET: address }, native);
  for (let i = 0; i < 10_000; i++) notifier.alive();
  assert.equal(await socket.next(), "WATCHDOG=1");
});

for (const kind of ["path", "abstract"] as const) {
  test(`sd-notify – sends to a socket of the ${kind} kind`, { skip }, async (t) => {
    const directory = temporaryDirectory(t);
    const native = buildSdNotify(join(directory, "sdnotify.node"));
    const address =
      kind === "path" ? join(directory, "notify") : `@gateside-test-${process.pid}-${Date.now()}`;
    const socket = await openNotifySocket(t, address);
    const env = { NOTIFY_SOCKET: address, WATCHDOG_USEC: "60000000" };
    const notifier = createSystemdNotifier(env, native);
    assert.equal(notifier.aliveEveryMs, 30_000);
    notifier.ready("polling 3 sensors");
    notifier.alive();
    notifier.working();
    notifier.stopping();
    assert.equal(await socket.next(), "READY=1|STATUS=polling 3 sensors");
    assert.equal(await socket.next(), "WATCHDOG=1");
    assert.equal(await socket.next(), "EXTEND_TIMEOUT_USEC=300000000|WATCHDOG=1");
    assert.equal(await socket.next(), "STOPPING=1");
  });
}

test("sd-notify – a watchdog of another process, with a wrong time or without one, is not fed", () => {
  const every = (env: Record<string, string>) =>
    createSystemdNotifier({ NOTIFY_SOCKET: "/nowhere", ...env }, "/nowhere", 42).aliveEveryMs;
  assert.equal(every({}), null);
  assert.equal(every({ WATCHDOG_USEC: "0" }), null);
  assert.equal(every({ WATCHDOG_USEC: "soon" }), null);
  assert.equal(every({ WATCHDOG_USEC: "8000000", WATCHDOG_PID: "43" }), null);
  assert.equal(every({ WATCHDOG_USEC: "8000000", WATCHDOG_PID: "42" }), 4000);
});

test("sd-notify – without systemd nothing is sent", () => {
  const notifier = createSystemdNotifier({ WATCHDOG_USEC: "8000000" }, "/nowhere");
  assert.equal(notifier.aliveEveryMs, null);
  notifier.ready("");
  notifier.alive();
  notifier.stopping();
});
