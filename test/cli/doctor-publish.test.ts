/** What `doctor` says about publishes, over the built agent and a real broker whose rights are bound to the client id. */
import assert from "node:assert/strict";
import { dirname } from "node:path";
import { test } from "node:test";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../support/plant.ts";
import { runCommand } from "../support/run-command.ts";
import { until } from "../support/wait-until.ts";

const WAIT_MS = 40_000;
const TOPIC = "gateside/plant/agent/state/doctor";
const DENIED = "topic read #";
/** Only the client id `gateside` may write below `gateside/`. */
const BOUND = "topic read #\npattern readwrite %c/#";

test("doctor – says that publishes are refused although there is a session; {} is published through the running agent, or with the uplink's own client id", {
  skip: skipWithoutBuild || skipWithoutMosquitto,
}, async (t) => {
  const plant = await startPlant(t, {
    simulator: { sensors: 1, historyDays: 0.01 },
    broker: { acl: DENIED },
    env: { MQTT_CLIENT_ID: "gateside" },
  });
  const brokerLines = async () => {
    const { stdout } = await runCommand(["doctor"], {
      cwd: dirname(plant.siteFile),
      env: plant.env,
    });
    return stdout.split("\n").filter((line) => / broker /.test(line));
  };
  const seen = await plant.subscribe();
  const published = () => seen.messages.filter(({ topic }) => topic === TOPIC);

  const alone = await brokerLines();
  assert.match(alone.join("\n"), /^FAILED +broker .*agent\/state\/doctor is refused \(not_author/);
  assert.match(alone.join("\n"), /client id "gateside".*access list$/);

  const agent = plant.startAgent();
  await agent.address;
  const refused = await until("the agent's session", async () => {
    const lines = await brokerLines();
    return lines.some((line) => /running agent\): .* refuses /.test(line)) ? lines : undefined;
  });
  assert.match(refused.join("\n"), /^FAILED +broker .*\(running agent\)/m);
  assert.match(
    refused.join("\n"),
    /^ok +broker .*connected/m,
    "with another client id, which publishes nothing",
  );

  await agent.stop();
  plant.broker.reload({ acl: BOUND });
  const allowed = plant.startAgent();
  await allowed.address;
  const well = await until("rights", async () => {
    const lines = await brokerLines();
    return lines.every((line) => line.startsWith("ok")) ? lines : undefined;
  });
  assert.match(well.join("\n"), /\(running agent\): a publish to \S+\/doctor was acknowledged/);
  assert.equal(well.length, 2);
  const [first] = published();
  assert.equal(first?.text, "{}");
  assert.equal(first?.retain, false);

  await allowed.stop();
  const before = published().length;
  assert.match((await brokerLines()).join("\n"), /^ok +broker .*connected.*was acknowledged$/);
  await seen.waitFor(() => published().length > before, WAIT_MS);
});

test("doctor – over MQTT 3.1.1, where mosquitto acknowledges what it drops, the largest message is read back: right and size are told apart", {
  skip: skipWithoutBuild || skipWithoutMosquitto,
}, async (t) => {
  const plant = await startPlant(t, {
    // A vibration sensor: waveforms are expected.
    simulator: { sensors: 1, historyDays: 0.01 },
    broker: { acl: DENIED },
    env: { MQTT_VERSION: "4" },
  });
  const brokerLine = async () => {
    const place = { cwd: dirname(plant.siteFile), env: plant.env };
    const { stdout } = await runCommand(["doctor"], place);
    return stdout.split("\n").find((line) => / broker /.test(line)) ?? "";
  };
  assert.match(
    await brokerLine(),
    /^FAILED +broker .*acknowledged, but did not come back: .*right to publish and to read there/,
  );
  plant.broker.reload({ acl: "topic readwrite #" });
  assert.match(
    await brokerLine(),
    /^ok +broker .*a publish of 90\d{3} bytes to \S+ was acknowledged and read back/,
  );
});

test("doctor – over MQTT 3.1.1, a size that mosquitto drops in silence is named", {
  skip: skipWithoutBuild || skipWithoutMosquitto,
}, async (t) => {
  const plant = await startPlant(t, {
    simulator: { sensors: 1, historyDays: 0.01 },
    broker: { config: ["message_size_limit 20000"] },
    env: { MQTT_VERSION: "4" },
  });
  const place = { cwd: dirname(plant.siteFile), env: plant.env };
  const { stdout } = await runCommand(["doctor"], place);
  assert.match(
    stdout,
    /^FAILED +broker .*drops a publish of 90\d{3} bytes .*message_size_limit.*PUBLISH_WAVEFORMS=never$/m,
  );
});
