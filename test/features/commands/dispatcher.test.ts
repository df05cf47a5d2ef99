import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type {
  CommandResult,
  SettingsGateway,
  SettingsOperation,
} from "../../../src/core/command.ts";
import { CallFailure } from "../../../src/core/failure.ts";
import type { Message } from "../../../src/core/message.ts";
import { fixedSite } from "../../../src/core/site-source.ts";
import { replyTo } from "../../../src/core/topics/request.ts";
import { Dispatcher } from "../../../src/features/commands/dispatcher.ts";
import { Refusals } from "../../../src/features/commands/refusals.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { MemoryLog } from "./memory-log.ts";

/** Ten seconds and what a call may lose on its way, ms. */
const SPACING = 10_000;
const TOPIC = "gateside/plant-7/agent/cmd/saveSettings";
const REQUEST = {
  sensor: "10234",
  IntervalSendData: 60,
  Range: 8,
  IntervalRMS: 60,
  alarm1: 4.5,
  alarm2: 4.5,
  alarm3: 4.5,
};
const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));

type Answer = { statusNumber: number; description: string } | CallFailure;

interface Bench {
  /** Who, what, outcome and detail of each entry. */
  readonly audited: string[][];
  readonly clock: ManualClock;
  readonly log: MemoryLog;
  /** Monotonic times of the calls, ms. */
  readonly calls: { at: number; operation: string; range: number }[];
  readonly replies: Message[];
  answers: Answer[];
  /** How long each call takes, ms. */
  tookMs: number;
  /** Why the store cannot be written. */
  whyNot: string | null;
  dispatcher: Dispatcher;
  restart(): Promise<void>;
  send(request: unknown, extra?: object): Promise<CommandResult>;
}

function bench(
  t: TestContext,
  operation: SettingsOperation = "saveSettings",
  wireWord = "sensor",
): Bench {
  const clock = new ManualClock();
  const log = new MemoryLog();
  const calls: Bench["calls"] = [];
  const replies: Message[] = [];
  const audited: string[][] = [];
  const gateway: SettingsGateway = {
    async queueSettings(operation, settings) {
      calls.push({ at: clock.monotonic(), operation, range: settings.rangeG });
      const answer = made.answers.shift() ?? { statusNumber: 0, description: "OK" };
      if (made.tookMs > 0) await clock.sleep(made.tookMs);
      if (answer instanceof CallFailure) throw answer;
      return answer;
    },
  };
  const make = () =>
    new Dispatcher(
      {
        gateway,
        log,
        clock,
        logger: silentLogger,
        counter: { inc() {} },
        whyUnwritable: () => Promise.resolve(made.whyNot),
        audit: (...entry) => void audited.push(entry),
      },
      {
        site: fixedSite({
          site: "s",
          sensors: [{ code: "10234", type: 3, kinds: ["accel"], channels: {} }],
        }),
        operation,
        wireWord,
      },
    );
  const made: Bench = {
    audited,
    clock,
    log,
    calls,
    replies,
    answers: [],
    tookMs: 0,
    whyNot: null,
    dispatcher: make(),
    async restart() {
      await made.dispatcher.close();
      made.dispatcher = make();
    },
    async send(request, extra = {}) {
      const payload = request instanceof Buffer ? request : bytes(request);
      const result = await made.dispatcher.handleMessage(
        { topic: TOPIC, payload, ...extra },
        (message) => void replies.push(message),
      );
      assert.ok(result, "not looked at");
      return result;
    },
  };
  t.after(() => made.dispatcher.close());
  return made;
}

const lost = () =>
  new CallFailure({
    message: "no response in 30 s",
    failureClass: "transient",
    code: "first_byte_timeout",
  });
const settle = () => new Promise((resolve) => setImmediate(resolve));

