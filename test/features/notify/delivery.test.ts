import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type OutgoingHttpHeaders } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer as createSocketServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { createServer as startTlsServer } from "node:tls";
import type { AlarmEvent } from "../../../src/core/alarm/event.ts";
import type { Clock, Logger } from "../../../src/core/ports.ts";
import {
  Delivery,
  type DeliveryMemory,
  type DeliveryParts,
  DeliveryRefused,
  type Send,
} from "../../../src/features/notify/delivery.ts";
import { Digest } from "../../../src/features/notify/digest.ts";
import { email } from "../../../src/features/notify/email.ts";
import { Heartbeat } from "../../../src/features/notify/heartbeat.ts";
import type { Machines, ToldMachine } from "../../../src/features/notify/machines.ts";
import { alarmNotice } from "../../../src/features/notify/notice.ts";
import { webhook } from "../../../src/features/notify/webhook.ts";
import { createCertificates } from "../../support/certificates.ts";
import { deadlineMs } from "../../support/deadline.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { startSmtpServer } from "../../support/smtp-server.ts";

const EVENT: AlarmEvent = {
  id: "0".repeat(32),
  sensor: "30007",
  kind: "loop",
  value: "channel1",
  alarm: "pressure",
  severity: "warning",
  state: "active",
  timeMs: 0,
  limit: 8,
  hysteresis: 0.3,
  measured: 8.2,
  unit: "bar",
  readingId: "1",
  raisedMs: 0,
  sinceMs: 0,
  worst: { measured: 8.2, timeMs: 0 },
  acknowledged: null,
  shelved: null,
  note: null,
  reason: null,
  text: "Warning",
  historical: false,
};
const PUMP: ToldMachine = {
  machine: 40,
  name: "Pump 4",
  area: "Boiler house",
  condition: "alarm",
  zone: "D",
  stage: 2,
  since: "2026-11-20T10:00:00.000Z",
  acknowledged: false,
};
const machines: Machines = (sensors) => {
  assert.deepEqual(sensors, [EVENT.sensor]);
  return Promise.resolve([PUMP]);
};
/** Pauses are over at once. */
const clock: Clock = { now: () => 0, monotonic: () => 0, sleep: () => Promise.resolve() };

/** What outlives a process. */
function memory(): DeliveryMemory {
  let kept: string | null = null;
  return {
    get: () => kept,
    set: (written) => {
      kept = written;
    },
  };
}

function deliveryOf(send: Send, logger: Logger, parts: Partial<DeliveryParts> = {}): Delivery {
  const digest = new Digest(0);
  const standing = () => [];
  return new Delivery({
    name: "webhook",
    send,
    digest,
    togetherMax: 50,
    standing,
    memory: memory(),
    clock,
    logger,
    ...parts,
  });
}

