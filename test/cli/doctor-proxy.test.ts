import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { mosquittoFor } from "../support/brokers.ts";
import { deadlineMs } from "../support/deadline.ts";
import { startForwardProxy } from "../support/forward-proxy.ts";
import { skipWithoutMosquitto as skip } from "../support/mosquitto.ts";
import { runCommand } from "../support/run-command.ts";
import { tempDirectory } from "../support/temp-database.ts";

test("doctor – main and an uplink reach their broker through the proxy, and its password is never shown", {
  skip,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const broker = await mosquittoFor(t, { tls: {} });
  const caFile = broker.certificates?.caFile ?? "";
  const proxy = await startForwardProxy(t, "plant:p4ssword-of-the-proxy");
  const cwd = tempDirectory(t);
  const sensors = [{ code: "1", type: 40, kinds: ["rpm"] }];
  writeFileSync(join(cwd, "site.json"), JSON.stringify({ site: "s", sensors }));
  const doctor = async (login: string) => {
    writeFileSync(join(cwd, "proxy.auth"), `${login}\n`);
    const way = { proxy: `http://127.0.0.1:${proxy.port}`, proxyAuthFile: "proxy.auth" };
    const cloud = { name: "cloud", url: broker.url, caFile, ...way };
    writeFileSync(join(cwd, "uplinks.json"), JSON.stringify({ uplinks: [cloud] }));
    const env = {
      GATEWAY_URL: "http://127.0.0.1:9",
      SITE_FILE: "site.json",
      UPLINKS_FILE: "uplinks.json",
      MQTT_URL: broker.url,
      MQTT_CA_FILE: caFile,
      MQTT_PROXY: `http://${login}@127.0.0.1:${proxy.port}`,
    };
    const { stdout, stderr } = await runCommand(["doctor"], { env, cwd });
    assert.doesNotMatch(`${stdout}${stderr}`, /p4ssword/);
    return stdout;
  };
  const good = await doctor("plant:p4ssword-of-the-proxy");
  assert.match(good, /^ok +broker +.*connected/m);
  assert.match(good, /^ok +broker cloud +.*connected/m);
  const target = `CONNECT 127.0.0.1:${broker.port}`;
  assert.deepEqual(proxy.asked, [target, target]);
  const wrong = await doctor("plant:wrong-p4ssword");
  assert.match(wrong, /^FAILED +broker .*407.*MQTT_PROXY/m);
  assert.match(wrong, /^FAILED +broker cloud .*407.*"proxy" \(uplink cloud in UPLINKS_FILE\)/m);
});