test("dispatcher – a request that is not JSON is answered, logged and not executed", async (t) => {
  const b = bench(t);
  const result = await b.send(Buffer.from("{nope"));
  assert.equal(result.outcome, "rejected_local");
  assert.equal(b.calls.length, 0);
  assert.equal(b.log.entries[0]?.outcome, "rejected_local");
  assert.equal(b.replies[0]?.topic, `${TOPIC}/result`);
  assert.deepEqual(JSON.parse(String(b.replies[0]?.payload)), result);
});

test("dispatcher – a request is understood with the vendor's word as the wire spells it, however WIRE_WORD is written", async (t) => {
  const { sensor, ...settings } = REQUEST;
  for (const [wireWord, name] of [
    ["Acme", "acme"],
    ["ACME", "acme"],
    ["smartSensor", "smartSensor"],
  ] as const) {
    const b = bench(t, "saveSettings", wireWord);
    const { outcome } = await b.send({ [name]: sensor, ...settings });
    assert.equal(outcome, "queued", wireWord);
    assert.equal(b.log.entries[0]?.sensor, "10234", wireWord);
  }
});

test("dispatcher – a command over MQTT is audited once with its uplink; a redelivery and a command over HTTP are not", async (t) => {
  const b = bench(t);
  const uplink = "cloud";
  await b.send(REQUEST, { uplink });
  await b.send(REQUEST, { uplink });
  await b.send(Buffer.from("{nope"), { uplink });
  await b.dispatcher.execute({ sensor: "none" });
  await b.dispatcher.execute({ sensor: "none" }, "mqtt", { who: "MQTT main", what: "DCMD" });
  assert.deepEqual(b.audited, [
    ["MQTT cloud", "agent/cmd/saveSettings", "queued", "10234"],
    ["MQTT cloud", "agent/cmd/saveSettings", "rejected_local", ""],
    ["MQTT main", "DCMD", "rejected_local", "none"],
  ]);
});

test("dispatcher – a command from a Sparkplug host is kept as one over MQTT", async (t) => {
  const b = bench(t);
  await b.dispatcher.execute(REQUEST, "mqtt", { who: "MQTT main", what: "DCMD" });
  assert.deepEqual(
    b.log.entries.map(({ source, sensor }) => [source, sensor]),
    [["mqtt", "10234"]],
  );
});

test("dispatcher – a retained request is not executed, because it would run again on every connection", async (t) => {
  const b = bench(t);
  assert.equal((await b.send(REQUEST, { retain: true })).outcome, "rejected_local");
  assert.equal(b.calls.length, 0);
});

test("dispatcher – a 50x of the gateway is final", async (t) => {
  const b = bench(t);
  b.answers = [{ statusNumber: 506, description: "type takes no settings" }];
  assert.deepEqual(await b.send(REQUEST), {
    ok: false,
    outcome: "rejected_service",
    statusNumber: 506,
    description: "type takes no settings",
  });
  await b.clock.advance(60_000);
  assert.equal(b.calls.length, 1);
});

test("dispatcher – a lost response is reported as unknown at once: the gateway is called once", async (t) => {
  const b = bench(t);
  b.answers = [lost()];
  const result = await b.send(REQUEST);
  assert.equal(result.outcome, "unknown");
  assert.equal(result.statusNumber, null);
  await b.clock.advance(60_000);
  assert.equal(b.calls.length, 1);
});

test("dispatcher – the call after a lost response keeps the minimum spacing too", async (t) => {
  const b = bench(t);
  b.answers = [lost()];
  await b.send(REQUEST);
  const second = b.send({ ...REQUEST, Range: 4 });
  await settle();
  await b.clock.advance(SPACING - 1);
  assert.equal(b.calls.length, 1);
  await b.clock.advance(1);
  assert.equal((await second).outcome, "queued");
});

