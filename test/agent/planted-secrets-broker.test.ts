/** A broker, a webhook and a mail server that echo what they were given: no secret may come out anywhere. */

import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { brokerOptions } from "../../src/config/broker-options.ts";
import { profileOf } from "../../src/config/profiles.ts";
import { secretsOf } from "../../src/config/secrets-of.ts";
import { Delivery, type Send } from "../../src/features/notify/delivery.ts";
import { Digest } from "../../src/features/notify/digest.ts";
import { email } from "../../src/features/notify/email.ts";
import { webhook } from "../../src/features/notify/webhook.ts";
import { SecretGate } from "../../src/lib/secrets.ts";
import { echoingBroker, listening } from "../support/echoing-broker.ts";
import { httpPort, leakIn, plantedAgent, siteDirectory } from "../support/planted-secrets.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { runCommand } from "../support/run-command.ts";
import { waitUntil } from "../support/wait-until.ts";

const PASSWORD = "br0ker-pa55/w+rd";
const HOOK_TOKEN = "T02AB3CD4/hk-9f8e7d6c5b4a3210";

test("planted secrets – broker texts in CONNACK, PUBACK, SUBACK, DISCONNECT and commands leak none into log, status, doctor or commands", async (t) => {
  const directory = siteDirectory(t, { type: 3, kinds: ["accel"] });
  const { port, seen } = await echoingBroker(t, "-doctor");
  const gateway = await httpPort(t, (_request, response) => response.writeHead(503).end());
  const { env, logger, outputs, end } = await plantedAgent(
    t,
    {
      GATEWAY_URL: `http://127.0.0.1:${gateway}`,
      MQTT_URL: `mqtt://127.0.0.1:${port}`,
      MQTT_VERSION: "5",
      MQTT_USERNAME: "plant",
      MQTT_PASSWORD: PASSWORD,
      COMMANDS_ENABLED: "true",
      PUBLISH_FORMATS: "json,sparkplug",
    },
    directory,
  );
  await waitUntil("three CONNECTs", () => seen.connects >= 3 && seen.ended >= 1, 20_000);
  assert.ok(seen.passwords.has(PASSWORD));
  const shown = await outputs(
    "/api/v1/status",
    "/api/v1/faults",
    "/api/v1/audit",
    "/readyz",
    "/metrics",
  );
  const doctor = await runCommand(["doctor"], {
    env,
    cwd: directory,
  });
  shown["doctor"] = doctor.stdout + doctor.stderr;
  // It repeats what the broker says, or there would be nothing to take out.
  assert.match(shown["doctor"], /it sent: \*\*\*/);
  await end();
  shown["log"] = JSON.stringify(logger.lines);
  for (const [where, text] of Object.entries(shown))
    assert.equal(leakIn(text, [PASSWORD]), null, where);
});

/** What the log has of one delivery that fails. */
async function logOf(name: "webhook" | "email", send: Send): Promise<string> {
  const stop = new AbortController();
  const logger = new RecordingLogger();
  const clock = {
    now: () => 0,
    monotonic: () => 0,
    sleep: () => {
      stop.abort();
      return Promise.resolve();
    },
  };
  const delivery = new Delivery({
    name,
    send,
    clock,
    logger,
    digest: new Digest(0),
    togetherMax: 50,
    standing: () => [],
    memory: { get: () => null, set: () => {} },
  });
  const payload = () => "{}";
  delivery.add([
    { key: "1", rank: 1, isActive: true, timeMs: 0, text: "Warning", sensor: null, payload },
  ]);
  await delivery.run(stop.signal);
  return JSON.stringify(logger.lines);
}

test("planted secrets – a webhook that echoes its address in status line, body and redirect leaks none into the log", async (t) => {
  for (const status of [500, 302]) {
    const port = await httpPort(t, ({ url = "" }, response) => {
      response.writeHead(status, `no ${url.replaceAll("/", "-")}`, {
        location: `http://127.0.0.1:9${url}`,
      });
      response.end(url);
    });
    const log = await logOf(
      "webhook",
      webhook(
        {
          url: `http://127.0.0.1:${port}/services/${HOOK_TOKEN}`,
          headers: {},
          secret: null,
          ca: () => null,
          link: null,
        },
        () => "plant",
      ),
    );
    assert.match(log, /alarm webhook failed/);
    assert.equal(leakIn(log, HOOK_TOKEN.split("/")), null);
  }
});

