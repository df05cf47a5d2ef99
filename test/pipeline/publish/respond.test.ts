/** Responses at a real broker that denies the topic that a request named. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Site } from "../../../src/core/site.ts";
import { outsideOf, replyTo } from "../../../src/core/topics/request.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createMetrics, uplinkMetrics } from "../../../src/lib/metrics.ts";
import { createRespond } from "../../../src/pipeline/publish/respond.ts";
import { mosquittoFor } from "../../support/brokers.ts";
import { linkFor } from "../../support/link.ts";
import { skipWithoutMosquitto as skip } from "../../support/mosquitto.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";

const COMMAND = "gateside/plant/agent/cmd/saveSettings";

for (const config of [[], ["max_queued_messages 0"]])
  test(`responses – a response topic that the broker denies is counted, logged once, no fault of the uplink, and the response goes beside the request (${config.join() || "the session lives"})`, {
    skip,
  }, async (t) => {
    const broker = await mosquittoFor(t, { acl: "topic write gateside/#\ntopic read #", config });
    const logger = new RecordingLogger();
    const { link, stop } = linkFor(t, { url: broker.url, clientId: "box-7" });
    const metrics = createMetrics();
    const respond = createRespond(
      async (message) => {
        await link.ready(stop.signal);
        return link.publish(message);
      },
      { clock: systemClock, logger, metrics: uplinkMetrics(metrics, "main") },
    );
    const request = { topic: COMMAND, responseTopic: "signing/plant-7" };
    const results: string[] = [];
    // A broker that closes the connection loses what follows in it: the next request finds the topic held back.
    while (results.length < 10 && results.filter((one) => one === "delivered").length < 2)
      results.push((await respond(replyTo(request, { ok: true }, null))).result);
    assert.equal(results.at(-1), "delivered", results.join());
    const refused = () => link.state.refused?.topics ?? 0;
    assert.equal(refused(), 0);
    assert.deepEqual(
      logger.lines.map(({ fields }) => fields),
      [{ topic: "signing/plant-7", reason: "not_authorized" }],
    );
    const { values } = await metrics.deliveryFailures.get();
    assert.equal(
      values.find(({ labels }) => labels.reason === "not_authorized")?.value,
      results.length,
    );
    if (config.length > 0) return;
    await link.publish({ topic: "signing/plant-7", payload: "", qos: 1, retain: false });
    assert.equal(refused(), 1, "a message of ours to the same topic counts");
    await respond(replyTo(request, { ok: true }, null));
    assert.equal(refused(), 1, "and is not hidden by a request");
  });

test("responses – a response topic with more levels than a broker takes does not end the session", {
  skip,
}, async (t) => {
  const broker = await mosquittoFor(t);
  const { link, stop } = linkFor(t, { url: broker.url, clientId: "box-7" });
  await link.ready(stop.signal);
  const request = { topic: COMMAND, responseTopic: "a/".repeat(300) };
  const { result } = await link.publish(replyTo(request, { ok: true }, null));
  assert.equal(result, "delivered");
});

test("responses – a response topic that another uplink publishes to is not used", () => {
  const uplinks = [
    { topicPrefix: "gateside", topics: {} },
    { topicPrefix: "other", topics: { reading: "works/{area}/{sensor}/{kind}" } },
  ];
  const site = { site: "plant", sensors: [{ code: "7" }] } as unknown as Site;
  const used = (responseTopic: string) => outsideOf(uplinks, site, { responseTopic }).responseTopic;
  assert.equal(used("other/plant/agent/state"), "");
  assert.equal(used("other/plant"), "");
  assert.equal(used("other/plant-2/x"), "other/plant-2/x");
  assert.equal(used("replies/plant"), "replies/plant");
  assert.equal(used("works/Boiler house/7/rpm"), "");
  assert.equal(used("works/Boiler house/7/rpm/history"), "");
  assert.equal(used("works/Boiler house/8/rpm"), "works/Boiler house/8/rpm");
  assert.equal(used("works/Boiler house/7/reply"), "works/Boiler house/7/reply");
});

test("responses – none goes to topics from which Home Assistant makes entities", () => {
  const responseTopic = "homeassistant/binary_sensor/gateside_plant/connection/config";
  assert.equal(replyTo({ topic: COMMAND, responseTopic }, {}, null).topic, `${COMMAND}/result`);
});