test("dispatcher – the spacing begins when a call has ended: it may have reached the gateway late, and the next one at once", async (t) => {
  const b = bench(t);
  b.tookMs = 3000;
  const results = [b.send(REQUEST), b.send({ ...REQUEST, Range: 4 })];
  await settle();
  await b.clock.advance(3000 + SPACING - 1);
  assert.equal(b.calls.length, 1);
  await b.clock.advance(1);
  assert.equal(b.calls.length, 2);
  await b.clock.advance(3000);
  await Promise.all(results);
});

test("dispatcher – a gateway that was not reached is reported as such, and nothing is claimed about the settings", async (t) => {
  const b = bench(t);
  const refused = () =>
    new CallFailure({ message: "connection refused", failureClass: "transient", code: "connect" });
  b.answers = [refused()];
  const result = await b.send(REQUEST);
  assert.equal(result.outcome, "unknown");
  assert.equal(result.statusNumber, null);
  assert.equal(result.description, "connection refused");
});

test("dispatcher – the same correlation data within 24 h gets the first outcome, also after a restart", async (t) => {
  const b = bench(t);
  const extra = { responseTopic: "reply/to/me", correlationData: Buffer.from([1, 2, 255]) };
  const first = await b.send(REQUEST, extra);
  assert.equal(first.outcome, "queued");
  await b.restart();
  await b.clock.advance(23.9 * 3_600_000);
  assert.deepEqual(await b.send(REQUEST, extra), first);
  assert.equal(b.calls.length, 1);
  assert.deepEqual(
    b.replies.map((r) => [r.topic, r.correlationData]),
    [
      ["reply/to/me", extra.correlationData],
      ["reply/to/me", extra.correlationData],
    ],
  );
  await b.clock.advance(0.2 * 3_600_000);
  await b.send(REQUEST, extra);
  assert.equal(b.calls.length, 2);
});

test("dispatcher – a command interrupted by a crash is not executed again", async (t) => {
  const b = bench(t);
  const correlationData = Buffer.from("a");
  await b.send(REQUEST, { correlationData });
  const entry = b.log.entries[0];
  assert.ok(entry);
  b.log.entries[0] = { ...entry, outcome: null };
  await b.restart();
  assert.equal((await b.send(REQUEST, { correlationData })).outcome, "unknown");
  assert.equal(b.calls.length, 1);
});

test("dispatcher – correlation data alone identifies a redelivery, whatever response topic it names", async (t) => {
  const b = bench(t);
  const correlationData = Buffer.from("1");
  await b.send(REQUEST, { correlationData, responseTopic: "a" });
  const again = await b.send(REQUEST, { correlationData, responseTopic: "b" });
  assert.equal(again.outcome, "queued");
  assert.equal(b.calls.length, 1);
  assert.deepEqual(
    b.replies.map((r) => r.topic),
    ["a", "b"],
  );
});

test("dispatcher – without correlation data the same payload within a minute is one request", async (t) => {
  const b = bench(t);
  const both = [b.send(REQUEST), b.send(REQUEST)];
  assert.deepEqual(await both[0], await both[1]);
  await b.clock.advance(60_000);
  await b.send(REQUEST);
  assert.equal(b.calls.length, 1);
  await b.clock.advance(1);
  await b.send(REQUEST);
  assert.equal(b.calls.length, 2);
});

test("dispatcher – one call per 10 s, ten may wait, the next is refused", async (t) => {
  const b = bench(t);
  const results = Array.from({ length: 12 }, (_, i) => b.send({ ...REQUEST, Range: i + 1 }));
  assert.match((await results[11])?.description ?? "", /10 commands are already waiting/);
  await settle();
  await b.clock.advance(200_000);
  const outcomes = (await Promise.all(results)).map((r) => r.outcome);
  assert.deepEqual(outcomes, [...Array.from({ length: 11 }, () => "queued"), "rejected_local"]);
  assert.deepEqual(
    b.calls.map((c) => [c.at, c.range]),
    Array.from({ length: 11 }, (_, i) => [i * SPACING, i + 1]),
  );
  assert.equal(b.log.entries.length, 12);
});

