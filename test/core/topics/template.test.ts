import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Sensor } from "../../../src/core/sensor.ts";
import { templateFaults } from "../../../src/core/topics/template.ts";
import { createTopics } from "../../../src/core/topics/topics.ts";

const pump: Sensor = {
  code: "10234",
  type: 3,
  name: "Pump 4 / DE",
  kinds: ["accel"],
  channels: {},
  location: {
    company: 1,
    area: 2,
    machine: 40,
    point: 1,
    names: { area: "Boiler house", machine: "Pump+4" },
  },
};
const topicsOf = (templates: Parameters<typeof templateFaults>[0], site = "plant-7") =>
  createTopics("a/b", site, {
    templates,
    sensor: (code) => (code === pump.code ? pump : undefined),
  });

test("templates – without a template, the topics are those of the contract", () => {
  const topics = topicsOf({});
  assert.deepEqual(
    [
      topics.reading("1", "accel"),
      topics.history("1", "accel"),
      topics.value("1", "rpm", "rpm"),
      topics.waveform("1", 2),
      topics.sensorState("1"),
      topics.about("1"),
      topics.agentEvent,
      topics.alarm("1", "zone", "channel1_zone"),
    ],
    [
      "a/b/plant-7/1/accel",
      "a/b/plant-7/1/accel/history",
      "a/b/plant-7/1/rpm/rpm",
      "a/b/plant-7/1/waveform/channel2",
      "a/b/plant-7/1/state",
      "a/b/plant-7/1/about",
      "a/b/plant-7/agent/event",
      "a/b/plant-7/1/alarm/zone/channel1_zone",
    ],
  );
});

test("templates – names if configured, otherwise ids, each made safe as one topic level", () => {
  const topics = topicsOf({ reading: "{prefix}/{company}/{area}/{machine}/{point}/{name}/{kind}" });
  assert.equal(topics.reading("10234", "accel"), "a/b/1/Boiler house/Pump_4/1/Pump 4 _ DE/accel");
  assert.equal(
    topics.history("10234", "accel"),
    "a/b/1/Boiler house/Pump_4/1/Pump 4 _ DE/accel/history",
  );
});

test("templates – a sensor without a location is at `_`, and one without a name is called by its code", () => {
  const topics = topicsOf({ reading: "x/{area}/{name}/{kind}" });
  assert.equal(topics.reading("777", "rpm"), "x/_/777/rpm");
});

test("templates – a name at the start never creates a topic reserved by the broker", () => {
  assert.equal(topicsOf({ state: "{site}/{sensor}" }, "$SYS").sensorState("1"), "_SYS/1");
});

test("templates – each error is named with what is wrong", () => {
  const problems = (reading: string) => templateFaults({ reading }).map(({ problem }) => problem);
  assert.match(problems("{prefix}/{senzor}").join(), /\{senzor\}, which is not available in/);
  assert.match(problems("a/{value}").join(), /\{value\}/);
  assert.match(problems("a/{sensor").join(), /brace/);
  assert.match(problems("a//{sensor}").join(), /empty level/);
  assert.match(problems("/{sensor}").join(), /empty level/);
  assert.match(problems("{sensor}/").join(), /empty level/);
  assert.match(problems("a/+/{sensor}").join(), /\+ #/);
  assert.match(problems("a/#").join(), /\+ #/);
  assert.match(problems("$SYS/{sensor}").join(), /begins with \$/);
  assert.deepEqual(problems("{prefix}/{site}-{sensor}/{kind}"), []);
  assert.deepEqual(templateFaults({ state: "{kind}" }).length, 1);
  assert.deepEqual(templateFaults({ waveform: "w/{sensor}/{channel}" }), []);
  assert.deepEqual(templateFaults({ value: "v/{sensor}/{kind}/{value}" }), []);
});

test("templates – whatever the names are, a topic has the levels of its template and no wildcard", () => {
  const name = fc.string({ unit: "binary", minLength: 1 });
  fc.assert(
    fc.property(name, name, (sensorName, area) => {
      const sensor: Sensor = {
        ...pump,
        name: sensorName,
        location: { company: 1, area: 2, machine: 3, point: 4, names: { area } },
      };
      const topics = createTopics("p", "s", {
        templates: { reading: "{name}/{area}/{kind}" },
        sensor: () => sensor,
      });
      const topic = topics.reading("1", "rpm");
      assert.equal(topic.split("/").length, 3);
      assert.doesNotMatch(topic, /[+#\0]|^\$/);
    }),
  );
});
