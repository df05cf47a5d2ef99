import assert from "node:assert/strict";
import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { request as requestTls } from "node:https";
import { connect as connectPlain, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { connect } from "node:tls";
import { requestAddress } from "../../src/cli/agent-request.ts";
import { createHttpServer } from "../../src/http/server.ts";
import { selfSignedCertificate } from "../../src/lib/self-signed.ts";
import { deadlineMs } from "../support/deadline.ts";
import { OPTIONS, testParts } from "../support/http-parts.ts";
import { RecordingLogger } from "../support/recording-logger.ts";

interface Pair {
  readonly cert: string;
  readonly key: string;
}

function makePair(): Pair {
  const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const cert = selfSignedCertificate(
    {
      name: "localhost",
      hosts: ["localhost"],
      notBefore: new Date(Date.now() - 1000),
      notAfter: new Date(Date.now() + 86_400_000),
    },
    keys,
  );
  return { cert, key: String(keys.privateKey.export({ type: "pkcs8", format: "pem" })) };
}

function place(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), "gateside-tls-"));
  const files = { certFile: join(directory, "c.pem"), keyFile: join(directory, "k.pem") };
  const write = ({ cert, key }: Pair) => {
    writeFileSync(files.certFile, cert);
    writeFileSync(files.keyFile, key);
  };
  const log = new RecordingLogger();
  const server = createHttpServer(testParts({ logger: log }), {
    ...OPTIONS,
    tls: files,
    socketPath: join(directory, "s.sock"),
    token: "t0ken-of-the-test",
  });
  t.after(() => server.close());
  return { directory, files, write, server, log };
}

/** Fingerprint of what the port shows. */
async function shown(address: string, maxVersion?: "TLSv1.1"): Promise<string> {
  const { port } = new URL(address);
  return new Promise((resolve, reject) => {
    const socket = connect(
      {
        host: "127.0.0.1",
        port: Number(port),
        rejectUnauthorized: false,
        ...(maxVersion && { maxVersion, minVersion: maxVersion }),
      },
      () => {
        resolve(socket.getPeerCertificate().fingerprint256);
        socket.destroy();
      },
    );
    socket.once("error", reject);
  });
}

const fingerprint = ({ cert }: Pair) => new X509Certificate(cert).fingerprint256;

