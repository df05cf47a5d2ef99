import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { generate, type Packet } from "mqtt-packet";
import type { LinkHooks } from "../../../src/core/link.ts";
import { InboundGuard } from "../../../src/pipeline/link/inbound-guard.ts";
import { deadlineMs } from "../../support/deadline.ts";
import { startFakeBroker } from "../../support/fake-broker.ts";
import { linkFor } from "../../support/link.ts";
import { waitUntil } from "../../support/wait-until.ts";

const publish = (bytes: number): Buffer => {
  const packet: Packet = {
    cmd: "publish",
    topic: "t",
    payload: Buffer.alloc(bytes),
    qos: 0,
    dup: false,
    retain: false,
  };
  return generate(packet);
};

test("inbound guard – packets within the limit pass, however they are split", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 900 }), { maxLength: 8 }),
      fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1 }),
      (sizes, cuts) => {
        const guard = new InboundGuard(1000);
        const bytes = Buffer.concat([Buffer.from([0xd0, 0]), ...sizes.map(publish)]);
        for (let at = 0, i = 0; at < bytes.length; i++) {
          const length = cuts[i % cuts.length] ?? 1;
          assert.equal(guard.feed(bytes.subarray(at, at + length)), null);
          at += length;
        }
      },
    ),
  );
});

test("inbound guard – a packet that exceeds the limit is detected in its header, at any split", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 900 }), { maxLength: 4 }),
      fc.integer({ min: 1001, max: 200_000 }),
      fc.integer({ min: 1, max: 50 }),
      (sizes, large, cut) => {
        const guard = new InboundGuard(1000);
        const before = Buffer.concat(sizes.map(publish));
        // Its first five bytes are type and length.
        const bytes = Buffer.concat([before, publish(large).subarray(0, 5)]);
        let found: number | null = null;
        for (let at = 0; at < bytes.length && found === null; at += cut) {
          found = guard.feed(bytes.subarray(at, at + cut));
        }
        assert.ok(found !== null && found > 1000);
      },
    ),
  );
});

test("inbound guard – an endless length field is not a length", () => {
  assert.notEqual(new InboundGuard(1000).feed(Buffer.from([0x30, 0x80, 0x80, 0x80, 0x80])), null);
});

for (const version of [4, 5] as const) {
  test(`link – MQTT ${version}: a message of 200 MB ends the session before it is in memory`, {
    timeout: deadlineMs(30_000),
  }, async (t) => {
    let sent = 0;
    const server = await startFakeBroker({
      version,
      onConnect(connection) {
        if (connection.number > 1) return;
        // PUBLISH, remaining length 200,000,000, topic "t".
        connection.send(Buffer.from([0x30, 0x80, 0x84, 0xaf, 0x5f, 0, 1, 0x74]));
        const feed = setInterval(() => {
          sent += 1_000_000;
          if (sent <= 200_000_000) connection.send(Buffer.alloc(1_000_000));
          else clearInterval(feed);
        }, 1);
        t.after(() => clearInterval(feed));
      },
    });
    t.after(() => server.close());
    let messages = 0;
    const hooks: LinkHooks = {
      onMessage: () => {
        messages += 1;
      },
    };
    const { logger, end } = linkFor(t, { url: server.url, version }, { hooks });
    await waitUntil("a second CONNECT", () => server.connects >= 2);
    assert.match(
      logger.text,
      /"error".*a packet of 200000000 bytes, more than the limit of 1048576/,
    );
    assert.equal(messages, 0);
    assert.ok(sent < 100_000_000, `${sent} bytes were sent before the end`);
    await end();
  });
}
