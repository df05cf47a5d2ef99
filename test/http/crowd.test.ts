/** Whom the server keeps connected. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { test } from "node:test";
import { limitConnections } from "../../src/http/limit-connections.ts";
import { deadlineMs } from "../support/deadline.ts";

test("crowd – a client that waits for its answer is not cut for silence; one that says nothing, or reads nothing more, is", {
  // Node cuts it after ninety seconds.
  timeout: deadlineMs(20_000),
}, async (t) => {
  const waiting: ServerResponse[] = [];
  const server = createServer((request, response) => {
    waiting.push(response);
    // Its silence begins once its request is here, however long that took.
    request.socket.setTimeout(50);
  });
  const cut = limitConnections(server);
  t.after(() => {
    cut();
    server.close();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const silences = once(server, "timeout");
  const answer = fetch(`http://127.0.0.1:${port}/`).then((response) => response.text());
  await silences;
  waiting[0]?.end("late");
  assert.equal(await answer, "late");
  server.setTimeout(50);
  const mute = connect(port, "127.0.0.1").resume();
  await once(mute, "close");
});
