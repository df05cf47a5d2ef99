import assert from "node:assert/strict";
import { test } from "node:test";
import type { Message, PublishOutcome } from "../../../src/core/message.ts";
import type { Sensor } from "../../../src/core/sensor.ts";
import { ReplaceableSite } from "../../../src/core/site-source.ts";
import type { TopicTemplates } from "../../../src/core/topics/template.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { Descriptions } from "../../../src/pipeline/publish/descriptions.ts";
import { createGatesideProfile } from "../../../src/pipeline/publish/formats/gateside.ts";
import { FakeLink, turnsOver } from "../../support/fake-link.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";

const loop: Sensor = {
  code: "30007",
  type: 12,
  name: "Suction",
  kinds: ["loop"],
  channels: { channel1: { name: "Pressure", unit: "bar", low: 0, high: 10 } },
};
const rpm: Sensor = { code: "50021", type: 5, kinds: ["rpm"], channels: {} };
const ROOT = "gateside/plant-7";
const LAST = Date.parse("2026-11-20T11:59:00Z");

/** A link whose broker keeps what it retains. */
class FakeBroker extends FakeLink {
  readonly retained = new Map<string, string>();
  override async publish(message: Message): Promise<PublishOutcome> {
    const outcome = await super.publish(message);
    if (outcome.result !== "delivered" || !message.retain) return outcome;
    if (message.payload === "") this.retained.delete(message.topic);
    else this.retained.set(message.topic, String(message.payload));
    return outcome;
  }
}

interface Setting {
  readonly sensors: readonly Sensor[];
  readonly clearReadings?: boolean;
  readonly templates?: TopicTemplates;
  readonly logger?: RecordingLogger;
}

/** One process over a broker and a memory that outlive it. */
function start(broker: FakeBroker, memory: { text: string | null }, setting: Setting) {
  const { clearReadings = false } = setting;
  const site = new ReplaceableSite({ site: "plant-7", sensors: setting.sensors });
  const profile = createGatesideProfile(
    { waveforms: { read: () => null } },
    {
      prefix: "gateside",
      site: "plant-7",
      source: site,
      templates: setting.templates ?? {},
      version: "1",
      formats: ["json", "plain"],
      waveforms: "never",
      withRaw: false,
      retain: true,
      clearRemoved: clearReadings,
      isWanted: null,
    },
  );
  const clock = new ManualClock();
  const descriptions = new Descriptions(
    {
      link: broker,
      turns: turnsOver(broker),
      clock,
      logger: setting.logger ?? silentLogger,
      profile,
      site,
      memory: {
        load: () => memory.text,
        save: (text) => {
          memory.text = text;
        },
      },
      newestTimeMs: () => LAST,
    },
    { clearReadings, isSelected: () => true },
  );
  const replace = (sensors: readonly Sensor[]) => site.replace({ site: "plant-7", sensors });
  return { descriptions, replace, clock };
}

test("descriptions – what the broker refuses is recorded, also where others of the batch are lost, and tried again after five minutes", async () => {
  const broker = new FakeBroker();
  const { descriptions, clock } = start(broker, { text: null }, { sensors: [loop, rpm] });
  const denied = `${ROOT}/30007/about`;
  const sent = () => broker.messages.splice(0).map(({ topic }) => topic);
  // The broker cuts the connection after the refusal.
  broker.outcome = ({ topic }) =>
    topic === denied ? { result: "refused", code: 0x87 } : { result: "lost" };
  await descriptions.sync();
  assert.deepEqual(sent(), [denied, `${ROOT}/50021/about`]);
  broker.outcome = () => ({ result: "delivered" });
  await descriptions.sync();
  assert.deepEqual(sent(), [`${ROOT}/50021/about`]);
  await clock.advance(299_000);
  await descriptions.sync();
  assert.deepEqual(sent(), []);
  await clock.advance(1000);
  await descriptions.sync();
  assert.deepEqual(sent(), [denied]);
});

test("descriptions – a sensor may have the name of a member that every object has", async () => {
  const names = ["constructor", "__proto__", "toString"];
  const sensors = names.map((code) => ({ ...rpm, code }));
  const broker = new FakeBroker();
  const memory = { text: null };
  await start(broker, memory, { sensors }).descriptions.sync();
  const topics = names.map((code) => `${ROOT}/${code}/about`);
  assert.deepEqual([...broker.retained.keys()], topics);
  const again = start(broker, memory, { sensors: [] });
  await again.descriptions.sync();
  const left = topics.filter((topic) => broker.retained.has(topic));
  assert.deepEqual(left, [], "what is removed is cleared after a restart, too");
});

