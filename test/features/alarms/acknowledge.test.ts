import assert from "node:assert/strict";
import { test } from "node:test";
import type { Message } from "../../../src/core/message.ts";
import { acknowledge } from "../../../src/features/alarms/acknowledge.ts";
import type { AlarmRequest } from "../../../src/features/alarms/rules/view.ts";
import { CommandGate } from "../../../src/lib/command-gate.ts";
import { SecretGate } from "../../../src/lib/secrets.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";

const TOPIC = "plant/plant-7/agent/cmd/acknowledge";

function receiver(responsePrefix: string | null = null) {
  const clock = new ManualClock();
  const logger = new RecordingLogger();
  const asked: AlarmRequest[] = [];
  const answers: Message[] = [];
  const audited: string[][] = [];
  const store = { whyNot: null as string | null };
  const gate = new SecretGate(["br0ker-pa55word"]);
  const alarms = {
    act: (request: AlarmRequest) => {
      asked.push(request);
      return Promise.resolve({ ok: true });
    },
  };
  const parts = {
    alarms: alarms as never,
    gatewayNow: () => clock.now(),
    logger,
    pace: new CommandGate(clock, logger),
    redact: (text: string) => gate.redact(text),
    responsePrefix,
    whyUnwritable: () => Promise.resolve(store.whyNot),
    audit: (...entry: string[]) => void audited.push(entry),
  };
  const send = (fields: object, responseTopic?: string) =>
    acknowledge(
      parts,
      {
        topic: TOPIC,
        payload: Buffer.from(JSON.stringify({ id: "0".repeat(32), ...fields })),
        ...(responseTopic === undefined ? {} : { responseTopic }),
      },
      (answer) => void answers.push(answer),
    );
  return { store, send, asked, answers, audited, clock, logger };
}

test("acknowledge – successes and refusals are audited", async () => {
  const { send, audited } = receiver();
  await send({});
  await send({ id: "x" });
  assert.deepEqual(audited, [
    ["agent/cmd/acknowledge", "done", `acknowledge ${"0".repeat(32)}`],
    ["agent/cmd/acknowledge", "rejected", ""],
  ]);
});

test("acknowledge – a response is published only below the response prefix, never on a topic of the agent's own", async () => {
  for (const [responseTopic, prefix, topic] of [
    [undefined, null, `${TOPIC}/result`],
    ["desk/answers", null, "desk/answers"],
    ["plant/plant-7/agent/state", null, `${TOPIC}/result`],
    ["plant/plant-7/1001/rpm", null, `${TOPIC}/result`],
    ["spBv1.0/g/NDEATH/n", null, `${TOPIC}/result`],
    ["$SYS/x", null, `${TOPIC}/result`],
    [TOPIC, null, `${TOPIC}/result`],
    ["desk/answers", "office", `${TOPIC}/result`],
    ["office/1", "office", "office/1"],
  ] as const) {
    const { send, answers } = receiver(prefix);
    await send({}, responseTopic);
    assert.deepEqual(
      answers.map((answer) => answer.topic),
      [topic],
      responseTopic,
    );
  }
});

test("acknowledge – of a flood, a limited number per second is processed and the rest are counted", async () => {
  const { send, asked, answers, clock, logger } = receiver();
  for (let n = 0; n < 500; n++) await send({});
  assert.deepEqual([asked.length, answers.length, logger.lines.length], [20, 20, 1]);
  await clock.advance(1_000);
  await send({});
  assert.equal(asked.length, 21);
});

test("acknowledge – who and why are recorded without a secret that a broker inserted", async () => {
  const { send, asked } = receiver();
  await send({
    by: "anna br0ker-pa55word",
    note: `x ${Buffer.from("br0ker-pa55word").toString("hex")}`,
  });
  assert.deepEqual([asked[0]?.by, asked[0]?.note], ["anna ***", "x ***"]);
});

test("acknowledge – a request that names an end in two ways, in none, or for another action is refused with the reason", async () => {
  const { send, asked, answers, clock } = receiver();
  const until = "2026-11-20T15:04:05Z";
  for (const [fields, reason] of [
    [{ minutes: 5 }, "minutes belongs to shelve, not to acknowledge"],
    [{ action: "note", note: "x", until }, "until belongs to shelve, not to note"],
    [{ action: "shelve", minutes: 5, until }, "minutes and until cannot be combined: give one"],
    [{ action: "shelve", minutes: "5" }, "minutes must be a number"],
    [{ action: "shelve", until: "2026-11-20 15:04:05" }, /^until must be ISO 8601 with zone /],
    [{ action: "shelve", until: true }, /^until must be ISO 8601 with zone /],
  ] as const) {
    await send(fields);
    const answer = JSON.parse(String(answers.at(-1)?.payload));
    assert.equal(answer.outcome, "rejected");
    if (typeof reason === "string") assert.equal(answer.description, reason);
    else assert.match(answer.description, reason);
  }
  assert.deepEqual(asked, []);
  for (const end of [{ minutes: 5 }, { until }, { until: Date.parse(until) }, { minutes: null }])
    await send({ action: "shelve", ...end });
  assert.deepEqual(
    asked.map(({ untilMs }) => untilMs),
    [clock.now() + 300_000, Date.parse(until), Date.parse(until), null],
  );
});

test("acknowledge – while another program holds the store, nothing is tried and the answer names it", async () => {
  const { send, asked, answers, audited, store } = receiver();
  store.whyNot = "another program holds the store open";
  await send({});
  const { ok, outcome, reason, description } = JSON.parse(String(answers[0]?.payload));
  assert.deepEqual(
    { ok, outcome, reason, description },
    { ok: false, outcome: "rejected", reason: "store_held", description: store.whyNot },
  );
  assert.deepEqual([asked, audited], [[], []]);
});
