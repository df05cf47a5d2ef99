import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { AlarmDelivery, email, webhook } from "../../../src/agent/alarms/delivery.ts";
import type { AlarmEvent } from "../../../src/core/alarm/event.ts";
import type { Clock, Logger } from "../../../src/core/ports.ts";
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
  worst: { measured: 8.2, timeMs: 0 },
  acknowledged: null,
  shelved: null,
  note: null,
  reason: null,
  text: "Warning",
  historical: false,
};
/** Pauses are over at once. */
const clock: Clock = { now: () => 0, monotonic: () => 0, sleep: () => Promise.resolve() };

test("alarm delivery – a webhook that fails is retried in order, and its address is in no log line", async (t) => {
  const bodies: string[] = [];
  let calls = 0;
  const stop = new AbortController();
  const server = createServer((request, response) => {
    calls += 1;
    const status = calls === 1 ? 503 : 204;
    void text(request).then((body) => {
      response.writeHead(status).end();
      if (status === 204) bodies.push(body);
      if (bodies.length === 1) stop.abort();
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  t.after(() => server.close());
  const lines: string[] = [];
  const log = (fields: object, message: string) =>
    void lines.push(JSON.stringify([fields, message]));
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  const { port } = server.address() as AddressInfo;
  const send = webhook(`http://127.0.0.1:${port}/hook?token=secret`, () => "plant-7");
  const delivery = new AlarmDelivery({ name: "webhook", send, clock, logger });
  delivery.add([
    EVENT,
    { ...EVENT, historical: true },
    { ...EVENT, shelved: { by: "anna", timeMs: 0, untilMs: 1, note: null } },
    { ...EVENT, state: "cleared" },
  ]);
  await delivery.run(stop.signal);
  const [body] = bodies;
  const posted = JSON.parse(body ?? "") as { site: string; events: { state: string }[] };
  assert.equal(posted.site, "plant-7");
  assert.deepEqual(
    posted.events.map(({ state }) => state),
    ["active", "cleared"],
  );
  assert.match(lines.join(), /the server returned HTTP 503/);
  assert.doesNotMatch(lines.join(), /secret/);
});

test("alarm delivery – an event that nobody accepts is dropped after a limited number of tries", async () => {
  const stop = new AbortController();
  const errors: object[] = [];
  let tries = 0;
  const none = () => {};
  const delivery = new AlarmDelivery({
    name: "email",
    clock,
    logger: {
      debug: none,
      info: none,
      warn: none,
      error: (fields) => {
        errors.push(fields);
        stop.abort();
      },
    },
    send: () => {
      tries += 1;
      return Promise.reject(new Error("no"));
    },
  });
  delivery.add(Array.from({ length: 600 }, () => ({ ...EVENT })));
  await delivery.run(stop.signal);
  assert.equal(tries, 12);
  assert.deepEqual(errors, [{ lost: 150 }]);
});

test("alarm delivery – one mail with a sentence per event, retried until the server accepts it; no log line contains the password", async (t) => {
  const server = await startSmtpServer(t, ["451 4.3.0 try again later"]);
  const logger = new RecordingLogger();
  const stop = new AbortController();
  const send = email(
    {
      url: `smtp://gateside:s3cret%40word@127.0.0.1:${server.port}`,
      from: "plant@example.com",
      to: "shift@example.com, chief@example.com",
    },
    () => "plant-7",
  );
  const delivery = new AlarmDelivery({
    name: "email",
    clock,
    logger,
    send: async (events, signal) => {
      await send(events, signal);
      stop.abort();
    },
  });
  const text = "Warning: Säule 4\r\nBcc: all@example.com is 8.2 bar, above the limit of 8 bar.";
  delivery.add([{ ...EVENT, text }, EVENT, { ...EVENT, id: "1".repeat(32), text: "Cleared" }]);
  await delivery.run(stop.signal);
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
  assert.match(mailText, /1970-01-01T00:00:00\.000Z {2}Warning: Säule 4/);
  assert.match(mailText, /id 1{32}/);
  assert.match(JSON.stringify(logger.lines), /alarm email failed; trying again/);
  assert.doesNotMatch(JSON.stringify(logger.lines), /s3cret/);
});

test("alarm delivery – a mail server that does not respond is a failure, reported only by its kind", async () => {
  const logger = new RecordingLogger();
  const stop = new AbortController();
  const mailbox = { url: "smtp://user:s3cret@127.0.0.1:1", from: "a@b.example", to: "c@d.example" };
  const send = email(mailbox, () => "plant-7");
  let tries = 0;
  const delivery = new AlarmDelivery({
    name: "email",
    clock,
    logger,
    send: (events, signal) => {
      tries += 1;
      if (tries === 2) stop.abort();
      return send(events, signal);
    },
  });
  delivery.add([EVENT]);
  await delivery.run(stop.signal);
  assert.equal(tries, 2);
  assert.match(JSON.stringify(logger.lines), /ESOCKET|ECONNREFUSED|ECONNECTION/);
  assert.doesNotMatch(JSON.stringify(logger.lines), /s3cret/);
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
