import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { BROKER_SETTINGS } from "../../../src/config/settings-broker.ts";
import type { Message } from "../../../src/core/message.ts";
import {
  ClientStream,
  clientPacketIds,
  PUBLISHES_MAX,
} from "../../../src/pipeline/link/client-stream.ts";
import { publishPacketBytes } from "../../../src/pipeline/link/publish-writer.ts";

const MESSAGE: Message = { topic: "t", payload: "", qos: 1, retain: false };

test("packet identifiers – those of our publishes and those of mqtt.js never collide, and none is used twice at a time", () => {
  const taken = new Set([1, 2, 5, 64_999]);
  const stream = new PassThrough().resume();
  const publishes = new ClientStream({ stream }, 5, (id) => taken.has(id));
  const bytes = publishPacketBytes(MESSAGE, 5);
  const client = clientPacketIds();
  const clients = new Set(Array.from({ length: 2000 }, () => client.allocate()));
  const seen: number[] = [];
  for (let n = 0; n < 70_000; n++) seen.push(publishes.send(MESSAGE, false, bytes, null));
  assert.deepEqual(seen.slice(0, 3), [3, 4, 6]);
  for (const id of seen) {
    assert.ok(Number.isInteger(id) && id >= 1 && id <= 65_535);
    assert.ok(!taken.has(id) && !clients.has(id));
  }
  // Round once, then again from the start.
  assert.equal(new Set(seen).size, 64_999 - taken.size);
  for (const id of clients) assert.ok(id !== null && id >= 1 && id <= 65_535);
});

test("packet identifiers – no more messages may be in flight than there are identifiers", () => {
  assert.equal(BROKER_SETTINGS.MQTT_INFLIGHT.maximum, PUBLISHES_MAX);
  const schema = readFileSync("config/uplinks.schema.json", "utf8");
  assert.match(schema, new RegExp(`awaiting PUBACK",[^}]*"maximum": ${PUBLISHES_MAX},`));
});
