/** Certificates and passwords that are renewed in their files while the built agent runs, over a real broker with TLS. */
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { type Certificates, createCertificates } from "../support/certificates.ts";
import { deadlineMs } from "../support/deadline.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { type BuiltAgent, type Plant, skipWithoutBuild, startPlant } from "../support/plant.ts";
import { runCommand } from "../support/run-command.ts";
import { until } from "../support/wait-until.ts";

const options = { skip: skipWithoutBuild || skipWithoutMosquitto, timeout: deadlineMs(90_000) };

const FILES = ["ca", "cert", "key", "password"] as const;

/** Copies of what the broker of the plant accepts, as the agent's own files. */
async function plantWithTls(t: TestContext) {
  const plant = await startPlant(t, {
    simulator: { sensors: 1 },
    broker: { tls: { requireClientCert: true }, passwords: { box: "first-password" } },
    env: { RECONNECT_SPREAD_S: "1", MQTT_USERNAME: "box" },
  });
  const directory = dirname(plant.siteFile);
  const [ca, cert, key, password] = FILES.map((name) => join(directory, `mine.${name}`)) as [
    string,
    string,
    string,
    string,
  ];
  const install = (made: Certificates, secret: string) => {
    cpSync(made.caFile, ca);
    cpSync(made.clientCertFile, cert);
    cpSync(made.clientKeyFile, key);
    writeFileSync(password, `${secret}\n`);
  };
  const { certificates } = plant.broker;
  assert.ok(certificates);
  install(certificates, "first-password");
  return { plant, certificates, install, ca, cert, key, password };
}

/** A CA, certificates and keys that have nothing in common with the former ones but their names. */
function otherCertificates(t: TestContext): Certificates {
  const directory = mkdtempSync(join(tmpdir(), "gateside-renewed-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return createCertificates(directory);
}

const connects = (agent: BuiltAgent) =>
  agent.log.filter(({ msg }) => msg === "mqtt connected").length;

const reload = (plant: Plant, env: Record<string, string>) =>
  runCommand(["reload"], { env: { ...plant.env, ...env } });

for (const uplink of ["main", "cloud"] as const)
  test(
    `credentials – the uplink ${uplink} takes a renewed CA, certificate, key and password with its next attempt; a reload counts them, and then finds nothing`,
    options,
    async (t) => {
      const { plant, certificates, install, ca, cert, key, password } = await plantWithTls(t);
      const env: Record<string, string> = { MQTT_URL: "", MQTT_USERNAME: "" };
      if (uplink === "main") {
        Object.assign(env, { MQTT_URL: plant.broker.url, MQTT_USERNAME: "box" });
        Object.assign(env, { MQTT_CA_FILE: ca, MQTT_CERT_FILE: cert, MQTT_KEY_FILE: key });
        env["MQTT_PASSWORD_FILE"] = password;
      } else {
        env["UPLINKS_FILE"] = join(dirname(plant.siteFile), "uplinks.json");
        const files = { caFile: ca, certFile: cert, keyFile: key, passwordFile: password };
        const one = { name: "cloud", url: plant.broker.url, username: "box", ...files };
        writeFileSync(env["UPLINKS_FILE"], JSON.stringify({ uplinks: [one] }));
      }
      const agent = plant.startAgent(env);
      await until("the first session", () => connects(agent) === 1 || undefined);

      const renewed = otherCertificates(t);
      await plant.broker.stop();
      cpSync(renewed.caFile, certificates.caFile);
      cpSync(renewed.serverCertFile, certificates.serverCertFile);
      cpSync(renewed.serverKeyFile, certificates.serverKeyFile);
      plant.broker.reload({ passwords: { box: "second-password" } });
      await plant.broker.restart();
      await until(
        "the former CA is refused",
        () => agent.log.some(({ reason }) => String(reason).includes("certificate")) || undefined,
      );
      install(renewed, "second-password");
      await until("a session with the renewed files", () => connects(agent) === 2 || undefined);

      const first = await reload(plant, env);
      assert.equal(first.code, 0, first.stderr);
      assert.match(first.stdout, new RegExp(`uplink ${uplink} changes`));
      assert.doesNotMatch(first.stdout, /second-password|restart/);
      await until("a session after the reload", () => connects(agent) === 3 || undefined);
      const second = await reload(plant, env);
      assert.match(second.stdout, /nothing/i);
      assert.equal(await agent.stop(), 0);
      assert.doesNotMatch(JSON.stringify(agent.log), /(first|second)-password/);
    },
  );
