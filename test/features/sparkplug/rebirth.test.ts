import assert from "node:assert/strict";
import { test } from "node:test";
import type { LinkState } from "../../../src/core/agent-status.ts";
import type { LinkNeeds, SessionLink } from "../../../src/core/delivery/link.ts";
import { fixedSite } from "../../../src/core/site-source.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { skipWithoutMosquitto } from "../../support/mosquitto.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { rebirth } from "./peer.ts";
import { PUMP, TestSite } from "./site.ts";

const DEVICES = 8;
const RECORDS = 3;

/** A link whose other end asks for a rebirth the moment it has been handed the message `askAt`. */
class AskingLink implements SessionLink {
  readonly sent: string[] = [];
  readonly isConnected = true;
  readonly session = 1;
  readonly inflightMax = 20;
  readonly state: LinkState = {
    name: "sparkplug",
    isConnected: true,
    url: "mqtt://127.0.0.1",
    since: null,
    lastError: null,
    refused: null,
  };
  readonly #needs: LinkNeeds;
  readonly #askAt: (verb: string, count: number) => boolean;
  readonly #closed = new AbortController();
  #hasSession = false;
  #wasAsked = false;

  constructor(needs: LinkNeeds, askAt: (verb: string, count: number) => boolean) {
    this.#needs = needs;
    this.#askAt = askAt;
  }
  run(): Promise<void> {
    return new Promise((resolve) => this.#closed.signal.addEventListener("abort", () => resolve()));
  }
  ready(signal: AbortSignal): Promise<boolean> {
    if (this.#hasSession || signal.aborted) return Promise.resolve(false);
    this.#hasSession = true;
    this.#needs.will(false);
    return Promise.resolve(true);
  }
  publish({ topic }: { readonly topic: string }) {
    const verb = topic.split("/")[2] ?? "";
    this.sent.push(verb);
    if (!this.#wasAsked && this.#askAt(verb, this.sent.filter((v) => v === verb).length)) {
      this.#wasAsked = true;
      this.sent.push("NCMD");
      this.#needs.hooks.onMessage?.({
        topic: "spBv1.0/plant/NCMD/edge",
        payload: rebirth(),
        qos: 0,
        retain: false,
      });
    }
    return Promise.resolve({ result: "delivered" as const });
  }
  prove(): Promise<boolean> {
    return Promise.resolve(true);
  }
  renew(): void {}
  leave(): Promise<void> {
    return Promise.resolve();
  }
  close(): Promise<void> {
    this.#closed.abort();
    return Promise.resolve();
  }
}

for (const [what, count] of [
  ["among live readings", 2],
  ["in the middle of a backlog", DEVICES + 3],
] as const) {
  test(`sparkplug – a rebirth requested ${what}: no data between the command and the NBIRTH, and none lost`, {
    skip: skipWithoutMosquitto,
  }, async (t) => {
    const site = await TestSite.open(t);
    const sensors = Array.from({ length: DEVICES }, (_, i) => ({ ...PUMP, code: `${100 + i}` }));
    site.states.clear();
    for (const { code: sensor } of sensors) {
      for (let i = 0; i < RECORDS; i++) site.append(site.reading({ channel1: i }, { sensor }));
    }
    const links: AskingLink[] = [];
    site.run(
      site.node(
        { site: fixedSite({ site: "s", sensors }), historyBatch: 1 },
        {
          createLink: (needs) => {
            const link = new AskingLink(needs, (verb, n) => verb === "DDATA" && n === count);
            links.push(link);
            return link;
          },
        },
      ),
    );
    await site.settled(DEVICES * RECORDS);
    const sent = links[0]?.sent ?? [];
    const asked = sent.indexOf("NCMD");
    assert.equal(sent[asked + 1], "NBIRTH");
    assert.deepEqual(sent.slice(asked + 2, asked + 2 + DEVICES), Array(DEVICES).fill("DBIRTH"));
    const settled = site.outbox.settled.filter(({ outcome }) => outcome === "sent");
    const ids = new Set(settled.map(({ entry }) => entry.reading.id));
    assert.equal(ids.size, DEVICES * RECORDS);
  });
}

test("sparkplug – births that are requested again and again come at once, then once at the end of each pause, and are logged once a minute", {
  skip: skipWithoutMosquitto,
}, async (t) => {
  const site = await TestSite.open(t);
  const links: AskingLink[] = [];
  const needs: LinkNeeds[] = [];
  const logger = new RecordingLogger();
  const PAUSE_MS = 500;
  site.run(
    site.node(
      { rebirthMs: PAUSE_MS },
      {
        logger,
        createLink: (given) => {
          needs.push(given);
          const link = new AskingLink(given, () => false);
          links.push(link);
          return link;
        },
      },
    ),
  );
  const births = () => links[0]?.sent.filter((verb) => verb === "NBIRTH").length;
  const ask = () =>
    needs[0]?.hooks.onMessage?.({
      topic: "spBv1.0/plant/NCMD/edge",
      payload: rebirth(),
      qos: 0,
      retain: false,
    });
  const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  await waitUntil("the first births", () => births() === 1);
  await sleep(PAUSE_MS);
  ask();
  await waitUntil("births at once", () => births() === 2);
  const beganAt = performance.now();
  for (let n = 0; n < 300; n++) ask();
  await waitUntil("one birth for all of them", () => births() === 3);
  assert.ok(performance.now() - beganAt > 0.8 * PAUSE_MS);
  await sleep(2 * PAUSE_MS);
  assert.equal(births(), 3);
  const lines = logger.lines.filter(({ level }) => level !== "debug");
  const about = (text: string) => lines.filter(({ message }) => message.includes(text)).length;
  assert.deepEqual([about("requests births"), about("births published")], [1, 1]);
});

test("sparkplug – a bdSeq that could not be stored is stored once there is room, with one log line", {
  skip: skipWithoutMosquitto,
}, async (t) => {
  const site = await TestSite.open(t);
  const logger = new RecordingLogger();
  const stored: number[] = [];
  let isFull = true;
  let tries = 0;
  // Every wait is short.
  const sleep = (ms: number, signal?: AbortSignal) => systemClock.sleep(Math.min(ms, 5), signal);
  const clock = { ...systemClock, sleep };
  site.run(
    site.node(
      {},
      {
        clock,
        logger,
        createLink: (needs) => {
          const link = new AskingLink(needs, () => false);
          return Object.assign(link, {
            ready: (signal: AbortSignal) => {
              const result = AskingLink.prototype.ready.call(link, signal);
              needs.hooks.onConnectSent?.();
              return result;
            },
          });
        },
        bdSeq: {
          load: () => 6,
          save: (bdSeq) => {
            tries += 1;
            if (isFull) throw new Error("database or disk is full");
            stored.push(bdSeq);
          },
        },
      },
    ),
  );
  await waitUntil("several tries", () => tries > 2);
  isFull = false;
  await waitUntil("stored", () => stored.length > 0);
  assert.equal(stored[0], 7);
  assert.equal(logger.lines.filter(({ level }) => level === "warn").length, 1);
});
