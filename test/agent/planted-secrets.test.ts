/** A gateway that echoes what it was sent, in every place that the agent shows: no secret may come out anywhere. */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { Aedes } from "aedes";
import { openAgent } from "../../src/agent/agent.ts";
import { agentConfiguration } from "../support/agent-configuration.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { runCommand } from "../support/run-command.ts";
import { waitUntil } from "../support/wait-until.ts";

const HEADER = "tok-7f3a91c2e5d84b06";
const PASSWORD = "pa55-Wz8+kq/Lm4t";
const BASIC = Buffer.from(`plant:${PASSWORD}`).toString("base64");

const encodings = (secret: string) => [
  secret,
  Buffer.from(secret).toString("base64"),
  Buffer.from(`x${secret}`).toString("base64"),
  encodeURIComponent(secret),
  Buffer.from(secret).toString("hex"),
  secret.slice(0, 11),
];

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

/** A broker that hands on all it is told; answers its address. */
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
  const server = createServer((request, response) => {
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
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, asked };
}

/** Every six characters in a row of a secret in any encoding count as a leak, if they are not of its first seven. */
function leakIn(output: string): string | null {
  for (const secret of [HEADER, PASSWORD, BASIC]) {
    for (const form of encodings(secret)) {
      const at = output.indexOf(form.slice(0, 8));
      if (at >= 0) return output.slice(Math.max(0, at - 60), at + 60);
    }
  }
  return null;
}

for (const [index, [name, echo]] of Object.entries(ECHOES).entries()) {
  // Each starts seconds of programs: one sees every encoding, the others one each.
  const forms = name === "a Key.Description" ? [0, 1, 2, 3, 4, 5] : [index % 6];
  test(`planted secrets – ${name} leaks none into log, status, doctor, probe, bundle or messages`, async (t) => {
    const directory = mkdtempSync(join(tmpdir(), "gateside-secrets-"));
    t.after(() => rmSync(directory, { recursive: true, force: true }));
    const sensors = [{ code: "1001", type: 3, kinds: ["accel"] }];
    writeFileSync(join(directory, "site.json"), JSON.stringify({ site: "plant", sensors }));
    const said: string[] = [];
    const broker = await listeningBroker(t, (text) => said.push(text));
    for (const form of forms) {
      const { port, asked } = await echoingGateway(t, echo, form);
      const env = {
        GATEWAY_URL: `http://plant:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}`,
        GATEWAY_HEADERS: `X-Api-Key: ${HEADER}`,
        GATEWAY_TIMEZONE: "UTC",
        MQTT_URL: broker,
        MQTT_VERSION: "4",
        SITE_FILE: "site.json",
        DATA_DIR: `data-${form}`,
        HTTP_PORT: "0",
        BACKFILL_DAYS: "0",
        PUBLISH_RAW: "true",
        PUBLISH_FORMATS: "json,sparkplug",
      };
      const { configuration } = agentConfiguration(env, directory);
      const logger = new RecordingLogger();
      const agent = await openAgent({ ...configuration, logger });
      const stop = new AbortController();
      const running = agent.run(stop.signal);
      await waitUntil(
        "a call of the gateway",
        () => {
          const { lastAnswerAtMs, lastError } = agent.status().gateway;
          return lastAnswerAtMs !== null || lastError !== null;
        },
        10_000,
      );
      assert.ok(asked[0]?.includes(PASSWORD), "the gateway was not sent what it echoes");
      const get = async (path: string) => (await fetch(`${agent.address}${path}`)).text();
      const outputs: Record<string, string> = {
        status: JSON.stringify(agent.status()),
        "/api/v1/status": await get("/api/v1/status"),
        "/api/v1/faults": await get("/api/v1/faults"),
        "/api/v1/sensors": await get("/api/v1/sensors"),
        "/readyz": await get("/readyz"),
        "/metrics": await get("/metrics"),
        log: JSON.stringify(logger.lines),
      };
      const doctor = await runCommand(["doctor", "--bundle", `bundle-${form}.gz`], {
        env: { ...env, DATA_DIR: `doctor-${form}` },
        cwd: directory,
      });
      outputs["doctor"] = doctor.stdout + doctor.stderr;
      outputs["bundle"] = gunzipSync(readFileSync(join(directory, `bundle-${form}.gz`))).toString();
      const probe = await runCommand(["probe", "1001"], { env, cwd: directory });
      outputs["probe"] = probe.stdout + probe.stderr;
      stop.abort();
      await running;
      outputs["log"] = JSON.stringify(logger.lines);
      outputs["messages"] = said.join("\n");
      for (const [where, text] of Object.entries(outputs)) {
        assert.equal(leakIn(text), null, `${where}, encoding ${form}`);
      }
    }
  });
}
