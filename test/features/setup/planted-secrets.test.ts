/** What set-up asks elsewhere, states of nodes, Modbus and a running agent's support bundle: no secret may come out of any of them. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { echoingBroker, listening } from "../../support/echoing-broker.ts";
import { hasFeature } from "../../support/features.ts";
import { httpPort, leakIn, plantedAgent, siteDirectory } from "../../support/planted-secrets.ts";
import { runCommand } from "../../support/run-command.ts";
import { waitUntil } from "../../support/wait-until.ts";

const HEADER = "tok-7f3a91c2e5d84b06";
const PASSWORDS = ["ma1n-br0ker/pa55", "upl1nk-br0ker+pa55"] as const;
const USER = "usr-t0ken-of-the-cloud";
const TYPED = "typed-t0ken-of-a-browser";
const LOGIN = "anal1tics/pa55word";
const SESSION = "sess10n-0123456789ab";
const HTTP_TOKEN = "http-t0ken-that-may-all";
const SECRETS = [HEADER, ...PASSWORDS, USER, TYPED, LOGIN, SESSION, HTTP_TOKEN];

const answerOf = (status: number, description: string, value: unknown) =>
  JSON.stringify([{ Key: { StatusNumber: status, Description: description }, Value: value }]);

/** Texts of records of the day and of a node's state are what it was sent; other operations are refused with it. */
function echoingGateway(t: TestContext): Promise<number> {
  return httpPort(t, (request, response) => {
    request.resume();
    const echoed = `${String(request.headers["x-api-key"])} ${Buffer.from(HEADER).toString("base64")}`;
    const time_data = `/Date(${Date.now() - 60_000})/`;
    const path = request.url ?? "";
    const record = { sensor_code: "1001", time_data, FW: echoed, device: echoed, [echoed]: echoed };
    if (path.endsWith("getNodeState")) response.end(answerOf(0, "OK", [record]));
    else if (path.endsWith("getRPMData"))
      response.end(answerOf(0, "OK", [{ ...record, RPM: 1480, battery: echoed }]));
    else response.end(answerOf(17, `denied ${echoed}`, []));
  });
}

/** Takes the log-in, names devices after its session, and then refuses with all it was given. */
function echoingAnalytics(t: TestContext): Promise<number> {
  return httpPort(t, (request, response) => {
    let body = "";
    request.on("data", (piece) => {
      body += piece;
    });
    request.on("end", () => {
      const path = request.url ?? "";
      if (path.endsWith("Login")) response.end(answerOf(0, "OK", [{ Token: SESSION, Name: body }]));
      else if (path.endsWith("GetDevices"))
        response.end(answerOf(0, "OK", [{ code: "77", type: 40, name: body, description: body }]));
      else response.end(answerOf(17, `${LOGIN} ${body}`, []));
    });
  });
}

/** A device that answers each question with bytes that are none. */
const notModbus = (t: TestContext) =>
  listening(t, (socket) => {
    socket.on("data", () => socket.write(`HTTP/1.1 400 ${HEADER} ${PASSWORDS[0]}\r\n\r\n`));
  });

/** An exception 4 with text behind it. */
const failingModbus = (t: TestContext) =>
  listening(t, (socket) => {
    socket.on("data", (asked: Buffer) => {
      const text = Buffer.from(HEADER);
      const head = Buffer.from([0, 0, 0, 0, 0, 3 + text.length, asked[6] ?? 1, 0x83, 4]);
      asked.copy(head, 0, 0, 2);
      socket.write(Buffer.concat([head, text]));
    });
  });

/** All registers from 0 on that the server has, as bytes. */
async function registersOf(address: string): Promise<Buffer> {
  const [host, port] = address.split(":");
  const socket = connect(Number(port), host);
  const read = (from: number) =>
    new Promise<Buffer>((resolve) => {
      socket.once("data", resolve);
      socket.write(Buffer.from([0, 1, 0, 0, 0, 6, 1, 3, from >> 8, from & 255, 0, 2]));
    });
  const pieces: Buffer[] = [];
  for (let from = 0; from < 200; from += 2) {
    const answer = await read(from);
    if (answer[7] === 3) pieces.push(answer.subarray(9));
  }
  socket.destroy();
  return Buffer.concat(pieces);
}

