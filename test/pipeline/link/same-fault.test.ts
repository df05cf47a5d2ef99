/** One suite over both ways a format uses the link: QoS 1 with PUBACKs as JSON does, QoS 0 with proof by ping as Sparkplug does. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Message, PublishOutcome } from "../../../src/core/message.ts";
import { createMetrics } from "../../../src/lib/metrics.ts";
import type { MqttLinkOptions } from "../../../src/pipeline/link/link-options.ts";
import type { MqttLink } from "../../../src/pipeline/link/mqtt-link.ts";
import { deadlineMs } from "../../support/deadline.ts";
import { type FakeBrokerOptions, startFakeBroker } from "../../support/fake-broker.ts";
import { linkFor } from "../../support/link.ts";
import { freePort } from "../../support/mosquitto.ts";
import { recordingClock } from "../../support/recording-clock.ts";
import type { RecordingLogger } from "../../support/recording-logger.ts";
import { waitUntil } from "../../support/wait-until.ts";

const STYLES = ["mqtt", "sparkplug"] as const;
type Style = (typeof STYLES)[number];

interface Use {
  readonly link: MqttLink;
  readonly logger: RecordingLogger;
  readonly metrics: ReturnType<typeof createMetrics>;
  /** CONNECTs tried. */
  readonly attempts: () => number;
  /** Between attempts, ms. */
  readonly pauses: readonly number[];
  /** Sends once there is a session, and waits until the broker is known to have it. */
  deliver(bytes?: number): Promise<PublishOutcome["result"]>;
  /** Until the condition holds, while traffic goes on as a format's does. */
  until(holds: () => boolean): Promise<void>;
}

/** Half of the shortest back-off after a take-over, ms: the other half is random. */
const TAKEOVER_PAUSE_MIN_MS = 15_000;

function use(t: TestContext, style: Style, url: string, options: Partial<MqttLinkOptions>): Use {
  const metrics = createMetrics();
  let attempts = 0;
  const clock = recordingClock();
  const { link, logger, stop } = linkFor(
    t,
    {
      url,
      name: style,
      clientId: "twin",
      inflight: 20,
      backoffMinMs: 10,
      will: () => {
        attempts += 1;
        return { topic: "w", payload: "", qos: 1, retain: false };
      },
      ...options,
    },
    { clock, metrics },
  );
  const deliver = async (bytes = 10) => {
    if (!(await link.ready(stop.signal))) return "lost";
    const qos = style === "mqtt" ? 1 : 0;
    const message: Message = { topic: "t", payload: "x".repeat(bytes), qos, retain: false };
    const { result } = await link.publish(message);
    if (style === "mqtt" || result !== "delivered") return result;
    return (await link.prove()) ? "delivered" : "lost";
  };
  return {
    link,
    logger,
    metrics,
    attempts: () => attempts,
    pauses: clock.pauses,
    deliver,
    async until(holds) {
      await waitUntil("what the test waits for, message by message", async () => {
        if (!holds() && link.isConnected) await deliver();
        return holds();
      });
    },
  };
}

/** What an operator reads, without the name of the link and the address. */
function logged({ logger }: Use): string[] {
  return (
    logger.lines
      .filter(({ level }) => level !== "info" && level !== "debug")
      .map(({ level, message, fields }) => `${level} ${message}: ${Object(fields).reason}`)
      // A packet of QoS 1 has an identifier.
      .map((line) => line.replace(/\d+ bytes/, "N bytes"))
  );
}

async function fake(t: TestContext, options: FakeBrokerOptions) {
  const broker = await startFakeBroker(options);
  t.after(() => broker.close());
  return broker;
}

/** The same fault on both; the lines must be the same. */
async function both(play: (style: Style) => Promise<Use>): Promise<string[]> {
  const [json = [], sparkplug = []] = await Promise.all(
    STYLES.map(async (style) => {
      const used = await play(style);
      return [...logged(used), `state: ${used.link.state.lastError}`];
    }),
  );
  assert.deepEqual(sparkplug, json);
  return json;
}

const limits = { timeout: deadlineMs(30_000) };

test(
  "same fault – a broker that is away is reported once, however often it is tried",
  limits,
  async (t) => {
    const port = await freePort();
    const lines = await both(async (style) => {
      const used = use(t, style, `mqtt://127.0.0.1:${port}`, {});
      await used.until(() => used.attempts() >= 20);
      return used;
    });
    assert.deepEqual(lines, [
      "warn no broker session: nothing accepts connections at that address and port",
      "state: nothing accepts connections at that address and port",
    ]);
  },
);

test(
  "same fault – a stolen client id is reported with what to do, and is not contested",
  limits,
  async (t) => {
    const lines = await both(async (style) => {
      const server = await fake(t, { version: 5, onConnect: (one) => one.disconnect(0x8e) });
      const used = use(t, style, server.url, {});
      await used.until(() => used.link.state.lastError !== null);
      await waitUntil("the pause", () => used.pauses.length > 0);
      assert.ok((used.pauses.at(-1) ?? 0) >= TAKEOVER_PAUSE_MIN_MS, `${used.pauses.at(-1)} ms`);
      assert.equal(server.connects, 1);
      return used;
    });
    assert.equal(lines.length, 2);
    assert.match(
      lines[0] ?? "",
      /^error .*another client uses the client id "twin".*MQTT_CLIENT_ID/,
    );
  },
);

