import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import { brokerAddress } from "../../src/collect/broker-url.ts";
import { ClusterSessions } from "../../src/collect/cluster-sessions.ts";
import { ownAddress } from "../../src/core/addresses/own-address.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { freePort } from "../support/mosquitto.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { waitUntil } from "../support/wait-until.ts";

test("cluster sessions – begin at an address that the client id chooses, and return to it once it accepts connections", async (t) => {
  const ports = [await freePort(), await freePort(), await freePort()];
  const addresses = ports.map((port) => brokerAddress(`mqtt://127.0.0.1:${port}`));
  const own = ownAddress("collector-1", ports.length);
  const sessions = new ClusterSessions(
    addresses,
    { clock: systemClock, logger: new RecordingLogger() },
    { ownMs: 20, spreadMs: 20 },
  );
  sessions.beginAtOwn("collector-1");
  const stop = new AbortController();
  const tried: number[] = [];
  let isOwnUp = false;
  const running = sessions.run(async (onOpen, signal) => {
    tried.push(sessions.address.port);
    if (sessions.address.port === ports[own] && !isOwnUp) throw new Error("refused");
    onOpen();
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  }, stop.signal);
  await waitUntil("no second address", () => tried.length === 2);
  assert.deepEqual(tried, [ports[own], ports[(own + 1) % 3]]);
  isOwnUp = true;
  const server = createServer((socket) => socket.destroy()).listen(ports[own], "127.0.0.1");
  t.after(() => server.close());
  await waitUntil("did not return", () => tried.length === 3);
  assert.equal(tried[2], ports[own]);
  stop.abort();
  await running;
});