test("descriptions – about describes the sensor as the site file does, retained, with each session and each change", async () => {
  const broker = new FakeBroker();
  const { descriptions, replace } = start(broker, { text: null }, { sensors: [loop, rpm] });
  await descriptions.sync();
  assert.deepEqual(JSON.parse(broker.retained.get(`${ROOT}/30007/about`) ?? ""), {
    v: 1,
    site: "plant-7",
    sensor: "30007",
    name: "Suction",
    kinds: ["loop"],
    location: null,
    channels: { channel1: { name: "Pressure", unit: "bar", range: [0, 10] } },
    machineClass: null,
  });
  broker.messages = [];
  await descriptions.sync();
  assert.deepEqual(broker.messages, [], "nothing has changed");
  replace([{ ...loop, name: "Suction side" }, rpm]);
  await descriptions.sync();
  assert.deepEqual(
    broker.messages.map(({ topic }) => topic),
    [`${ROOT}/30007/about`],
  );
  broker.messages = [];
  broker.session = 2;
  await descriptions.sync();
  assert.equal(broker.messages.length, 2, "the broker may have forgotten all of them");
});

test("descriptions – the unit of a channel does not depend on the order of the sensor's kinds", async () => {
  const clamped: Sensor = {
    code: "20871",
    type: 9,
    kinds: ["currentV2", "accCurrent"],
    channels: { current1: { clamp: 100, name: "L1" } },
  };
  const shared: Sensor = {
    code: "20872",
    type: 9,
    kinds: ["loop", "accel"],
    channels: { channel1: { axis: "H", unit: "bar", low: 0, high: 10 } },
  };
  const reversed = (sensor: Sensor): Sensor => ({ ...sensor, kinds: sensor.kinds.toReversed() });
  for (const sensors of [
    [clamped, shared],
    [reversed(clamped), reversed(shared)],
  ]) {
    const broker = new FakeBroker();
    const { descriptions } = start(broker, { text: null }, { sensors });
    await descriptions.sync();
    const channelsOf = (code: string): unknown =>
      JSON.parse(broker.retained.get(`${ROOT}/${code}/about`) ?? "").channels;
    assert.deepEqual(channelsOf("20871"), { current1: { name: "L1", unit: "A", clamp: 100 } });
    assert.deepEqual(channelsOf("20872"), {
      channel1: { axis: "H", unit: "bar", range: [0, 10] },
    });
  }
});

test("descriptions – a sensor removed from the site file is marked removed, then nothing of it stays retained except its JSON readings", async () => {
  const broker = new FakeBroker();
  const { descriptions, replace } = start(broker, { text: null }, { sensors: [loop, rpm] });
  await descriptions.sync();
  broker.retained.set(`${ROOT}/30007/state`, "online");
  broker.retained.set(`${ROOT}/30007/loop`, "a reading");
  broker.retained.set(`${ROOT}/30007/loop/channel1`, "5.5");
  broker.messages = [];
  replace([rpm]);
  await descriptions.sync();
  assert.deepEqual(
    broker.messages.slice(0, 3).map(({ topic, payload, retain }) => [topic, payload, retain]),
    [
      [
        `${ROOT}/30007/state`,
        '{"state":"removed","lastReading":"2026-11-20T11:59:00.000Z","battery":null,"site":"plant-7","sensor":"30007"}',
        true,
      ],
      [`${ROOT}/30007/state`, "", true],
      [`${ROOT}/30007/about`, "", true],
    ],
  );
  assert.deepEqual([...broker.retained.keys()], [`${ROOT}/50021/about`, `${ROOT}/30007/loop`]);
});

test("descriptions – a value or kind that the site file no longer names leaves the plain topics; its retained readings only where that is set", async () => {
  for (const clearReadings of [false, true]) {
    const broker = new FakeBroker();
    const memory = { text: null };
    const two: Sensor = {
      ...loop,
      kinds: ["loop", "rpm"],
      channels: { ...loop.channels, channel2: { unit: "bar", low: 0, high: 10 } },
    };
    const first = start(broker, memory, { sensors: [two], clearReadings });
    await first.descriptions.sync();
    const of = (topic: string) => `${ROOT}/30007/${topic}`;
    const topics = ["loop", "loop/channel1", "loop/channel2", "rpm", "rpm/rpm"];
    for (const topic of topics) broker.retained.set(of(topic), "x");
    // It was changed while the agent was stopped.
    const second = start(broker, memory, { sensors: [loop], clearReadings });
    await second.descriptions.sync();
    const left = ["loop", "loop/channel1", ...(clearReadings ? [] : ["rpm"])];
    assert.deepEqual(
      topics.filter((topic) => broker.retained.has(of(topic))),
      left,
    );
    await second.descriptions.sync();
    second.replace([]);
    await second.descriptions.sync();
    assert.deepEqual(
      topics.filter((topic) => broker.retained.has(of(topic))),
      clearReadings ? [] : ["loop", "rpm"],
    );
  }
});