test("planted secrets – a mail server that echoes the credentials leaks none into the log", async (t) => {
  const received: string[] = [];
  const port = await listening(t, (socket) => {
    socket.write("220 mail\r\n");
    createInterface({ input: socket }).on("line", (line) => {
      if (line.startsWith("EHLO")) socket.write("250-mail\r\n250 AUTH PLAIN LOGIN\r\n");
      else if (line.startsWith("AUTH")) {
        received.push(line);
        socket.write(`535 no ${PASSWORD} ${line}\r\n`);
      } else socket.write(`500 ${line}\r\n`);
    });
  });
  const url = `smtp://plant:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}`;
  const log = await logOf(
    "email",
    email(
      { url, from: "a@b.example", to: ["c@d.example"], zone: "UTC", link: null },
      () => "plant",
    ),
  );
  assert.match(log, /alarm email failed.*|EAUTH/);
  assert.ok(received.some((line) => Buffer.from(line.slice(11), "base64").includes(PASSWORD)));
  assert.equal(leakIn(log, [PASSWORD]), null);
});

test("planted secrets – the gate knows those of webhook, mailbox and proxy, and of each uplink", () => {
  const none = {
    gatewayHeaders: {},
    gatewayProxy: "http://px:pr0xy-pa55word@proxy.example:3128",
    mqttProxy: "http://mp:mqtt-pr0xy-pa55@proxy.example:3128",
    mqttUsername: null,
    mqttPassword: null,
    httpToken: null,
    httpViewToken: null,
    alarmWebhookUrl: `https://hooks.example/services/${HOOK_TOKEN}?key=0123456789abcdefXYZ`,
    alarmWebhookHeaders: { Authorization: "Bearer h00k-header-token" },
    alarmWebhookSecret: "h00k-signing-secret",
    heartbeatUrl: "https://watch.example/ping/hb-0123456789abcdef",
    alarmEmail: {
      url: `smtps://me:${encodeURIComponent(PASSWORD)}@mail.example`,
      from: "",
      to: [],
    },
  } as const;
  const uplink = {
    username: "up",
    password: "upl1nk-pa55word",
    sasKey: "c2Fza2V5LXNhc2tleQ==",
    proxy: "http://up:upl1nk-pr0xy-pa55@proxy.example:3128",
  };
  const gate = new SecretGate(secretsOf(none, [uplink]));
  const secrets = [
    "pr0xy-pa55word",
    "mqtt-pr0xy-pa55",
    "upl1nk-pr0xy-pa55",
    "up:upl1nk-pr0xy-pa55",
    "hk-9f8e7d6c5b4a3210",
    "0123456789abcdefXYZ",
    PASSWORD,
    "upl1nk-pa55word",
    "c2Fza2V5LXNhc2tleQ==",
    "h00k-header-token",
    "h00k-signing-secret",
    "hb-0123456789abcdef",
  ];
  for (const secret of [...secrets, `\0me\0${PASSWORD}`]) {
    const echoed = `${secret} ${Buffer.from(secret).toString("base64")} ${encodeURIComponent(secret)}`;
    assert.equal(leakIn(gate.redact(echoed), [secret]), null, secret);
  }
  assert.equal(
    gate.redact("hooks.example/services of mail.example"),
    "hooks.example/services of mail.example",
  );
});

test("planted secrets – a hub that echoes the token made from a device key gets it masked", {
  skip: profileOf("azure-iot") === null && "not built in",
}, () => {
  const options = brokerOptions(
    {
      name: "azure",
      urls: ["mqtts://hub.example:8883"],
      profile: "azure-iot",
      username: null,
      password: null,
      sasKey: Buffer.from("the key of the device").toString("base64"),
      tls: { caFile: null, certFile: null, keyFile: null },
    } as never,
    "box-1",
    null,
  );
  assert.ok(typeof options.password === "function");
  const token = options.password();
  const shown = options.redact?.(`refused: ${token}`) ?? "";
  assert.match(shown, /^refused: SharedAccessSignature sr=hub\.example/);
  assert.equal(leakIn(shown, [new URLSearchParams(token).get("sig") ?? ""]), null, shown);
});
