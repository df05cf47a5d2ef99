/** How long certificates last, as the built agent tells it everywhere; over a real broker with TLS. */
import assert from "node:assert/strict";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import type { AgentStatus } from "../../src/core/agent-status.ts";
import { issue } from "../support/authority.ts";
import { deadlineMs } from "../support/deadline.ts";
import { startForwardProxy } from "../support/forward-proxy.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../support/plant.ts";
import { runCommand } from "../support/run-command.ts";
import { until } from "../support/wait-until.ts";

const options = { skip: skipWithoutBuild || skipWithoutMosquitto, timeout: deadlineMs(90_000) };

test(
  "certificates – status, doctor, faults, /readyz and the metric say the days left; only one that has ended counts as not ready",
  options,
  async (t) => {
    const plant = await startPlant(t, {
      simulator: { sensors: 1 },
      broker: { tls: { requireClientCert: true } },
      env: { RECONNECT_SPREAD_S: "1", MQTT_URL: "" },
    });
    const { certificates } = plant.broker;
    assert.ok(certificates);
    const directory = dirname(plant.siteFile);
    const ca = {
      certFile: certificates.caFile,
      keyFile: certificates.caFile.replace(".pem", ".key"),
      pem: "",
    };
    const show = async (daysAgo: number) => {
      const { certFile, keyFile } = issue(directory, ca, { name: "shown", days: 90, daysAgo });
      cpSync(certFile, certificates.serverCertFile);
      cpSync(keyFile, certificates.serverKeyFile);
      await plant.broker.restart();
    };
    await show(84.5);
    const copies = join(directory, "credentials");
    mkdirSync(copies);
    const mine = issue(directory, ca, { name: "mine", days: 21, daysAgo: 16.5 });
    const [certFile, keyFile] = [join(copies, "mine.pem"), join(copies, "mine.key")];
    cpSync(mine.certFile, certFile);
    cpSync(mine.keyFile, keyFile);
    const box = issue(directory, null, { name: "box", days: 30 });
    const cloud = { name: "cloud", url: plant.broker.url, caFile: ca.certFile, certFile, keyFile };
    const uplinks = join(directory, "uplinks.json");
    writeFileSync(uplinks, JSON.stringify({ uplinks: [cloud] }));
    const env = {
      UPLINKS_FILE: uplinks,
      CREDENTIALS_DIRECTORY: copies,
      HTTP_CERT_FILE: box.certFile,
      HTTP_KEY_FILE: box.keyFile,
    };
    const agent = plant.startAgent(env);
    const command = (...words: string[]) => runCommand(words, { env: { ...plant.env, ...env } });
    const status = async () => {
      const { stdout, code } = await command("status", "--json");
      return { code, status: JSON.parse(stdout) as AgentStatus };
    };
    await agent.address;
    const first = await until("a session, and a gateway", async () => {
      const now = await status();
      return now.code === 0 && now.status.links.every(({ isConnected }) => isConnected)
        ? now.status
        : undefined;
    });
    assert.deepEqual(
      first.certificates?.map(({ uplink, file, daysLeft, state }) => [
        uplink,
        file,
        daysLeft,
        state,
      ]),
      [
        ["cloud", "broker", 5, "ending"],
        ["cloud", "ca.pem", 3649, "valid"],
        ["cloud", "mine.pem", 4, "ending"],
        ["", "box.pem", 29, "valid"],
      ],
    );
    const shown = await command("status");
    assert.equal(shown.code, 0);
    assert.match(shown.stdout, /the broker's certificate of the uplink cloud ends in 5 days/);
    assert.match(shown.stdout, /mine\.pem .*ends in 4 days, on .*; renewed by a restart/);
    assert.match(shown.stdout, /renewed by a restart: "certFile" .*"keyFile"/);
    const doctor = await command("doctor");
    assert.equal(doctor.code, 0, doctor.stdout);
    assert.match(
      doctor.stdout,
      /^warning +certificate +the broker's certificate .* ends in 5 days/m,
    );
    assert.match(doctor.stdout, /^ok +certificate +box\.pem \(HTTP_CERT_FILE\) ends in 29 days/m);
    assert.match(
      doctor.stdout,
      /^ok +credentials +copies of the start.*renewed by a restart: .*"certFile"/m,
    );
    const reload = await command("reload");
    assert.match(
      reload.stdout,
      /copies of the start below \$CREDENTIALS_DIRECTORY, renewed by a restart: /,
    );

    const ask = async (path: string) => {
      const { request } = await import("node:http");
      return new Promise<{ code: number; text: string }>((resolve, reject) => {
        request({ socketPath: join(plant.dataDir, "gateside.sock"), path }, (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (part: string) => {
            text += part;
          });
          response.on("end", () => resolve({ code: response.statusCode ?? 0, text }));
        })
          .on("error", reject)
          .end();
      });
    };
    const ready = await ask("/readyz");
    assert.equal(ready.code, 200);
    assert.match(ready.text, /"certificates":\{"ok":true,"detail":"mine\.pem .* ends in 4 days/);
    const { text: metrics } = await ask("/metrics");
    const seconds = (labels: string) =>
      Number(
        new RegExp(`^gateside_certificate_expiry_seconds\\{${labels}.*\\} (.*)$`, "m").exec(
          metrics,
        )?.[1],
      );
    assert.ok(Math.abs(seconds('uplink="cloud",file="broker"') / 86_400 - 5.5) < 0.1);
    assert.ok(Math.abs(seconds('uplink="",file="box.pem"') / 86_400 - 30) < 0.1);
    const { text: faults } = await ask("/api/v1/faults");
    assert.match(
      faults,
      /certificate_ending.*The broker's certificate of the uplink cloud ends in/,
    );

    await show(91);
    await until("the end is told", async () => {
      const now = await ask("/readyz");
      return now.code === 503 && /the broker's certificate of .* ended on/.test(now.text)
        ? true
        : undefined;
    });
    const ended = await status();
    assert.equal(ended.code, 1);
    assert.match(ended.status.links[0]?.lastError ?? "", /^the broker's certificate ended on/);
    const after = await command("doctor");
    assert.equal(after.code, 1);
    assert.match(after.stdout, /^FAILED +certificate +the broker's certificate .* ended on/m);
    assert.equal(await agent.stop(), 0);
  },
);

for (const uplink of ["main", "cloud"] as const)
  test(
    `credentials – the uplink ${uplink} takes the renewed password of its proxy with its next attempt, and a reload counts it`,
    options,
    async (t) => {
      const plant = await startPlant(t, {
        simulator: { sensors: 1 },
        env: { RECONNECT_SPREAD_S: "1" },
      });
      const directory = dirname(plant.siteFile);
      const file = join(directory, "proxy.auth");
      const { port } = await startForwardProxy(t, "plant:second-password");
      const write = (password: string) =>
        writeFileSync(
          file,
          uplink === "main"
            ? `http://plant:${password}@127.0.0.1:${port}\n`
            : `plant:${password}\n`,
        );
      write("first-password");
      const env: Record<string, string> = { MQTT_URL: "" };
      if (uplink === "main")
        Object.assign(env, { MQTT_URL: plant.broker.url, MQTT_PROXY_FILE: file });
      else {
        env["UPLINKS_FILE"] = join(directory, "uplinks.json");
        const way = { proxy: `http://127.0.0.1:${port}`, proxyAuthFile: file };
        const one = { name: "cloud", url: plant.broker.url, ...way };
        writeFileSync(env["UPLINKS_FILE"], JSON.stringify({ uplinks: [one] }));
      }
      const agent = plant.startAgent(env);
      const logged = (what: RegExp) =>
        agent.log.filter(({ msg, reason }) => what.test(`${msg} ${reason}`)).length;
      await until("the former password is refused", () => logged(/HTTP 407/) > 0 || undefined);
      write("second-password");
      await until(
        "a session with the renewed one",
        () => logged(/mqtt connected/) === 1 || undefined,
      );
      const reload = () => runCommand(["reload"], { env: { ...plant.env, ...env } });
      const first = await reload();
      assert.match(first.stdout, new RegExp(`uplink ${uplink} changes.*: .*proxy`));
      assert.match((await reload()).stdout, /nothing/i);
      assert.equal(await agent.stop(), 0);
      assert.doesNotMatch(`${JSON.stringify(agent.log)}${first.stdout}`, /(first|second)-password/);
    },
  );
