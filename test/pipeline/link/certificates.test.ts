/** What an operator is told about certificates, by what a real broker with TLS shows. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Certificate } from "../../../src/core/status/certificate.ts";
import type { MqttLinkOptions } from "../../../src/pipeline/link/link-options.ts";
import { probeAddress } from "../../../src/pipeline/link/probe-address.ts";
import { isReachable } from "../../../src/pipeline/link/return-to-own.ts";
import { type Issued, type Issuing, issue } from "../../support/authority.ts";
import { mosquittoFor } from "../../support/brokers.ts";
import { deadlineMs } from "../../support/deadline.ts";
import { startForwardProxy } from "../../support/forward-proxy.ts";
import { linkFor } from "../../support/link.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { freePort, skipWithoutMosquitto as skip } from "../../support/mosquitto.ts";
import { waitUntil } from "../../support/wait-until.ts";

const options = { skip, timeout: deadlineMs(60_000) };
const NEVER = new AbortController().signal;

function workshop(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), "gateside-chain-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return {
    make: (issuer: Issued | null, issuing: Issuing) => issue(directory, issuer, issuing),
    file(name: string, ...texts: string[]) {
      const path = join(directory, name);
      writeFileSync(path, texts.join(""));
      return path;
    },
  };
}

interface Shown {
  /** What the broker sends, and the key of the first. */
  readonly chainFile: string;
  readonly keyFile: string;
  readonly clientCaFile?: string;
  readonly websockets?: boolean;
}

/** A broker that shows exactly this chain: its address. */
async function brokerWith(t: TestContext, shown: Shown): Promise<string> {
  const port = await freePort();
  const lines = [
    `listener ${port}${shown.websockets ? "" : " 127.0.0.1"}`,
    ...(shown.websockets ? ["protocol websockets"] : []),
    `certfile ${shown.chainFile}`,
    `keyfile ${shown.keyFile}`,
    ...(shown.clientCaFile === undefined
      ? []
      : [`cafile ${shown.clientCaFile}`, "require_certificate true"]),
  ];
  await mosquittoFor(t, { config: lines });
  await waitUntil("the listener with TLS", () => isReachable(`mqtt://127.0.0.1:${port}`));
  return `${shown.websockets ? "wss" : "mqtts"}://localhost:${port}`;
}

interface Try {
  readonly ca?: string;
  readonly cert?: Issued;
  readonly proxy?: string;
  readonly more?: Partial<MqttLinkOptions>;
}

async function attempt(url: string, { ca, cert, proxy, more }: Try) {
  const seen: (readonly Certificate[])[] = [];
  const result = await probeAddress(
    {
      name: "mqtt",
      urls: [url],
      version: 5,
      clientId: "box",
      inflight: 1,
      onCertificates: (chain) => seen.push(chain),
      tls: {
        ...(ca === undefined ? {} : { ca }),
        ...(cert === undefined ? {} : { cert: cert.pem, key: readFileSync(cert.keyFile, "utf8") }),
      },
      ...(proxy === undefined ? {} : { proxy }),
      ...more,
    },
    url,
    NEVER,
  );
  return { text: "failure" in result ? result.failure.text : "connected", seen };
}