test(
  "same fault – if 3.1.1 gives no reason, a session that never lasts names the client id too, and Sparkplug's what nobody confirmed",
  limits,
  async (t) => {
    for (const style of STYLES) {
      // A session that ends before anything was published has no publish to blame.
      const end = (_: unknown, one: { destroy(): void }) => one.destroy();
      const own =
        style === "mqtt"
          ? { onConnect: (one: { destroy(): void }) => one.destroy() }
          : { onUnanswered: end };
      const server = await fake(t, { version: 4, ...own });
      const used = use(t, style, server.url, { version: 4 });
      await used.until(() => used.logger.text.includes("MQTT_CLIENT_ID"));
      const line = logged(used).find((one) => /^error .*the client id "twin"/.test(one)) ?? "";
      assert.equal(line.includes("refuses a publish (the first went to t:"), style === "sparkplug");
    }
  },
);

for (const [version, refusal] of [
  [5, 0x86],
  [4, 4],
] as const) {
  test(
    `same fault – MQTT ${version}: refused credentials are reported once, with their settings`,
    limits,
    async (t) => {
      const lines = await both(async (style) => {
        const server = await fake(t, { version, refusal });
        const used = use(t, style, server.url, { version });
        await used.until(() => used.attempts() >= 5);
        return used;
      });
      assert.equal(lines.length, 2);
      assert.match(lines[0] ?? "", /^error .*MQTT_USERNAME and MQTT_PASSWORD/);
    },
  );
}

test(
  "same fault – a packet above the announced limit is not sent and does not end the session",
  limits,
  async (t) => {
    const lines = await both(async (style) => {
      const server = await fake(t, { version: 5, connackProperties: [0x27, 0, 0, 4, 0] });
      const used = use(t, style, server.url, {});
      assert.equal(await used.deliver(2000), "oversize");
      assert.equal(await used.deliver(900), "delivered");
      assert.equal(used.link.session, 1);
      return used;
    });
    assert.deepEqual(lines, ["state: null"]);
  },
);

test(
  "same fault – a limit that is reported only when it is exceeded is learned from the first packet",
  limits,
  async (t) => {
    const lines = await both(async (style) => {
      const judge: FakeBrokerOptions["onPublish"] = ({ packetBytes, packetId }, one) => {
        if (packetBytes > 5000) one.disconnect(0x95);
        else if (packetId > 0) one.ack(packetId);
      };
      const server = await fake(t, { version: 5, onPublish: judge, onUnanswered: judge });
      const used = use(t, style, server.url, {});
      assert.equal(await used.deliver(8000), "lost");
      assert.equal(await used.deliver(8000), "oversize");
      assert.equal(await used.deliver(100), "delivered");
      return used;
    });
    assert.match(lines[0] ?? "", /^warn .*a packet was larger than it accepts/);
  },
);

test(
  "publishes – messages of both kinds are delivered, and a text too long for MQTT is refused",
  limits,
  async (t) => {
    const server = await fake(t, { version: 5 });
    for (const style of STYLES) {
      const used = use(t, style, server.url, {});
      for (const bytes of [0, 10, 100_000]) assert.equal(await used.deliver(bytes), "delivered");
      const topic = "t".repeat(70_000);
      const message: Message = {
        topic,
        payload: "",
        qos: style === "mqtt" ? 1 : 0,
        retain: false,
      };
      assert.equal((await used.link.publish(message)).result, "refused");
      assert.equal(await used.deliver(), "delivered");
      assert.equal(used.link.session, 1);
    }
  },
);

for (const style of STYLES) {
  test(
    `${style} – a 3.1.1 broker that disconnects on a packet is not sent it for ever`,
    limits,
    async (t) => {
      const judge: FakeBrokerOptions["onPublish"] = ({ packetBytes, packetId }, one) => {
        if (packetBytes > 5000) one.destroy();
        else if (packetId > 0) one.ack(packetId);
      };
      const server = await fake(t, { version: 4, onPublish: judge, onUnanswered: judge });
      const used = use(t, style, server.url, { version: 4 });
      let outcome = "lost";
      while (outcome === "lost") outcome = await used.deliver(8000);
      assert.equal(outcome, style === "mqtt" ? "refused" : "oversize");
      assert.ok(server.connects <= 5, `${server.connects} sessions`);
      assert.equal(await used.deliver(100), "delivered");
    },
  );

  test(
    `${style} – a broker that stops responding loses its session, and the metrics show it`,
    limits,
    async (t) => {
      const server = await fake(t, { version: 5, ignoresPings: true, onPublish: () => {} });
      const used = use(t, style, server.url, { ackTimeoutMs: 100 });
      assert.equal(await used.deliver(), "lost");
      await used.until(() => used.link.session >= 2);
      assert.match(logged(used)[0] ?? "", /^warn no broker session: .* within 0 s/);
      const text = await used.metrics.registry.metrics();
      const connects = Number(
        new RegExp(`broker_connects_total\\{link="${style}"\\} (\\d+)`).exec(text)?.[1],
      );
      assert.ok(connects >= 2, text);
    },
  );

  test(`${style} – a refused subscription is reported with its topics`, limits, async (t) => {
    const server = await fake(t, { version: 5, granted: () => 0x87 });
    const used = use(t, style, server.url, {
      subscriptions: [
        { topic: "a/cmd", qos: 1 },
        { topic: "b/cmd", qos: 1 },
      ],
      needsSubscriptions: style === "sparkplug",
    });
    await waitUntil("the log line", () =>
      used.logger.text.includes("refuses the subscription to a/cmd, b/cmd"),
    );
    if (style === "mqtt") return assert.equal(await used.deliver(), "delivered");
    // Without its commands this is no edge node: no session is of use, and none is kept.
    await waitUntil("three attempts", () => used.attempts() >= 3);
    assert.deepEqual(server.publishes, []);
  });
}