test("descriptions – a sensor removed while the agent was stopped or offline is cleared too", async () => {
  const broker = new FakeBroker();
  const memory = { text: null };
  const first = start(broker, memory, { sensors: [loop, rpm], clearReadings: true });
  await first.descriptions.sync();
  for (const topic of ["state", "loop", "loop/channel1"]) {
    broker.retained.set(`${ROOT}/30007/${topic}`, "x");
  }
  broker.outcome = () => ({ result: "lost" });
  const second = start(broker, memory, { sensors: [rpm], clearReadings: true });
  await second.descriptions.sync();
  const third = start(broker, memory, { sensors: [rpm], clearReadings: true });
  broker.outcome = () => ({ result: "delivered" });
  await third.descriptions.sync();
  assert.deepEqual([...broker.retained.keys()], [`${ROOT}/50021/about`]);
  broker.messages = [];
  broker.session = 9;
  await third.descriptions.sync();
  assert.ok(!broker.messages.some(({ topic }) => topic.includes("30007")), "and only once");
});

test("descriptions – nothing is published that could not be recorded: a full disk postpones it, told once a minute", async () => {
  const broker = new FakeBroker();
  const memory = {
    get text(): string | null {
      return null;
    },
    set text(_: string | null) {
      throw new Error("disk full");
    },
  };
  const logger = new RecordingLogger();
  const { descriptions } = start(broker, memory, { sensors: [rpm], logger });
  for (let n = 0; n < 3; n++) await descriptions.sync();
  assert.deepEqual(broker.messages, []);
  assert.equal(logger.lines.length, 1);
});

test("descriptions – a topic that moves with its sensor is cleared at its old place", async () => {
  const broker = new FakeBroker();
  const at = (machine: number): Sensor => ({
    ...rpm,
    location: { company: 1, area: 1, machine, point: 1 },
  });
  const templates = { state: "{prefix}/{machine}/{sensor}/state" };
  const { descriptions, replace } = start(broker, { text: null }, { sensors: [at(1)], templates });
  await descriptions.sync();
  broker.retained.set("gateside/1/50021/state", "online");
  replace([at(2)]);
  await descriptions.sync();
  assert.ok(!broker.retained.has("gateside/1/50021/state"));
});

test("descriptions – of a site file with other sensors, only what is new in it is described; one that returns as it was, too", async () => {
  const broker = new FakeBroker();
  let saves = 0;
  const memory = {
    kept: null as string | null,
    get text() {
      return this.kept;
    },
    set text(text) {
      saves += 1;
      this.kept = text;
    },
  };
  const { descriptions, replace } = start(broker, memory, { sensors: [loop] });
  await descriptions.sync();
  broker.messages = [];
  saves = 0;
  replace([rpm, loop]);
  await descriptions.sync();
  assert.deepEqual(
    broker.messages.map(({ topic }) => topic),
    [`${ROOT}/50021/about`],
  );
  assert.equal(saves, 1, "recorded before it is published, and not again after it");
  replace([rpm]);
  await descriptions.sync();
  // As a reload does that fails after all.
  replace([rpm, loop]);
  await descriptions.sync();
  assert.ok(broker.retained.has(`${ROOT}/30007/about`));
});

test("descriptions – whatever one damaged byte makes of what was recorded, the sensors are described", async () => {
  const first = { text: null as string | null };
  await start(new FakeBroker(), first, { sensors: [loop, rpm] }).descriptions.sync();
  const recorded = Buffer.from(first.text ?? "");
  assert.ok(recorded.length > 200);
  for (let at = 0; at < recorded.length; at += 1)
    for (const bit of [1, 32, 64]) {
      const damaged = Buffer.from(recorded);
      damaged[at] = (damaged[at] ?? 0) ^ bit;
      const broker = new FakeBroker();
      // A sensor that has gone is taken back by what was recorded of it.
      const { descriptions } = start(broker, { text: damaged.toString() }, { sensors: [rpm] });
      await descriptions.sync();
      assert.ok(broker.retained.has(`${ROOT}/50021/about`), damaged.toString());
    }
});