test("dispatcher – the spacing of calls is kept across a restart", async (t) => {
  const b = bench(t);
  await b.send(REQUEST);
  await b.restart();
  await b.clock.advance(4_000);
  const second = b.send({ ...REQUEST, Range: 16 });
  await settle();
  await b.clock.advance(20_000);
  await second;
  assert.deepEqual(
    b.calls.map((c) => c.at),
    [0, SPACING],
  );
});

test("dispatcher – after a restart, the spacing counts from the call of a command, not from its arrival", async (t) => {
  const b = bench(t);
  await b.send(REQUEST);
  const waited = b.send({ ...REQUEST, Range: 16 });
  await settle();
  await b.clock.advance(SPACING);
  await waited;
  await b.restart();
  const third = b.send({ ...REQUEST, Range: 4 });
  await settle();
  await b.clock.advance(20_000);
  await third;
  assert.deepEqual(
    b.calls.map((c) => c.at),
    [0, SPACING, 2 * SPACING],
  );
});

test("dispatcher – after a crash during a command, the next one keeps the full spacing", async (t) => {
  const b = bench(t);
  b.log.begin({
    receivedAtMs: b.clock.now() - 50_000,
    key: "cut short",
    sensor: "10234",
    source: "mqtt",
    payload: "{}",
  });
  const next = b.send(REQUEST);
  await settle();
  await b.clock.advance(SPACING - 1);
  assert.equal(b.calls.length, 0);
  await b.clock.advance(1);
  await next;
  assert.equal(b.calls.length, 1);
});

test("dispatcher – UpdateConfig is used if the site selects it, with its own rules", async (t) => {
  const b = bench(t, "UpdateConfig");
  await b.send({ ...REQUEST, IntervalRMS: 5 });
  assert.equal(b.calls[0]?.operation, "UpdateConfig");
});

test("dispatcher – closing responds to waiting commands without calling the gateway", async (t) => {
  const b = bench(t);
  await b.send(REQUEST);
  const waiting = b.send({ ...REQUEST, Range: 16 });
  await settle();
  await b.dispatcher.close();
  assert.equal((await waiting).outcome, "rejected_local");
  assert.equal(b.calls.length, 1);
});

test("dispatcher – if the log cannot be written, the command is not executed", async (t) => {
  const b = bench(t);
  b.log.begin = () => {
    throw new Error("disk full");
  };
  assert.equal((await b.send(REQUEST)).outcome, "rejected_local");
  assert.equal(b.calls.length, 0);
});

test("dispatcher – settings queued for a code with leading zeros are those of the sensor in the site file", async (t) => {
  const b = bench(t);
  const result = await b.dispatcher.execute({ ...REQUEST, sensor: " 0010234" });
  assert.equal(result.outcome, "queued");
  assert.equal(b.log.lastQueued("10234")?.finishedAtMs, b.clock.now());
});

test("dispatcher – a person who asks again after a failure gets another try; a redelivery does not", async (t) => {
  const b = bench(t);
  const refused = () =>
    new CallFailure({ message: "connection refused", failureClass: "transient", code: "connect" });
  b.answers.push(refused(), refused());
  assert.equal((await b.dispatcher.execute(REQUEST, "cli")).outcome, "unknown");
  await b.clock.advance(SPACING);
  assert.equal((await b.send(REQUEST)).outcome, "unknown");
  await b.clock.advance(SPACING);
  assert.equal((await b.dispatcher.execute(REQUEST, "cli")).outcome, "queued");
  assert.equal((await b.send(REQUEST)).outcome, "unknown");
  assert.equal((await b.dispatcher.execute(REQUEST, "cli")).outcome, "queued");
  assert.equal(b.calls.length, 3, "what was queued is not queued twice");
});