test("tls – the port accepts only TLS and says so to browsers without it, the socket stays plain, and cookies are Secure", async (t) => {
  const { directory, files, write, server } = place(t);
  const pair = makePair();
  write(pair);
  await server.listenLocally();
  const address = await server.listen();
  assert.match(address, /^https:\/\/127\.0\.0\.1:\d+$/);
  assert.equal(await shown(address), fingerprint(pair));
  await assert.rejects(shown(address, "TLSv1.1"));
  const question = { headers: {}, content: null, signal: AbortSignal.timeout(deadlineMs(5000)) };
  const plain = await fetch(`${address.replace("https", "http")}/`, { signal: question.signal });
  assert.deepEqual([plain.status, plain.statusText], [400, "This port speaks https"]);
  assert.match(await plain.text(), /write https:\/\/ in front/);
  await assert.rejects(requestAddress(`${address}/healthz`, { ...question, certFile: null }));
  const own = { ...question, certFile: files.certFile };
  assert.equal((await requestAddress(`${address}/healthz`, own)).status, 200);
  const local = await new Promise<number>((resolve, reject) => {
    request(
      { socketPath: join(directory, "s.sock"), path: "/healthz", headers: { host: "localhost" } },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      },
    )
      .once("error", reject)
      .end();
  });
  assert.equal(local, 200);
  const cookie = await new Promise<string>((resolve, reject) => {
    const socket = connect(
      { host: "127.0.0.1", port: Number(new URL(address).port), rejectUnauthorized: false },
      () => {
        const body = '{"token":"t0ken-of-the-test"}';
        socket.write(
          `POST /sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
        );
      },
    );
    socket.once("data", (data) => {
      resolve(String(data));
      socket.destroy();
    });
    socket.once("error", reject);
  });
  assert.match(cookie, /set-cookie: gateside_session_[0-9a-f]{8}=[^;]+; .*; Secure/i);
});

test("tls – a renewed certificate and key are loaded without a restart; an incomplete or mismatched pair leaves the old one in use", async (t) => {
  const { files, write, server, log } = place(t);
  const first = makePair();
  const second = makePair();
  write(first);
  const address = await server.listen();
  const before = await shown(address);
  writeFileSync(files.certFile, second.cert);
  server.renewCertificate();
  assert.equal(await shown(address), before);
  server.renewCertificate();
  assert.equal(log.lines.filter(({ level }) => level === "warn").length, 1, "logged once");
  writeFileSync(files.certFile, "no certificate");
  server.renewCertificate();
  assert.equal(await shown(address), before);
  write(second);
  server.renewCertificate();
  assert.equal(await shown(address), fingerprint(second));
});

test("tls – if the files are missing, listening fails and can be retried", async (t) => {
  const { files, write, server } = place(t);
  assert.ok(!existsSync(files.certFile));
  await assert.rejects(server.listen(), /ENOENT/);
  const pair = makePair();
  write(pair);
  assert.equal(await shown(await server.listen()), fingerprint(pair));
});

test("tls – connections that never finish the handshake, send nothing after it, or send half a request do not lock anybody out", async (t) => {
  const { write, server } = place(t);
  write(makePair());
  const address = new URL(await server.listen());
  const port = Number(address.port);
  const sockets: Socket[] = [];
  const open = async (socket: Socket, event: string, text: string | Buffer) => {
    sockets.push(socket.on("error", () => {}));
    // One that was cut before it was through is what is meant to happen.
    await Promise.race([once(socket, event), once(socket, "close")]);
    if (text.length > 0 && !socket.destroyed) socket.write(text);
  };
  const healthy = () =>
    new Promise<number | undefined>((resolve, reject) => {
      const asked = requestTls(new URL("/healthz", address), {
        rejectUnauthorized: false,
        agent: false,
      });
      asked.once("response", (answer) => resolve(answer.resume().statusCode));
      asked.once("error", reject).end();
    });
  const hello = Buffer.from("16030100a5010000a10303", "hex");
  // A whole handshake costs milliseconds of both ends, so most stop before theirs.
  for (let n = 0; n < 1_000; n++) {
    if (n % 20 === 0) {
      const options = { host: "127.0.0.1", port, rejectUnauthorized: false };
      await open(connect(options), "secureConnect", n % 40 === 0 ? "" : "GET / HT");
    } else await open(connectPlain(port, "127.0.0.1"), "connect", n % 2 === 0 ? "" : hello);
    if (n % 100 === 99) assert.equal(await healthy(), 200, `after ${n + 1}`);
  }
  // None of them keeps the agent from ending, though no end of theirs was ever heard.
  await server.close();
  for (const socket of sockets) socket.destroy();
});

test("tls – no client begins a second handshake on a connection, and no ticket allows a request in the first packet, which could be sent twice", async (t) => {
  const { write, server } = place(t);
  write(makePair());
  const { port } = new URL(await server.listen());
  const open = async (maxVersion: "TLSv1.2" | "TLSv1.3") => {
    const socket = connect({ port: Number(port), rejectUnauthorized: false, maxVersion });
    const session = once(socket, "session");
    socket.on("error", () => {});
    await once(socket, "secureConnect");
    socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const [answer] = await once(socket, "data");
    assert.match(String(answer), /^HTTP\/1\.1 200/);
    const [ticket] = await session;
    return { socket, ticket: ticket as Buffer };
  };
  const second = await open("TLSv1.2");
  const refused = await new Promise<Error | null>((resolve) => {
    second.socket.renegotiate({ rejectUnauthorized: false }, resolve);
    second.socket.once("error", resolve);
  });
  assert.match(refused?.message ?? "", /no renegotiation/);
  second.socket.destroy();
  const third = await open("TLSv1.3");
  third.socket.destroy();
  // What a ticket allows of early data is member 15 of the session, which is left out at zero.
  assert.equal(membersOf(third.ticket).includes(0xaf), false);
  assert.equal(membersOf(third.ticket).includes(0xaa), true, "the ticket itself is member 10");
});

/** The tags of the members of an OpenSSL session, which is DER. */
function membersOf(session: Buffer): number[] {
  const tags: number[] = [];
  const lengthAt = (at: number) => {
    const first = session[at] ?? 0;
    const bytes = first < 0x80 ? 0 : first & 0x7f;
    return {
      from: at + 1 + bytes,
      length: bytes === 0 ? first : session.readUIntBE(at + 1, bytes),
    };
  };
  for (let { from } = lengthAt(1); from < session.length; ) {
    tags.push(session[from] ?? 0);
    const member = lengthAt(from + 1);
    from = member.from + member.length;
  }
  return tags;
}
