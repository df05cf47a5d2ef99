import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { parseFlags } from "../../src/cli/parse-flags.ts";
import { SIMULATE_FLAGS } from "../../src/cli/simulate-flags.ts";
import { switchesOf } from "../../src/cli/simulate-switches.ts";
import { startSimulator } from "../../src/simulator/server.ts";

const FAR_DAY = "2019-01-01";

/** A simulator with these words on its command line, and a way to post to it. */
async function simulator(t: TestContext, words: readonly string[]) {
  const switches = switchesOf(parseFlags(words, SIMULATE_FLAGS));
  const running = await startSimulator({ port: 0, sensors: 7, ...switches });
  t.after(() => running.close());
  const { sensors } = running.siteFile();
  const post = async (operation: string, body: object) => {
    const answer = await fetch(`${running.url}/SensorService.svc/${operation}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    return { status: answer.status, text: await answer.text() };
  };
  return { sensors, post };
}

for (const [form, expected] of [
  ["empty", /"Value":\[\]/],
  ["null", /"Value":null/],
  ["missing", /^\[\{"Configs":\[\],"Key":\{[^}]*\}\}\]$/],
  ["empty-array", /^\[\]$/],
  ["17", /"StatusNumber":17/],
] as const) {
  test(`simulate – a day without records is answered as --empty-day ${form} says`, async (t) => {
    const { sensors, post } = await simulator(t, ["--empty-day", form]);
    const sensor = sensors.find((s) => s.kinds.includes("rpm"));
    const body = { sensorType: sensor?.type, sensorCode: sensor?.code, date: FAR_DAY };
    const { text } = await post("getRPMData", body);
    assert.match(text, expected);
  });
}

test("simulate – requests that cannot be bound get 400, one that fails in the handler the chosen status", async (t) => {
  const { sensors, post } = await simulator(t, ["--strict-types", "--fault-status", "500"]);
  const sensor = sensors.find((s) => s.kinds.includes("rpm"));
  const good = { sensorType: sensor?.type, sensorCode: sensor?.code, date: FAR_DAY };
  assert.equal((await post("getRPMData", good)).status, 200);
  const wrong = await post("getRPMData", { ...good, sensorCode: Number(sensor?.code) });
  assert.equal(wrong.status, 400);
  assert.match(wrong.text, /Request Error/);
  const { date: _, ...dateless } = good;
  assert.equal((await post("getRPMData", dateless)).status, 400);
  const noDay = await post("getRPMData", { ...good, date: "yesterday" });
  assert.equal(noDay.status, 500);
  assert.match(noDay.text, /Request Error/);
});

test("simulate – checks settings in the selected order and responds in the selected form", async (t) => {
  const order = ["--settings-order", "505,504,503,502,506", "--settings-answer", "bare"];
  const { sensors, post } = await simulator(t, order);
  const sensor = sensors.find((s) => s.kinds.includes("accel"));
  const { text } = await post("saveSettings", {
    sensorType: sensor?.type,
    sensorCode: Number(sensor?.code),
    IntervalSendData: 1,
    Range: 5,
    IntervalRMS: 1,
    alarm1: 0,
    alarm2: 1,
    alarm3: 1,
  });
  assert.match(text, /^\{.*"StatusNumber":505/);
});

test("simulate – an invalid value of any switch is rejected", () => {
  for (const words of [
    ["--settings-order", "505,504"],
    ["--settings-order", "506,506,503,504,505"],
    ["--empty-day", "0"],
    ["--day-rule", "midnight"],
  ])
    assert.throws(() => switchesOf(parseFlags(words, SIMULATE_FLAGS)), /--/, words.join(" "));
});