async function openPlanted(t: TestContext) {
  const { port, seen } = await echoingBroker(t);
  const registers = [{ address: 1, type: "uint16", value: "word" }];
  const via = "modbus";
  const stateReads = [
    { operation: "getNodeState", fields: { firmware: { from: "FW" } } },
    { operation: "getOther", fields: { other: { from: "x" } } },
    { via, url: `tcp://127.0.0.1:${await notModbus(t)}`, registers },
    {
      via,
      url: `tcp://127.0.0.1:${await failingModbus(t)}`,
      registers: [{ ...registers[0], value: "other_word" }],
    },
  ];
  const directory = siteDirectory(t, {
    type: 40,
    kinds: ["rpm"],
    ...(hasFeature("nodes") && { stateReads }),
  });
  writeFileSync(join(directory, "cloud.password"), PASSWORDS[1]);
  const cloud = {
    name: "cloud",
    url: `mqtt://127.0.0.1:${port}`,
    version: 5,
    clientId: "cloud-1",
    username: USER,
    passwordFile: "cloud.password",
    formats: ["json"],
    topicPrefix: "cloud",
  };
  writeFileSync(join(directory, "uplinks.json"), JSON.stringify({ uplinks: [cloud] }));
  const { env, agent, logger, end } = await plantedAgent(
    t,
    {
      GATEWAY_URL: `http://127.0.0.1:${await echoingGateway(t)}`,
      GATEWAY_HEADERS: `X-Api-Key: ${HEADER}`,
      MQTT_URL: `mqtt://127.0.0.1:${port}`,
      MQTT_VERSION: "5",
      MQTT_USERNAME: "plant",
      MQTT_PASSWORD: PASSWORDS[0],
      UPLINKS_FILE: "uplinks.json",
      HTTP_TOKEN,
      SETUP_ENABLED: "true",
      MODBUS_PORT: "0",
    },
    directory,
  );
  const ask = async (method: "GET" | "POST" | "PUT", path: string, body?: object, hash = "") => {
    const answer = await fetch(`${agent.address}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${HTTP_TOKEN}`,
        "content-type": "application/json",
        ...(hash === "" ? {} : { "if-match": `"${hash}"` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.status, text: await answer.text() };
  };
  return { directory, env, cloud, agent, logger, seen, ask, end };
}

test("planted secrets – set-up, node states, Modbus and the bundle of a running agent leak none", async (t) => {
  const { directory, env, cloud, agent, logger, seen, ask, end } = await openPlanted(t);
  const outputs: Record<string, string> = {};
  const see = async (method: "GET" | "POST" | "PUT", path: string, body?: object, hash = "") => {
    const { status, text } = await ask(method, path, body, hash);
    outputs[`${method} ${path} ${Object.keys(outputs).length}`] = text;
    return { status, text };
  };
  await waitUntil("both brokers received a password", () => seen.passwords.size === 2);
  assert.deepEqual([...seen.passwords].sort(), [...PASSWORDS].sort());
  if (hasFeature("nodes"))
    await waitUntil("the states of the node were read", async () =>
      (await ask("GET", "/api/v1/readings?sensor=1001&kind=node")).text.includes("firmware"),
    );

  for (const path of ["setup", "setup/site", "setup/uplinks", "setup/schemas"])
    assert.equal((await see("GET", `/api/v1/${path}`)).status, 200, path);
  for (const kind of ["rpm", "accel"]) {
    const sensor = { code: "1001", type: kind === "rpm" ? 40 : 3, kinds: [kind] };
    const probed = await see("POST", "/api/v1/setup/probe", { sensor, kind });
    assert.equal(probed.status, 200, probed.text);
    assert.match(probed.text, kind === "rpm" ? /"records":1/ : /denied/);
  }
  const { content, hash } = JSON.parse(outputs["GET /api/v1/setup/uplinks 2"] ?? "{}");
  const [hidden] = content.uplinks;
  for (const uplink of [hidden, { ...cloud, username: TYPED }]) {
    const tried = await see("POST", "/api/v1/setup/uplinks/test", { uplink });
    assert.equal(tried.status, 200, tried.text);
    // It repeats what the broker says, or there would be nothing to take out.
    assert.match(tried.text, /"ok":false.*it sent: [^"]*\*\*\*/);
  }
  const wrong = { uplinks: [{ ...cloud, username: TYPED, password: PASSWORDS[1], inflight: "x" }] };
  assert.match((await see("POST", "/api/v1/setup/uplinks/check", wrong)).text, /"faults":\[\{/);
  assert.equal((await see("PUT", "/api/v1/setup/uplinks", wrong, hash)).status, 422);
  const saved = { uplinks: [{ ...cloud, username: TYPED }] };
  assert.equal((await see("PUT", "/api/v1/setup/uplinks", saved, hash)).status, 200);
  await see("GET", "/api/v1/setup/uplinks/versions");
  assert.equal((await see("GET", "/api/v1/setup/uplinks/versions/1")).status, 200);

  if (hasFeature("discover")) {
    const url = `http://127.0.0.1:${await echoingAnalytics(t)}`;
    const login = { url, email: "me@plant.example", password: LOGIN };
    assert.equal((await see("POST", "/api/v1/setup/discover", login)).status, 202);
    await waitUntil("the survey ended", async () => {
      const { text } = await ask("GET", "/api/v1/setup/discover");
      return !text.includes('"running"');
    });
    assert.match((await see("GET", "/api/v1/setup/discover")).text, /"found"/);
    assert.equal((await see("POST", "/api/v1/setup/discover/draft", {})).status, 200);
  }

  for (const path of ["status", "faults", "sensors", "audit", "readings?sensor=1001&kind=node"])
    await see("GET", `/api/v1/${path}`);
  await see("GET", "/metrics");
  const { modbus } = agent.status() as { modbus?: { readonly address: string } };
  if (modbus !== undefined) {
    const registers = await registersOf(modbus.address);
    assert.ok(registers.length > 20);
    outputs["registers"] = registers.toString("latin1");
  }
  for (const [name, words] of Object.entries({
    doctor: ["doctor", "--bundle", "bundle.gz"],
    probe: ["probe", "1001", "--kind", "node"],
    check: ["check", "--json"],
    status: ["status"],
  })) {
    const { stdout, stderr } = await runCommand(words, { env, cwd: directory });
    outputs[name] = stdout + stderr;
  }
  const bundle = gunzipSync(readFileSync(join(directory, "bundle.gz"))).toString();
  assert.match(bundle, /"isConnected"/, "the running agent's view is in the bundle");
  outputs["bundle"] = bundle;
  await end();
  outputs["log"] = JSON.stringify(logger.lines);
  if (hasFeature("nodes")) assert.match(outputs["doctor"] ?? "", /exception 4/);
  for (const [where, text] of Object.entries(outputs))
    assert.equal(leakIn(text, SECRETS), null, where);
});