interface Post {
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** An HTTP server that answers with these statuses, then 204. */
async function hook(t: TestContext, statuses: number[] = [], headers: OutgoingHttpHeaders = {}) {
  const posts: Post[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      response.writeHead(statuses.shift() ?? 204, headers).end();
      posts.push({ headers: request.headers, body });
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  return { posts, port };
}

/** Runs until the receiver accepts a message. */
async function deliver(delivery: (send: Send) => Delivery, send: Send, events: AlarmEvent[]) {
  const stop = new AbortController();
  const running = delivery(async (notices, signal) => {
    const trouble = await send(notices, signal);
    stop.abort();
    return trouble;
  });
  running.add(events.map(alarmNotice));
  await running.run(stop.signal);
  return running;
}

test("alarm delivery – a web-hook that fails is tried again, its address is in no log line", async (t) => {
  const { posts, port } = await hook(t, [503]);
  const logger = new RecordingLogger();
  const url = `http://127.0.0.1:${port}/hook?token=secret`;
  const to = { url, headers: {}, secret: null, ca: () => null, link: "https://plant.example/7" };
  const send = webhook(to, () => "plant-7", machines);
  await deliver((again) => deliveryOf(again, logger), send, [
    EVENT,
    { ...EVENT, state: "cleared" },
  ]);
  assert.equal(posts.length, 2);
  const posted = JSON.parse(posts[1]?.body ?? "");
  assert.equal(posted.site, "plant-7");
  assert.equal(posted.text, "Warning\nWarning");
  assert.equal(posted.link, "https://plant.example/7");
  assert.deepEqual(posted.machines, [PUMP]);
  assert.deepEqual(
    posted.events.map(({ state }: { state: string }) => state),
    ["active", "cleared"],
  );
  const lines = JSON.stringify(logger.lines);
  assert.match(lines, /the server returned HTTP 503/);
  assert.doesNotMatch(lines, /secret/);
});

test("alarm delivery – a web-hook that asks to wait is left alone for that long, at most ten minutes, and it is said", async (t) => {
  for (const [asked, waitedMs] of [
    ["120", 120_000],
    ["86400", 600_000],
  ] as const) {
    const { posts, port } = await hook(t, [429], { "retry-after": asked });
    const logger = new RecordingLogger();
    const to = { url: `http://127.0.0.1:${port}`, headers: {}, secret: null, ca: () => null };
    const pauses: number[] = [];
    const pausing: Clock = {
      ...clock,
      sleep: (ms) => {
        pauses.push(ms);
        return Promise.resolve();
      },
    };
    const send = webhook({ ...to, link: null }, () => "plant-7");
    await deliver((again) => deliveryOf(again, logger, { clock: pausing }), send, [EVENT]);
    assert.equal(posts.length, 2);
    assert.equal(pauses[0], waitedMs);
    assert.match(logger.text, new RegExp(`HTTP 429 and asks to wait ${waitedMs / 1000} s`));
  }
});

test("alarm delivery – user and password of the address are sent as Basic, headers as they are, the body signed", async (t) => {
  const { posts, port } = await hook(t);
  const send = webhook(
    {
      url: `http://user:p%40ss@127.0.0.1:${port}/hook`,
      headers: { "X-Plant": "north" },
      secret: "key",
      ca: () => null,
      link: null,
    },
    () => "plant-7",
  );
  await deliver((again) => deliveryOf(again, new RecordingLogger()), send, [EVENT]);
  const [post] = posts;
  assert.ok(post);
  const basic = Buffer.from("user:p@ss").toString("base64");
  assert.equal(post.headers["authorization"], `Basic ${basic}`);
  assert.equal(post.headers["x-plant"], "north");
  const digest = createHmac("sha256", "key").update(post.body).digest("hex");
  assert.equal(post.headers["x-gateside-signature"], `sha256=${digest}`);
});

test("alarm delivery – a web-hook behind a private CA is trusted with its file, and named by its cause without", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "gateside-hook-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const made = createCertificates(directory);
  const pair = { cert: made.read("serverCert"), key: made.read("serverKey") };
  const server = createTlsServer(pair, (_, response) => response.writeHead(204).end());
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  t.after(() => server.close());
  const url = `https://localhost:${(server.address() as AddressInfo).port}/hook`;
  const to = (pem: string | null) =>
    webhook({ url, headers: {}, secret: null, ca: () => pem, link: null }, () => "plant-7");
  const logger = new RecordingLogger();
  const notice = alarmNotice(EVENT);
  const signal = AbortSignal.timeout(deadlineMs(5000));
  assert.equal(await deliveryOf(to(made.read("ca").toString()), logger).test(notice, signal), null);
  const untrusted = await deliveryOf(to(null), logger).test(notice, signal);
  assert.match(untrusted ?? "", /UNABLE_TO_VERIFY|SELF_SIGNED|UNABLE_TO_GET_ISSUER/);
});

test("alarm delivery – a receiver that is away for hours gets everything that waited, and what stands where that was too much", async () => {
  let tries = 0;
  const accepted: string[][] = [];
  const stop = new AbortController();
  const send: Send = (notices) => {
    tries += 1;
    if (tries < 100)
      return Promise.reject(Object.assign(new Error("no"), { code: "ECONNREFUSED" }));
    accepted.push(notices.map((notice) => notice.text));
    if (accepted.length === 2) stop.abort();
    return Promise.resolve(null);
  };
  const standing = [{ ...alarmNotice({ ...EVENT, value: "channel2" }), text: "stands" }];
  const logger = new RecordingLogger();
  const delivery = deliveryOf(send, logger, {
    name: "email",
    togetherMax: 500,
    standing: () => standing,
  });
  const many = Array.from({ length: 600 }, (_, at) => ({
    ...EVENT,
    value: `v${at}`,
    text: `${at}`,
  }));
  delivery.add(many.map(alarmNotice));
  await delivery.run(stop.signal);
  assert.equal(accepted.flat().length, 501);
  assert.deepEqual([accepted[0]?.[0], accepted.flat().at(-1)], ["stands", "599"]);
  assert.equal(delivery.state.lastError, null);
});

test("alarm delivery – its state names why the last message failed", async () => {
  const stop = new AbortController();
  const send: Send = () => {
    stop.abort();
    return Promise.reject(Object.assign(new Error("no"), { code: "ECONNREFUSED" }));
  };
  const failing = { ...clock, sleep: () => Promise.resolve() };
  const delivery = deliveryOf(send, new RecordingLogger(), { clock: failing });
  delivery.add([alarmNotice(EVENT)]);
  assert.equal(await delivery.test(alarmNotice(EVENT), stop.signal), "ECONNREFUSED");
});

test("alarm delivery – a mail server that never ends its answer is left when the time is up, and its connection closed", async (t) => {
  const stop = new AbortController();
  let isLeft: () => void = () => {};
  const left = new Promise<void>((resolve) => {
    isLeft = resolve;
  });
  const server = createSocketServer((socket) => {
    socket.on("error", () => {}).on("close", isLeft);
    socket.write("220 ready\r\n");
    socket.once("data", () => {
      const dripping = setInterval(() => socket.write("250-more\r\n"), 10);
      socket.on("close", () => clearInterval(dripping));
      stop.abort(new DOMException("not done in time", "TimeoutError"));
    });
  });
  t.after(() => server.close());
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  const mailbox = {
    url: `smtp://127.0.0.1:${port}`,
    from: "a@b.c",
    to: ["d@e.f"],
    zone: "UTC",
    link: null,
  };
  const sent = email(mailbox, () => "plant-7", machines)([alarmNotice(EVENT)], stop.signal);
  await assert.rejects(sent);
  await left;
});

test("alarm delivery – one mail to several people with a line per event, local times and a link; no password in the log", async (t) => {
  const server = await startSmtpServer(t, ["451 4.3.0 try again later"]);
  const logger = new RecordingLogger();
  const send = email(
    {
      url: `smtp://gateside:s3cret%40word@127.0.0.1:${server.port}`,
      from: "plant@example.com",
      to: ["shift@example.com", "chief@example.com"],
      zone: "Asia/Kathmandu",
      link: "https://box.example/gateside/",
    },
    () => "plant-7",
    machines,
  );
  const sentence = "Warning: Säule 4\r\nBcc: all@example.com is 8.2 bar, above the limit of 8 bar.";
  await deliver((again) => deliveryOf(again, logger, { name: "email" }), send, [
    { ...EVENT, text: sentence },
    EVENT,
    { ...EVENT, text: "Cleared" },
  ]);
  assert.equal(server.mails.length, 1);
  const [mail] = server.mails;
  assert.ok(mail);
  assert.equal(mail.from, "plant@example.com");
  assert.deepEqual(mail.to, ["shift@example.com", "chief@example.com"]);
  assert.equal(Buffer.from(mail.login ?? "", "base64").toString(), "\0gateside\0s3cret@word");
  const [head = "", ...body] = mail.data.split("\r\n\r\n");
  const subject = /^Subject: ((?:.|\r\n\s)*)$/m.exec(head)?.[1] ?? "";
  assert.match(
    decoded(subject),
    /^\[plant-7\] Warning: Säule 4 Bcc: all@example\.com .* and 2 more$/,
  );
  assert.doesNotMatch(head, /^Bcc:/m);
  const mailText = quotedPrintable(body.join("\r\n\r\n"));
  assert.match(mailText, /1970-01-01 05:30:00 {2}Warning: Säule 4/);
  assert.match(
    mailText,
    /\r\n\r\nMachines now:\r\nPump 4 \(Boiler house\): alarm, zone D, stage 2\r\n\r\n/,
  );
  assert.match(mailText, /Times: Asia\/Kathmandu\.\r\nhttps:\/\/box\.example\/gateside\//);
  assert.match(JSON.stringify(logger.lines), /alarm email failed; trying again/);
  assert.doesNotMatch(JSON.stringify(logger.lines), /s3cret/);
});

test("alarm delivery – a mail that fails is reported by its cause, as is one that not everybody gets", async (t) => {
  const people = ["shift@example.com", "left@example.com"];
  const failure = (port: number, to: readonly string[]) =>
    deliveryOf(
      email(
        {
          url: `smtp://user:s3cret@127.0.0.1:${port}`,
          from: "a@b.example",
          to,
          zone: "UTC",
          link: null,
        },
        () => "plant-7",
      ),
      new RecordingLogger(),
    ).test(alarmNotice(EVENT), AbortSignal.timeout(deadlineMs(5000)));
  assert.equal(await failure(1, people), "ECONNREFUSED");
  const { port, mails } = await startSmtpServer(t, ["554 no s3cret"], ["left@example.com"]);
  assert.equal(await failure(port, people), "the mail server refuses the message (SMTP 554)");
  assert.equal(
    await failure(port, people),
    "the mail server refuses 1 of 2 recipients: left@example.com",
  );
  assert.deepEqual(mails[0]?.to, ["shift@example.com"]);
  assert.equal(
    await failure(port, ["left@example.com"]),
    "the mail server refuses the sender or every recipient (SMTP 550)",
  );
});

test("alarm delivery – a mail server whose certificate is not trusted is told as that", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "gateside-mail-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const made = createCertificates(directory);
  const pair = { cert: made.read("serverCert"), key: made.read("serverKey") };
  const server = startTlsServer(pair, (socket) => socket.write("220 mail.test\r\n"));
  server.on("tlsClientError", () => {});
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  t.after(() => server.close());
  const url = `smtps://localhost:${(server.address() as AddressInfo).port}`;
  const box = { url, from: "a@b.example", to: ["c@d.example"], zone: "UTC", link: null };
  const delivery = deliveryOf(
    email(box, () => "plant-7"),
    new RecordingLogger(),
  );
  const signal = AbortSignal.timeout(deadlineMs(5000));
  const failure = await delivery.test(alarmNotice(EVENT), signal);
  assert.match(failure ?? "", /^the mail server's certificate is not trusted \([A-Z_]+\)$/);
});

test("alarm delivery – over the network a log-in goes encrypted or not at all", async (t) => {
  const server = await startSmtpServer(t);
  const people = ["shift@example.com"];
  const mailbox = (login: string) =>
    deliveryOf(
      email(
        {
          // Every address of this machine, and none that is known to be this machine's.
          url: `smtp://${login}0.0.0.0:${server.port}`,
          from: "a@b.example",
          to: people,
          zone: "UTC",
          link: null,
        },
        () => "plant-7",
      ),
      new RecordingLogger(),
      { name: "email" },
    );
  const signal = () => AbortSignal.timeout(deadlineMs(5000));
  assert.match((await mailbox("box:secret@").test(alarmNotice(EVENT), signal())) ?? "", /\S/);
  assert.equal(server.mails.length, 0);
  assert.equal(await mailbox("").test(alarmNotice(EVENT), signal()), null);
  assert.equal(server.mails.length, 1);
});

test("alarm delivery – a notice that the receiver refuses for what it says holds up no other one", async () => {
  const named = (text: string) => alarmNotice({ ...EVENT, value: text, text });
  /** What is sent until a notice is dropped. @param later comes with the third message */
  const sent = async (first: readonly string[], later: readonly string[]) => {
    const told: string[] = [];
    const logger = new RecordingLogger();
    const stop = new AbortController();
    const sleep = () => {
      if (/refused alone is dropped/.test(JSON.stringify(logger.lines))) stop.abort();
      return Promise.resolve();
    };
    const delivery = deliveryOf(
      (notices) => {
        const texts = notices.map((notice) => notice.text).join();
        told.push(texts);
        if (told.length === 3) delivery.add(later.map(named));
        assert.ok(told.length < 10, told.join(" "));
        return texts.includes("odd")
          ? Promise.reject(new DeliveryRefused("the server returned HTTP 400", true))
          : Promise.resolve(null);
      },
      logger,
      { clock: { ...clock, sleep } },
    );
    delivery.add(first.map(named));
    await delivery.run(stop.signal);
    return told;
  };
  assert.deepEqual(await sent(["odd", "a", "b"], []), ["odd,a,b", "odd", "a", "b", "odd"]);
  // While nothing was accepted since, the fault may be the receiver's: it is kept, and what is new goes first.
  assert.deepEqual(await sent(["odd"], ["new"]), ["odd", "odd", "odd", "new", "odd"]);
});

test("alarm delivery – a receiver that refuses everything for what it says loses nothing", async () => {
  const accepted: string[] = [];
  const stop = new AbortController();
  let refusals = 0;
  const delivery = deliveryOf((notices) => {
    refusals += 1;
    if (refusals < 20)
      return Promise.reject(new DeliveryRefused("the server returned HTTP 400", true));
    accepted.push(...notices.map((notice) => notice.text));
    if (accepted.length === 3) stop.abort();
    return Promise.resolve(null);
  }, new RecordingLogger());
  delivery.add(["a", "b", "c"].map((text) => alarmNotice({ ...EVENT, value: text, text })));
  await delivery.run(stop.signal);
  assert.deepEqual(accepted.sort(), ["a", "b", "c"]);
});

test("alarm delivery – what waited when the process ended is told by what stands", async () => {
  const kept = memory();
  const stands = [{ ...alarmNotice({ ...EVENT, value: "channel2" }), text: "stands" }];
  /** A process that ends once it waits. */
  const told = async (digestMs: number, events: readonly AlarmEvent[], isUp = true) => {
    const stop = new AbortController();
    const sent: string[] = [];
    const end = () => {
      stop.abort();
      return Promise.resolve();
    };
    const delivery = deliveryOf(
      (notices) => {
        if (!isUp) return Promise.reject(new Error("away"));
        sent.push(...notices.map((notice) => notice.text));
        return Promise.resolve(null);
      },
      new RecordingLogger(),
      {
        name: "email",
        digest: new Digest(digestMs),
        standing: () => stands,
        memory: kept,
        clock: { ...clock, sleep: end },
      },
    );
    for (const event of events) delivery.add([alarmNotice(event)]);
    await delivery.run(stop.signal);
    return sent;
  };
  assert.deepEqual(await told(0, [EVENT]), ["Warning"]);
  assert.deepEqual(await told(0, []), []);
  assert.deepEqual(await told(0, [EVENT], false), []);
  assert.deepEqual(await told(0, []), ["stands"]);
  assert.deepEqual(await told(0, []), []);
});

test("heartbeat – user and password of its address are sent as Basic, a % that nobody encoded as it is", async (t) => {
  const { posts, port } = await hook(t);
  const heartbeat = new Heartbeat({
    url: `http://box7:50%@127.0.0.1:${port}/ping?status=up`,
    everyMs: 1000,
    isAlive: () => true,
    clock,
    logger: new RecordingLogger(),
  });
  assert.equal(await heartbeat.test(AbortSignal.timeout(deadlineMs(5000))), null);
  const basic = Buffer.from("box7:50%").toString("base64");
  assert.equal(posts[0]?.headers["authorization"], `Basic ${basic}`);
});

/** Encoded words of a header, RFC 2047. */
function decoded(text: string): string {
  return text
    .replace(/\?=\s+=\?/g, "?==?")
    .replace(/=\?utf-8\?([BQ])\?(.*?)\?=/gi, (_all, how: string, word: string) =>
      how.toUpperCase() === "B"
        ? Buffer.from(word, "base64").toString()
        : quotedPrintable(word.replaceAll("_", " ")),
    )
    .replace(/\r\n\s/g, " ");
}

function quotedPrintable(text: string): string {
  const bytes = text
    .replace(/=\r\n/g, "")
    .replace(/=([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString("utf8");
}
