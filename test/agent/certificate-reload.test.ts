/** A certificate that was replaced while the built agent runs, taken by `gateside reload`. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { test } from "node:test";
import { connect } from "node:tls";
import { deadlineMs } from "../support/deadline.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../support/plant.ts";
import { runCommand } from "../support/run-command.ts";

const options = { skip: skipWithoutMosquitto || skipWithoutBuild, timeout: deadlineMs(60_000) };

/** Fingerprint of the certificate that the server at an address shows. */
function shownBy(address: string): Promise<string> {
  const { hostname: host, port } = new URL(address);
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: Number(port), rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256);
      socket.destroy();
    }).once("error", reject);
  });
}

test(
  "certificate – gateside reload loads a replaced certificate and key at once",
  options,
  async (t) => {
    const plant = await startPlant(t, { simulator: { sensors: 1 } });
    const cwd = dirname(plant.siteFile);
    const make = async () => {
      const made = await runCommand(["certificate", "--host", "127.0.0.1", "--replace"], { cwd });
      assert.equal(made.code, 0, made.stderr);
      return readFileSync(`${cwd}/gateside.cert.pem`, "utf8");
    };
    await make();
    const own = {
      HTTP_PORT: "0",
      HTTP_CERT_FILE: `${cwd}/gateside.cert.pem`,
      HTTP_KEY_FILE: `${cwd}/gateside.key.pem`,
    };
    const address = await plant.startAgent(own).address;
    const before = await shownBy(address);
    await make();
    const reload = await runCommand(["reload"], { env: { ...plant.env, ...own } });
    assert.equal(reload.code, 0, reload.stderr);
    assert.notEqual(await shownBy(address), before);
  },
);
