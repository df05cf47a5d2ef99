/** Where the responses to signed documents go. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Message } from "../../../src/core/message.ts";
import type { ReportResult } from "../../../src/features/setup/remote.ts";
import { SiteDocuments } from "../../../src/features/setup/site-documents.ts";
import type { Accepted, ReplyTo } from "../../../src/features/setup/trial-records.ts";

const TOPIC = "gateside/plant/agent/cmd/site";
const RESULT = `${TOPIC}/result`;

function setUp(recovered: Accepted | null = null) {
  let reply: ReplyTo | null = null;
  let report: ReportResult = () => {};
  const remote = {
    take: async (_bytes: Uint8Array, to: ReplyTo, then: ReportResult) => {
      reply = to;
      report = then;
    },
  };
  const audited: string[] = [];
  const documents = new SiteDocuments(
    remote,
    recovered,
    () => "c",
    (detail, outcome) => void audited.push(`${outcome} ${detail}`),
    null,
  );
  const session = (name: string, host: string) => {
    const sent: string[] = [];
    const one = {
      uplink: { name, urls: [`mqtt://${host}`] },
      topics: { siteDocument: TOPIC },
      isUp: true,
      sent,
      publish(message: Message) {
        if (!one.isUp) return Promise.resolve({ result: "lost" as const });
        const { outcome } = JSON.parse(String(message.payload));
        sent.push(`${outcome} ${message.topic}${message.correlationData ? " correlated" : ""}`);
        return Promise.resolve({ result: "delivered" as const, noSubscribers: false });
      },
    };
    documents.open(one);
    return one;
  };
  const tell = async (
    outcome: "trial" | "applied" | "refused",
    version: number | null = 1,
    isRepeated = false,
  ) => {
    const result = { ok: true, outcome, version, reason: null, detail: "", configuration: "c" };
    report(result, reply as unknown as ReplyTo, isRepeated);
    await new Promise((resolve) => setImmediate(resolve));
  };
  const message = {
    topic: TOPIC,
    payload: Buffer.from("{}"),
    responseTopic: "fleet/answers",
    correlationData: Buffer.from("7"),
    retain: false,
  } as Parameters<typeof documents.handle>[0];
  return { documents, session, tell, message, audited };
}

test("responses to documents – a document that moves its own uplink to another broker is answered there and everywhere, and the response topic stays with the first broker", async () => {
  const { documents, session, tell, message } = setUp();
  const main = session("main", "a");
  const old = session("cloud", "b");
  assert.equal(documents.handle(message, old), true);
  documents.close(old);
  const moved = session("cloud", "c");
  moved.isUp = false;
  await tell("trial");
  await tell("applied");
  assert.deepEqual(main.sent, [`trial ${RESULT}`, `applied ${RESULT}`]);
  assert.deepEqual([old.sent, moved.sent], [[], []]);
  moved.isUp = true;
  documents.connected(moved);
  await tell("refused", null);
  assert.deepEqual(moved.sent.slice(0, 2), [`trial ${RESULT}`, `applied ${RESULT}`]);
  documents.connected(moved);
  assert.deepEqual(moved.sent.length, 3, "once each");
});

test("responses to documents – an unchanged uplink also gets them at the requested topic; unsigned and repeated ones concern only the sender", async () => {
  const { documents, session, tell, message } = setUp();
  const main = session("main", "a");
  const cloud = session("cloud", "b");
  documents.handle(message, cloud);
  await tell("applied");
  assert.deepEqual(cloud.sent, ["applied fleet/answers correlated", `applied ${RESULT}`]);
  await tell("refused", null);
  await tell("applied", 1, true);
  assert.deepEqual(cloud.sent.slice(2), [
    "refused fleet/answers correlated",
    "applied fleet/answers correlated",
  ]);
  assert.deepEqual(main.sent, [`applied ${RESULT}`]);
});

test("responses to documents – the result of a trial that a restart interrupted goes to every uplink, once", async () => {
  const { documents, session } = setUp({
    version: 1,
    digest: "d",
    outcome: "rolled_back",
    reason: "trial",
    detail: "",
    atMs: 1,
    reply: {
      uplink: "cloud",
      broker: "mqtt://b",
      responseTopic: "fleet/answers",
      correlation: null,
    },
  });
  const main = session("main", "a");
  const cloud = session("cloud", "b");
  for (const one of [main, cloud, main, cloud]) documents.connected(one);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(main.sent, [`rolled_back ${RESULT}`]);
  assert.deepEqual(cloud.sent, ["rolled_back fleet/answers", `rolled_back ${RESULT}`]);
});

test("responses to documents – accepted and refused ones are in the audit log, without a version where none can be believed", async () => {
  const { documents, session, tell, message, audited } = setUp();
  documents.handle(message, session("main", "a"));
  await tell("applied");
  await tell("refused", null);
  await tell("applied", 1, true);
  assert.deepEqual(audited, ["applied version 1", "refused no version", "replayed version 1"]);
});