test("dispatcher – empty correlation data does not distinguish requests", async (t) => {
  const b = bench(t);
  const extra = { correlationData: new Uint8Array() };
  await b.send(REQUEST, extra);
  await b.clock.advance(60_001);
  const second = await b.send({ ...REQUEST, Range: 16 }, extra);
  assert.equal(second.outcome, "queued");
  assert.deepEqual(
    b.calls.map((c) => c.range),
    [REQUEST.Range, 16],
  );
});

test("dispatcher – a flood of malformed requests is refused in groups, and beyond twenty a second ignored", async (t) => {
  const b = bench(t);
  let groups = 0;
  const refused = b.log.refused.bind(b.log);
  b.log.refused = (group) => {
    groups += 1;
    return refused(group);
  };
  for (let n = 0; n < 5_000; n++) {
    await b.dispatcher.handleMessage({ topic: TOPIC, payload: Buffer.from(`x${n}`) }, () => {});
  }
  await b.dispatcher.close();
  assert.equal(b.log.entries.length, 20);
  assert.ok(b.log.entries.every(({ outcome }) => outcome === "rejected_local"));
  assert.equal(groups, 2, "the first at once, the others together");
  assert.deepEqual(b.calls, []);
});

test("dispatcher – a refusal is remembered while another program keeps it from being written", async () => {
  let release = () => {};
  const log = new MemoryLog();
  const refused = log.refused.bind(log);
  log.refused = async (group) => {
    await new Promise<void>((resolve) => {
      release = resolve;
    });
    await refused(group);
  };
  const refusals = new Refusals({ log, clock: new ManualClock(), logger: silentLogger });
  const entry = { receivedAtMs: 1, key: "a", sensor: "1", source: "mqtt", payload: "" } as const;
  const result = { ok: false, outcome: "rejected_local", statusNumber: null, description: "no" };
  refusals.add(entry, result as CommandResult);
  assert.equal(refusals.find("a", 0)?.description, "no");
  const closed = refusals.close();
  release();
  await closed;
  await new Promise(setImmediate);
  assert.equal(log.findByKey("a", 0)?.description, "no");
  assert.equal(refusals.find("a", 0), null);
});

test("dispatcher – a response is never published on the agent's own topics, nor outside the configured prefix", () => {
  const own = "gateside/plant-7/agent/state";
  for (const [responseTopic, responsePrefix, expected] of [
    ["replies/42", undefined, "replies/42"],
    [own, undefined, `${TOPIC}/result`],
    ["gateside/plant-7/10234/rpm", undefined, `${TOPIC}/result`],
    ["gateside/plant-70/x", undefined, "gateside/plant-70/x"],
    ["spBv1.0/plant/NDEATH/gateside", undefined, `${TOPIC}/result`],
    ["$SYS/x", undefined, `${TOPIC}/result`],
    ["replies/\u0007", undefined, `${TOPIC}/result`],
    ["replies/\uffff", undefined, `${TOPIC}/result`],
    ["a/".repeat(100), undefined, `${TOPIC}/result`],
    ["a".repeat(1_025), undefined, `${TOPIC}/result`],
    ["replies/42", "replies", "replies/42"],
    ["replies", "replies", "replies"],
    ["replies-of-others/42", "replies", `${TOPIC}/result`],
    [own, "gateside", `${TOPIC}/result`],
  ] as const) {
    assert.equal(
      replyTo({ topic: TOPIC, responseTopic }, {}, responsePrefix ?? null).topic,
      expected,
    );
  }
});

test("commands – while another program holds the store, none is executed or remembered; the same request is executed afterwards", async (t) => {
  const one = bench(t);
  const correlationData = Buffer.from("1");
  one.whyNot = "another program holds the store open";
  assert.deepEqual(await one.send(REQUEST, { correlationData }), {
    ok: false,
    outcome: "rejected_local",
    statusNumber: null,
    description: one.whyNot,
    reason: "store_held",
  });
  assert.deepEqual([one.calls, one.log.entries], [[], []]);
  one.whyNot = null;
  assert.equal((await one.send(REQUEST, { correlationData })).outcome, "queued");
});
