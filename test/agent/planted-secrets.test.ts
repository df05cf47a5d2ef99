/** A gateway that echoes what it was sent, in every place that the agent shows: no secret may come out anywhere. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { Aedes } from "aedes";
import {
  encodings,
  httpPort,
  leakIn,
  plantedAgent,
  siteDirectory,
} from "../support/planted-secrets.ts";
import { runCommand } from "../support/run-command.ts";
import { waitUntil } from "../support/wait-until.ts";

const HEADER = "tok-7f3a91c2e5d84b06";
const PASSWORD = "pa55-Wz8+kq/Lm4t";
const BASIC = Buffer.from(`plant:${PASSWORD}`).toString("base64");

type Echo = (response: ServerResponse, echoed: string, request: IncomingMessage) => void;
const page = (status: number): Echo => {
  return (response, echoed) => {
    response.statusCode = status;
    response.setHeader("Content-Type", "text/html");
    // A limit on length cuts the second one in two.
    response.end(`<html><b>${echoed}</b> ${"x".repeat(120)} ${echoed}</html>`);
  };
};
const envelope = (status: number, description: string, value: string) =>
  `[{"Key":{"StatusNumber":${status},"Description":${JSON.stringify(description)}},"Value":${value}}]`;
const ECHOES: Readonly<Record<string, Echo>> = {
  "a page with status 200": page(200),
  "a page with status 500": page(500),
  "a redirect": (response, echoed) => {
    response.statusCode = 302;
    response.setHeader("Location", `https://login.example/?next=${encodeURIComponent(echoed)}`);
    response.end();
  },
  "a Key.Description": (response, echoed) => response.end(envelope(17, `denied ${echoed}`, "[]")),
  "a content encoding": (response, echoed) => {
    response.setHeader("Content-Encoding", encodeURIComponent(echoed).slice(0, 60));
    response.end("[]");
  },
  "a record of another sensor": (response, echoed) =>
    response.end(envelope(0, "OK", `[{"sensor_code":${JSON.stringify(echoed)}},5,"${echoed}"]`)),
  "the texts of a record": (response, echoed) =>
    response.end(
      envelope(
        0,
        "OK",
        `[{"device":${JSON.stringify(echoed)},"note":{${JSON.stringify(echoed)}:"${echoed}"},"calibration":0.001,"sample_rate":6400,` +
          `"channel1":[1,2,3],"time_data":"/Date(${Date.now() - 60_000})/"}]`,
      ),
    ),
};

/** A broker that hands on every message it receives; returns its address. */
async function listeningBroker(t: TestContext, hear: (text: string) => void): Promise<string> {
  const broker = await Aedes.createBroker();
  broker.on("publish", ({ topic, payload }) =>
    hear(`${topic} ${Buffer.from(payload).toString("latin1")}`),
  );
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    broker.handle(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(async () => {
    await new Promise<void>((resolve) => broker.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function echoingGateway(t: TestContext, echo: Echo, form: number) {
  const asked: string[] = [];
  const port = await httpPort(t, (request, response) => {
    request.resume();
    request.on("end", () => {
      const { authorization = "" } = request.headers;
      const own = String(request.headers["x-api-key"] ?? "");
      const pair = Buffer.from(authorization.replace("Basic ", ""), "base64").toString();
      asked.push(pair);
      const secrets = [own, PASSWORD, pair].map((secret) => encodings(secret)[form] ?? secret);
      echo(response, `${secrets.join(" ")} ${authorization}`, request);
    });
  });
  return { port, asked };
}

for (const [index, [name, echo]] of Object.entries(ECHOES).entries()) {
  // Each starts seconds of programs: one sees every encoding, the others one each.
  const forms = name === "a Key.Description" ? [0, 1, 2, 3, 4, 5] : [index % 6];
  test(`planted secrets – ${name} leaks none into log, status, doctor, probe, bundle or messages`, async (t) => {
    const directory = siteDirectory(t, { type: 3, kinds: ["accel"] });
    const heard: string[] = [];
    const broker = await listeningBroker(t, (text) => heard.push(text));
    for (const form of forms) {
      const { port, asked } = await echoingGateway(t, echo, form);
      const { env, agent, logger, outputs, end } = await plantedAgent(
        t,
        {
          GATEWAY_URL: `http://plant:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}`,
          GATEWAY_HEADERS: `X-Api-Key: ${HEADER}`,
          MQTT_URL: broker,
          MQTT_VERSION: "4",
          DATA_DIR: `data-${form}`,
          PUBLISH_RAW: "true",
          PUBLISH_FORMATS: "json,sparkplug",
        },
        directory,
      );
      await waitUntil(
        "a call of the gateway",
        () => {
          const { lastAnswerAtMs, lastError } = agent.status().gateway;
          return lastAnswerAtMs !== null || lastError !== null;
        },
        10_000,
      );
      assert.ok(asked[0]?.includes(PASSWORD), "the gateway was not sent what it echoes");
      const shown = await outputs(
        "/api/v1/status",
        "/api/v1/faults",
        "/api/v1/sensors",
        "/readyz",
        "/metrics",
      );
      shown["log before the end"] = JSON.stringify(logger.lines);
      const doctor = await runCommand(["doctor", "--bundle", `bundle-${form}.gz`], {
        env: { ...env, DATA_DIR: `doctor-${form}` },
        cwd: directory,
      });
      shown["doctor"] = doctor.stdout + doctor.stderr;
      shown["bundle"] = gunzipSync(readFileSync(join(directory, `bundle-${form}.gz`))).toString();
      const probe = await runCommand(["probe", "1001"], { env, cwd: directory });
      shown["probe"] = probe.stdout + probe.stderr;
      await end();
      shown["log"] = JSON.stringify(logger.lines);
      shown["messages"] = heard.join("\n");
      for (const [where, text] of Object.entries(shown)) {
        assert.equal(leakIn(text, [HEADER, PASSWORD, BASIC]), null, `${where}, encoding ${form}`);
      }
    }
  });
}