test(
  "certificates – the advice names the CA that is missing, and MQTT_CA_FILE only where it lacks it",
  options,
  async (t) => {
    const { make, file } = workshop(t);
    const root = make(null, { name: "root", subject: "Plant Root", isCa: true });
    const middle = make(root, { name: "middle", subject: "Plant Issuing", isCa: true });
    const server = make(middle, { name: "server", subject: "broker" });
    const foreign = make(null, { name: "foreign", subject: "Other Root", isCa: true });
    const namesake = make(null, { name: "namesake", subject: "Plant Root", isCa: true });
    const { keyFile } = server;
    const whole = await brokerWith(t, {
      chainFile: file("whole.pem", server.pem, middle.pem),
      keyFile,
    });
    const alone = await brokerWith(t, { chainFile: server.certFile, keyFile });
    const rooted = await brokerWith(t, {
      chainFile: file("rooted.pem", server.pem, middle.pem, root.pem),
      keyFile,
    });

    const good = await attempt(whole, { ca: root.pem });
    assert.equal(good.text, "connected");
    assert.deepEqual(
      good.seen.map((chain) => chain.map(({ subject }) => subject)),
      [["broker", "Plant Issuing", "Plant Root"]],
    );
    assert.equal((await attempt(alone, { ca: root.pem + middle.pem })).text, "connected");

    // One after the other: reading the public authorities takes each some CPU, and a look at a chain has its own limit.
    const texts: Awaited<ReturnType<typeof attempt>>[] = [];
    for (const [url, tried] of [
      [whole, { ca: foreign.pem }],
      [rooted, { ca: foreign.pem }],
      [rooted, { ca: namesake.pem }],
      [whole, { ca: namesake.pem }],
      [alone, { ca: root.pem }],
      [alone, { ca: middle.pem }],
      [rooted, {}],
    ] as const)
      texts.push(await attempt(url, tried));
    const [unknown, unknownRoot, renewedRoot, otherKey, noMiddle, noRoot, noFile] = texts.map(
      ({ text }) => text,
    );
    assert.match(
      unknown ?? "",
      /signed by the CA "Plant Root", which MQTT_CA_FILE does not contain/,
    );
    assert.match(unknownRoot ?? "", /unknown CA "Plant Root": MQTT_CA_FILE must contain that CA$/);
    assert.match(renewedRoot ?? "", /a new "Plant Root"; MQTT_CA_FILE contains an older one/);
    assert.match(otherKey ?? "", /another key than that of the CA "Plant Root" in MQTT_CA_FILE/);
    assert.match(noMiddle ?? "", /"Plant Issuing".*if it is an intermediate one, the broker must/);
    assert.match(noRoot ?? "", /contains the CA "Plant Issuing" but not "Plant Root"/);
    assert.match(noFile ?? "", /unknown CA "Plant Root": set MQTT_CA_FILE to a file with that CA$/);
    for (const { seen } of texts) assert.equal(seen[0]?.[0]?.subject, "broker");
  },
);

test(
  "certificates – whose has ended, for which names it is, and that it is self-signed",
  options,
  async (t) => {
    const { make } = workshop(t);
    const root = make(null, { name: "root", subject: "Plant Root", isCa: true });
    const shown = (issued: Issued) => ({ chainFile: issued.certFile, keyFile: issued.keyFile });
    const ended = await brokerWith(t, shown(make(root, { name: "ended", days: 90, daysAgo: 100 })));
    const oldRoot = make(null, {
      name: "old",
      subject: "Old Root",
      isCa: true,
      days: 90,
      daysAgo: 99,
    });
    const underOld = await brokerWith(t, shown(make(oldRoot, { name: "under-old" })));
    const elsewhere = await brokerWith(
      t,
      shown(make(root, { name: "elsewhere", hosts: "DNS:a.example,DNS:b.example" })),
    );
    const selfSigned = await brokerWith(t, shown(make(null, { name: "self", subject: "broker" })));
    const texts = await Promise.all([
      attempt(ended, { ca: root.pem }),
      attempt(underOld, { ca: oldRoot.pem }),
      attempt(elsewhere, { ca: root.pem }),
      attempt(selfSigned, { ca: root.pem }),
      attempt(selfSigned, {}),
    ]);
    assert.match(
      texts[0]?.text ?? "",
      /^the broker's certificate ended on \d{4}-\d\d-\d\d: renew it/,
    );
    assert.match(texts[1]?.text ?? "", /^the CA "Old Root" in MQTT_CA_FILE ended on \d{4}/);
    assert.match(
      texts[2]?.text ?? "",
      /is for a\.example, b\.example, not for localhost: MQTT_URL/,
    );
    assert.match(
      texts[3]?.text ?? "",
      /certificate "broker" is self-signed, and MQTT_CA_FILE contains only "Plant Root": add the/,
    );
    assert.match(
      texts[4]?.text ?? "",
      /"broker" is self-signed: set MQTT_CA_FILE to a file with it$/,
    );
  },
);

