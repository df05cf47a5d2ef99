import assert from "node:assert/strict";
import { readFile } from "node:fs";
import { test } from "node:test";
import { Network } from "../../scripts/virtual/network.ts";
import { VirtualProcess } from "../../scripts/virtual/virtual-process.ts";
import { createTimers } from "../../scripts/virtual/virtual-timers.ts";
import { World } from "../../scripts/virtual/world.ts";

function processIn(world: World, network = new Network(world, 1)) {
  const onError = (error: unknown) => assert.fail(String(error));
  return new VirtualProcess(network, { name: "one", seed: 1, startMs: () => 0, onError });
}

test("virtual time – an hour passes at once, in order of due time and then of creation, promises before the next timer", async () => {
  const world = new World();
  const { callbacks, promises } = createTimers(world, (act) => act());
  const seen: string[] = [];
  callbacks.setTimeout(() => seen.push("late"), 3_600_000);
  callbacks.setTimeout(() => {
    seen.push("first");
    void Promise.resolve().then(() => seen.push("its promise"));
    callbacks.setImmediate(() => seen.push("its immediate"));
  }, 10);
  callbacks.setTimeout(() => seen.push("second"), 10);
  const cancelled = callbacks.setTimeout(() => seen.push("cancelled"), 5);
  callbacks.clearTimeout(cancelled);
  await world.run(promises.setTimeout(3_600_001));
  assert.deepEqual(seen, ["first", "its promise", "its immediate", "second", "late"]);
  assert.equal(world.nowMs, 3_600_001);
});

test("virtual network – bytes arrive in order and whole, also through a full window; the end follows them", async () => {
  const world = new World();
  const network = new Network(world, 7);
  const host = processIn(world, network);
  const sent = Buffer.alloc(300_000, "0123456789abc");
  const received: Buffer[] = [];
  const done = new Promise<void>((resolve) => {
    network.listen("1", {
      host,
      allowHalfOpen: false,
      accept(socket) {
        socket.on("data", (bytes: Buffer) => void received.push(bytes));
        socket.on("end", resolve);
      },
    });
  });
  const socket = network.connect(host, "1", null);
  for (let at = 0; at < sent.length; at += 10_000) socket.write(sent.subarray(at, at + 10_000));
  socket.end();
  await world.run(done);
  assert.ok(Buffer.concat(received).equals(sent));
});

test("virtual network – what is silent holds bytes back until it heals, what is shut refuses", async () => {
  const world = new World();
  const network = new Network(world, 7);
  const host = processIn(world, network);
  const received: string[] = [];
  const accept = (socket: NodeJS.ReadableStream) => {
    socket.on("data", (bytes) => void received.push(String(bytes)));
    socket.on("error", () => {});
  };
  network.listen("1", { host, allowHalfOpen: false, accept });
  const socket = network.connect(host, "1", null);
  const reset = new Promise<string>((resolve) => {
    socket.on("error", ({ message }) => resolve(message));
  });
  const outcome = (async () => {
    await world.sleep(100);
    network.silence("1");
    socket.write("held");
    await world.sleep(60_000);
    assert.deepEqual(received, []);
    network.heal("1");
    await world.sleep(100);
    assert.deepEqual(received, ["held"]);
    network.shut("1");
    assert.match(await reset, /ECONNRESET/);
    return await new Promise<string>((resolve) => {
      network.connect(host, "1", null).on("error", ({ message }) => resolve(message));
    });
  })();
  assert.match(await world.run(outcome), /ECONNREFUSED/);
});

test("virtual process – after its death none of its callbacks runs, and its peers see a reset", async () => {
  const world = new World();
  const network = new Network(world, 7);
  const victim = processIn(world, network);
  const other = processIn(world, network);
  let ran = false;
  const { callbacks } = createTimers(world, victim.enter);
  callbacks.setTimeout(() => {
    ran = true;
  }, 1000);
  network.listen("1", {
    host: other,
    allowHalfOpen: false,
    accept: (socket) => socket.on("error", ({ message }) => seen(message)),
  });
  let seen: (message: string) => void = () => {};
  const reset = new Promise<string>((resolve) => {
    seen = resolve;
  });
  network.connect(victim, "1", null);
  world.after(500, () => victim.die());
  assert.match(await world.run(reset), /ECONNRESET/);
  await world.run(world.sleep(5000));
  assert.equal(ran, false);
});

test("virtual time – whatever uses a real resource is refused: its order would depend on the machine", async (t) => {
  const world = new World();
  const work = (async () => {
    await world.sleep(1);
    const forgotten = setTimeout(() => {}, 60_000);
    // The refused work never ends: without this, the process would wait for the timer.
    t.after(() => clearTimeout(forgotten));
    for (let i = 0; i < 1000; i++) await world.sleep(1);
  })();
  work.catch(() => {});
  await assert.rejects(world.run(work), /real resource: Timeout/);
});

test("virtual time – a read that a thread would complete is refused, however quickly it would be over", async () => {
  const world = new World();
  const work = (async () => {
    await world.sleep(1);
    readFile(import.meta.filename, () => {});
    await world.sleep(1);
    await world.sleep(1);
  })();
  await assert.rejects(world.run(work), /real resource: FSREQCALLBACK/);
});
