/** The built agent at a broker that binds rights to client ids: mosquitto's access list with `%c`. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { deadlineMs } from "../support/deadline.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../support/plant.ts";
import { runCommand } from "../support/run-command.ts";
import { until } from "../support/wait-until.ts";

/** A client writes below its own id alone. */
const BY_CLIENT = "topic read #\npattern write boxes/%c/#";

for (const version of ["4", "5"])
  test(`rights by client id – MQTT ${version === "4" ? "3.1.1" : "5"}: each uplink delivers below its own id; with another's id status names what is refused`, {
    skip: skipWithoutMosquitto || skipWithoutBuild,
    timeout: deadlineMs(180_000),
  }, async (t) => {
    const plant = await startPlant(t, {
      simulator: { sensors: 4, historyDays: 0.01 },
      broker: { acl: BY_CLIENT },
      env: {
        MQTT_VERSION: version,
        MQTT_CLIENT_ID: "box-1",
        MQTT_TOPIC_PREFIX: "boxes/box-1",
        PUBLISH_MACHINES: "true",
      },
    });
    const file = join(dirname(plant.siteFile), "uplinks.json");
    const cloud = {
      name: "cloud",
      url: plant.broker.url,
      version: Number(version),
      clientId: "cloud-1",
      topicPrefix: "boxes/cloud-1",
      machines: true,
    };
    const write = (...uplinks: readonly object[]) =>
      writeFileSync(file, JSON.stringify({ uplinks }));
    write(cloud);
    const seen = await plant.subscribe({ topics: ["boxes/#"] });
    const place = { cwd: dirname(plant.siteFile), env: { ...plant.env, UPLINKS_FILE: file } };
    const status = async () => (await runCommand(["status"], place)).stdout;

    const first = plant.startAgent({ UPLINKS_FILE: file });
    for (const id of ["box-1", "cloud-1"])
      for (const topic of ["agent/state", "100200411/rpm", "machine/40"])
        await seen.waitFor(
          (message) => message.topic === `boxes/${id}/plant/${topic}` && message.text !== "",
          deadlineMs(60_000),
        );
    assert.doesNotMatch(await status(), /REFUSED|SESSION|refuses/);
    await first.stop();

    // Its rights were bound to an id that nobody here has any more.
    write();
    const second = plant.startAgent({ UPLINKS_FILE: file });
    const isSaid =
      version === "5" ? /stays at a broker .*cloud-1/ : /cleared, .*MQTT 3\.1\.1 does not say/;
    await until(
      "what stays is said",
      () => second.log.find(({ msg }) => isSaid.test(String(msg))),
      deadlineMs(60_000),
    );
    await second.address;
    await second.stop();

    const third = plant.startAgent({ UPLINKS_FILE: file, MQTT_CLIENT_ID: "box-2" });
    const refused = await until(
      "the refusal is told",
      async () => /^.*REFUSED: .*$/m.exec(await status())?.[0],
      deadlineMs(90_000),
    );
    assert.match(refused, /boxes\/box-1\/plant\//);
    await third.stop();
  });
