// Fields and rules as https://www.home-assistant.io/integrations/mqtt/ ("MQTT Discovery"), /integrations/sensor.mqtt/,
// /integrations/binary_sensor.mqtt/ and /integrations/sensor/ ("Device class") name them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { platformOf } from "../../../src/config/profiles.ts";
import type { Message } from "../../../src/core/message.ts";
import { publishedTopics } from "../../../src/core/topics/published.ts";
import { type TopicPlan } from "../../../src/core/topics/published-row.ts";
import { SELECT_ALL } from "../../../src/core/uplink.ts";
import { createHomeAssistantProfile } from "../../../src/features/platforms/homeassistant.ts";
import { homeAssistantMeaning } from "../../../src/features/platforms/homeassistant-units.ts";
import { LOOP, options, PUMP, SITE } from "../../pipeline/publish/formats/profiles.ts";

const profile = createHomeAssistantProfile({ waveforms: { read: () => null } }, options());
const configs = (messages: readonly Message[]) =>
  new Map(
    messages
      .filter(({ topic }) => topic.startsWith("homeassistant/"))
      .map(({ topic, payload }) => [topic, JSON.parse(String(payload))]),
  );

test("discovery – topic <prefix>/<component>/<node_id>/<object_id>/config, retained, of letters, digits, _ and -", () => {
  for (const { topic, retain, qos } of profile.describe(PUMP)) {
    assert.deepEqual([retain, qos], [true, 1]);
    if (!topic.endsWith("/about"))
      assert.match(topic, /^homeassistant\/(binary_)?sensor\/[\w-]+\/[\w-]+\/config$/);
  }
  const all = configs(profile.describe(PUMP));
  assert.ok(all.has("homeassistant/sensor/gateside_plant-7_10234/accel_channel1_vel_rms/config"));
  const ids = [...all.values()].map(({ unique_id: id }) => id);
  assert.equal(new Set(ids).size, ids.length);
});

test("discovery – `gateside topics` lists every discovery topic of the site and the agent", () => {
  const plan: TopicPlan = {
    formats: ["json"],
    profile: "homeassistant",
    topicPrefix: "gateside",
    topics: {},
    select: SELECT_ALL,
    history: true,
    waveforms: "always",
    retain: true,
    commands: false,
    sparkplug: null,
    clientId: "c",
  };
  const listed = publishedTopics(plan, SITE.current, platformOf).flatMap(({ topic, retained }) =>
    topic.startsWith("homeassistant/") && retained ? [topic] : [],
  );
  const sent = [...profile.describeAgent(), ...SITE.current.sensors.flatMap(profile.describe)];
  assert.deepEqual(listed.sort(), [...configs(sent).keys()].sort());
});

test("discovery – the config of a value: template in brackets, matching class and unit, device and availability", () => {
  const config = configs(profile.describe(LOOP)).get(
    "homeassistant/sensor/gateside_plant-7_30007/loop_channel1/config",
  );
  assert.deepEqual(config, {
    name: "Suction pressure",
    state_topic: "gateside/plant-7/30007/loop",
    value_template: "{{ value_json['values']['channel1'] }}",
    unit_of_measurement: "bar",
    device_class: "pressure",
    state_class: "measurement",
    unique_id: "gateside_plant-7_30007_loop_channel1",
    availability: [
      {
        topic: "gateside/plant-7/agent/state",
        value_template: "{{ value_json['state'] }}",
        payload_available: "online",
        payload_not_available: "offline",
      },
      {
        topic: "gateside/plant-7/30007/state",
        value_template: "{{ 'online' if value_json['state'] == 'online' else 'offline' }}",
        payload_available: "online",
        payload_not_available: "offline",
      },
    ],
    availability_mode: "all",
    device: {
      identifiers: ["gateside_plant-7_30007"],
      name: "30007",
      serial_number: "30007",
      via_device: "gateside_plant-7",
    },
    origin: { name: "Gateside", sw_version: "0.2.0" },
  });

  const current = configs(profile.describe(LOOP)).get(
    "homeassistant/sensor/gateside_plant-7_30007/loop_channel1_ma/config",
  );
  assert.equal(current?.name, "Suction pressure mA");
});

test("discovery – one device per sensor, contacts as binary sensors, zones as enum, battery as diagnostic", () => {
  const devices = new Set(
    [...configs(profile.describe(LOOP)).values()].map(({ device }) => JSON.stringify(device)),
  );
  assert.equal(devices.size, 1);
  const loop = configs(profile.describe(LOOP));
  const node = "gateside_plant-7_30007";
  const input = loop.get(`homeassistant/binary_sensor/${node}/dryContact_input1/config`);
  assert.equal(
    input.value_template,
    "{{ 'None' if value_json['values']['input1'] is none else ('ON' if value_json['values']['input1'] else 'OFF') }}",
  );
  const battery = loop.get(`homeassistant/sensor/${node}/loop_battery/config`);
  assert.deepEqual(
    [battery.entity_category, battery.device_class, battery.unit_of_measurement, battery.name],
    ["diagnostic", "voltage", "V", "battery (loop)"],
  );
  assert.equal(battery.value_template, "{{ value_json['values']['battery'] | default('') }}");
  const pump = configs(profile.describe(PUMP));
  const zone = pump.get("homeassistant/sensor/gateside_plant-7_10234/accel_channel2_zone/config");
  assert.deepEqual(
    [zone.device_class, zone.options, zone.state_class, zone.name],
    ["enum", ["A", "B", "C", "D"], undefined, "Bearing zone"],
  );
  assert.equal(zone.device.suggested_area, "Boiler house");
});

test("discovery – units as Home Assistant writes them; a class only if it lists the unit", () => {
  assert.deepEqual(homeAssistantMeaning("degC"), {
    unit_of_measurement: "°C",
    device_class: "temperature",
  });
  assert.deepEqual(homeAssistantMeaning("1"), {});
  assert.deepEqual(homeAssistantMeaning(null), {});
  assert.deepEqual(homeAssistantMeaning("mm/s"), { unit_of_measurement: "mm/s" });
  assert.deepEqual(homeAssistantMeaning("t/h"), { unit_of_measurement: "t/h" });
  assert.deepEqual(homeAssistantMeaning("constructor"), { unit_of_measurement: "constructor" });
});

test("discovery – sent again when Home Assistant says on homeassistant/status that it has started", () => {
  assert.deepEqual(profile.subscriptions, ["homeassistant/status"]);
  const wants = (text: string) =>
    profile.wantsDescriptions("homeassistant/status", Buffer.from(text));
  assert.deepEqual([wants("online"), wants("offline")], [true, false]);
  assert.equal(profile.wantsDescriptions("other", Buffer.from("online")), false);
});

test("discovery – what is published for a sensor is cleared when it is removed", () => {
  const { descriptions } = profile.retainedTopics(LOOP);
  assert.deepEqual(
    new Set(descriptions),
    new Set(profile.describe(LOOP).map(({ topic }) => topic)),
  );
});

test("discovery – values that the uplink does not select have no entity", () => {
  const some = createHomeAssistantProfile(
    { waveforms: { read: () => null } },
    options({ isWanted: (name) => name === "channel1", isChosen: (_, kind) => kind === "loop" }),
  );
  assert.deepEqual(
    [...configs(some.describe(LOOP)).keys()],
    ["homeassistant/sensor/gateside_plant-7_30007/loop_channel1/config"],
  );
});