test(
  "certificates – ours: missing, of an unknown CA, ended, or with a key of another",
  options,
  async (t) => {
    const { make } = workshop(t);
    const root = make(null, { name: "root", subject: "Plant Root", isCa: true });
    const server = make(root, { name: "server" });
    const url = await brokerWith(t, {
      chainFile: server.certFile,
      keyFile: server.keyFile,
      clientCaFile: root.certFile,
    });
    const foreign = make(null, { name: "foreign", subject: "Other Root", isCa: true });
    const mine = make(root, { name: "mine" });
    const ca = root.pem;
    const failure = async (given: Try) => (await attempt(url, { ca, ...given })).text;
    assert.equal(await failure({ cert: mine }), "connected");
    assert.match(await failure({}), /requires a client certificate: set MQTT_CERT_FILE/);
    assert.match(
      await failure({ cert: make(foreign, { name: "stranger" }) }),
      /does not know "Other Root", the CA that signed our client certificate/,
    );
    assert.match(
      await failure({ cert: make(root, { name: "gone", days: 90, daysAgo: 91 }) }),
      /our client certificate, which ended on \d{4}-\d\d-\d\d: renew/,
    );
    const mixed = { ...mine, keyFile: server.keyFile };
    assert.match(await failure({ cert: mixed }), /MQTT_KEY_FILE is not the key of MQTT_CERT_FILE/);
    assert.match(
      await failure({ more: { restartFiles: ["MQTT_CERT_FILE"], uplink: "cloud" } }),
      /"certFile".*a copy below \$CREDENTIALS_DIRECTORY, renewed by a restart \(uplink cloud/,
    );
  },
);

test(
  "certificates – the chain is seen over web sockets and through a proxy, and a wrong name is refused there too",
  options,
  async (t) => {
    const { make } = workshop(t);
    const root = make(null, { name: "root", subject: "Plant Root", isCa: true });
    const right = make(root, { name: "right" });
    const wrong = make(root, { name: "wrong", hosts: "DNS:a.example" });
    const { port } = await startForwardProxy(t, "plant:secret", {});
    const proxy = `http://plant:secret@127.0.0.1:${port}`;
    for (const websockets of [false, true])
      for (const through of [{}, { proxy }]) {
        const shown = ({ certFile, keyFile }: Issued) => ({
          chainFile: certFile,
          keyFile,
          websockets,
        });
        const good = await attempt(await brokerWith(t, shown(right)), { ca: root.pem, ...through });
        assert.equal(good.text, "connected");
        assert.equal(good.seen[0]?.[0]?.subject, "right");
        const bad = await attempt(await brokerWith(t, shown(wrong)), { ca: root.pem, ...through });
        assert.match(bad.text, /is for a\.example, not for localhost/);
      }
  },
);

/** One address in front of brokers: a connection goes to the one that is `to` then. */
async function frontOf(t: TestContext, to: string) {
  const front = { to, url: "", connections: 0 };
  const server = createServer((socket) => {
    front.connections += 1;
    const broker = connect(Number(new URL(front.to).port), "127.0.0.1");
    socket.pipe(broker).pipe(socket);
    for (const [one, other] of [
      [socket, broker],
      [broker, socket],
    ] as const)
      one.on("error", () => {}).on("close", () => other.destroy());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(() => server.close());
  front.url = `mqtts://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return front;
}

test(
  "certificates – a renewal is noticed while the session lasts, and one that does not end soon is not looked at again",
  options,
  async (t) => {
    const { make } = workshop(t);
    const root = make(null, { name: "root", subject: "Plant Root", isCa: true });
    const showing = (issuing: Issuing) => {
      const { certFile, keyFile } = make(root, issuing);
      return brokerWith(t, { chainFile: certFile, keyFile });
    };
    const renewed = await showing({ name: "renewed", days: 90 });
    const front = await frontOf(t, await showing({ name: "ending", days: 90, daysAgo: 85 }));
    const clock = new ManualClock(Date.now());
    const { link } = linkFor(t, { url: front.url, tls: { ca: root.pem } }, { clock });
    assert.ok(await link.ready(NEVER));
    const subject = () => link.state.brokerCertificates?.[0]?.subject;
    assert.equal(subject(), "ending");
    front.to = renewed;
    await clock.advance(10 * 60_000);
    await waitUntil("a look at the renewed one", () => subject() === "renewed");
    const before = front.connections;
    await clock.advance(60 * 60_000);
    assert.ok(await isReachable(front.url));
    await waitUntil("our own connection", () => front.connections > before);
    assert.equal(front.connections, before + 1);
    assert.equal(link.session, 1);
  },
);
